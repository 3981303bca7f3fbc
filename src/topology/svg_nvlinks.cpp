// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/svg_nvlinks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "topology/path.hpp"
#include "topology/words.hpp"

namespace heddle::topology {
namespace {

using anchor = svg_writer::anchor;

class nvlinks_painter {
 public:
  nvlinks_painter(svg_writer& svg, const machine& machine, const svg_layout& layout)
      : svg_(svg), machine_(machine), layout_(layout), bottom_(layout.bottom) {}

  double paint() {
    bows();
    to_switches();
    return bottom_;
  }

 private:
  struct pair {
    std::size_t left, right;  ///< places in the row
    int count;
  };

  [[nodiscard]] std::vector<pair> direct_pairs() const {
    std::vector<pair> pairs;
    for (std::size_t left = 0; left < layout_.gpus.size(); ++left)
      for (std::size_t right = left + 1; right < layout_.gpus.size(); ++right) {
        int count = 0;
        for (const auto& links : machine_.gpus[at(layout_.gpus[left].index)].links)
          if (links.peer == nvlinks::kind::gpu && links.index == layout_.gpus[right].index)
            count += links.count;
        if (count > 0) pairs.push_back({left, right, count});
      }
    return pairs;
  }

  /// Between GPUs: the farther, the deeper. At a GPU the ends stand side by side, so that bows to
  /// the same side lie in each other: from left to right those to near ones on the left, far ones
  /// there, far ones on the right, near ones there.
  void bows() {
    const auto pairs = direct_pairs();
    if (pairs.empty()) return;
    const auto row = layout_.gpus.size();
    std::vector<std::vector<std::size_t>> ends(row);  // other ends, in that order
    const auto are_joined = [&](std::size_t left, std::size_t right) {
      return std::any_of(pairs.begin(), pairs.end(), [&](const auto& each) {
        return each.left == left && each.right == right;
      });
    };
    for (std::size_t gpu = 0; gpu < row; ++gpu) {
      for (std::size_t other = gpu; other-- > 0;)
        if (are_joined(other, gpu)) ends[gpu].push_back(other);
      for (std::size_t other = row; other-- > gpu + 1;)
        if (are_joined(gpu, other)) ends[gpu].push_back(other);
    }
    const auto end_at = [&](std::size_t gpu, std::size_t other) {
      const auto& box = layout_.gpus[gpu].box;
      const auto place = std::find(ends[gpu].begin(), ends[gpu].end(), other) - ends[gpu].begin();
      const double part =
          (static_cast<double>(place) + 1) / (static_cast<double>(ends[gpu].size()) + 1);
      return box.x + box.width * part;
    };
    const double from = layout_.gpus.front().box.bottom();
    const double step = std::min(28.0, 220.0 / static_cast<double>(row));
    const auto depth_of = [&](const pair& pair) {
      return layout_.bottom - from + 14 + step * static_cast<double>(pair.right - pair.left);
    };
    double deepest = 0;
    for (const auto& each : pairs) {
      svg_.bow(end_at(each.left, each.right), end_at(each.right, each.left), from, depth_of(each),
               "nvlink");
      deepest = std::max(deepest, depth_of(each));
    }
    for (const auto& each : pairs) {
      const double middle = (end_at(each.left, each.right) + end_at(each.right, each.left)) / 2;
      label(middle, from + depth_of(each), fmt::format("NV{}", each.count));
    }
    bottom_ = from + deepest + 16;
  }

  void label(double x, double y, const std::string& text) {
    const double width = text_width(text, 11) + 8;
    svg_.box({x - width / 2, y - 8, width, 16}, "label", 4);
    svg_.text(x, y + 4, 11, width, text, "strong", anchor::middle);
  }

  /// One bar for all switches: each GPU has links to each.
  void to_switches() {
    if (machine_.nvswitches.empty() || layout_.gpus.empty()) return;
    const double y = bottom_ + 40;
    const auto& first = layout_.gpus.front().box;
    const rect box{first.x, y, layout_.gpus.back().box.right() - first.x, 34};
    for (const auto& device : layout_.gpus) {
      std::map<double, int> counts;  // by speed
      for (const auto& links : machine_.gpus[at(device.index)].links)
        if (links.peer == nvlinks::kind::nvswitch) counts[links.gigabytes] += links.count;
      if (counts.empty()) continue;
      const double x = device.box.middle();
      svg_.line(x, device.box.bottom(), x, y, "nvlink");
      std::string text;
      for (const auto& [speed, count] : counts)
        text += fmt::format("{}{}{}", text.empty() ? "" : ", ", count,
                            speed > 0 ? fmt::format(" x {} GB/s", short_number(speed)) : "");
      svg_.text(x + 7, y - 12, 11, device.box.width / 2 + 10, text, "");
    }
    const auto name = count_of(static_cast<int>(machine_.nvswitches.size()), "NVSwitch");
    svg_.begin_group(name);
    svg_.box(box, "nvswitch");
    svg_.text(box.middle(), y + 22, 13, box.width - 16, name, "strong", anchor::middle);
    svg_.end_group();
    bottom_ = box.bottom();
  }

  svg_writer& svg_;
  const machine& machine_;
  const svg_layout& layout_;
  double bottom_;
};

}  // namespace

double draw_nvlinks(svg_writer& svg, const machine& machine, const svg_layout& layout) {
  return nvlinks_painter(svg, machine, layout).paint();
}

}  // namespace heddle::topology
