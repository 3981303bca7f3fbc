// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "support/environment.hpp"
#include "topology/analysis.hpp"
#include "topology/svg_layout.hpp"
#include "topology/svg_nvlinks.hpp"
#include "topology/svg_writer.hpp"
#include "topology/views.hpp"
#include "topology/words.hpp"

namespace heddle::topology {
namespace {

using anchor = svg_writer::anchor;

/// "NVIDIA" is on every one of them.
std::string short_name(const std::string& name) {
  constexpr std::string_view maker = "NVIDIA ";
  return name.starts_with(maker) ? name.substr(maker.size()) : name;
}

class machine_painter {
 public:
  explicit machine_painter(const machine& machine)
      : machine_(machine), found_(analyse(machine)), layout_(lay_out(machine)) {}

  std::string paint() {
    heading();
    for (std::size_t i = 0; i < layout_.packages.size(); ++i) package(i);
    for (const auto& each : layout_.nodes) node(each);
    for (const auto& each : layout_.buses) svg_.line(each.x, each.top, each.x, each.bottom, "pcie");
    for (const auto& each : layout_.bars) bar(each);
    for (const auto& each : layout_.nics) nic(each);
    bottom_ = draw_nvlinks(svg_, machine_, layout_);
    for (const auto& each : layout_.gpus) gpu(each);
    footer();
    return svg_.document(layout_.width, bottom_ + margin, "Topology of " + machine_.name,
                         summary());
  }

 private:
  [[nodiscard]] std::string summary() const {
    return fmt::format("{}; {}.", describe_size(machine_), describe_ring(found_));
  }

  void heading() {
    const double room = layout_.width - 2 * margin;
    svg_.text(margin, 40, 22, room, machine_.name, "strong");
    svg_.text(margin, 62, 13, room, describe_size(machine_), "muted");
  }

  void package(std::size_t i) {
    const auto& [index, box] = layout_.packages[i];
    if (i > 0 && index >= 0)
      svg_.line(layout_.packages[i - 1].box.right(),
                box.y + package_header + layout_.node_header / 2, box.x,
                box.y + package_header + layout_.node_header / 2, "interconnect");
    std::string title = machine_.packages.empty() ? "place not known" : "near to no one package";
    if (index >= 0) {
      const auto& package = machine_.packages[at(index)];
      title = fmt::format("package {}{}{}", package.number, package.model.empty() ? "" : ": ",
                          package.model);
    }
    svg_.begin_group(title);
    svg_.box(box, index >= 0 ? "package" : "apart", 10);
    svg_.text(box.x + 12, box.y + 21, 13, box.width - 24, title, "strong");
    svg_.end_group();
  }

  void node(const svg_layout::area& area) {
    const auto& box = area.box;
    if (area.index < 0) {
      svg_.text(box.x + 10, box.y + 20, 12, box.width - 20, "near to no one NUMA node", "muted");
      return;
    }
    const auto& node = machine_.numa_nodes[at(area.index)];
    const auto name = fmt::format("NUMA node {}", node.number);
    const double room = box.width - 20;
    svg_.begin_group(fmt::format("{}: {}; processors {}", name, describe(node), node.processors));
    svg_.box(box, "node");
    svg_.text(box.x + 10, box.y + 20, 13, room, name, "strong");
    auto cores = node.cores == 0 ? "memory alone" : count_of(node.cores, "core");
    if (node.threads > node.cores) cores += ", " + count_of(node.threads, "thread");
    svg_.text(box.x + 10, box.y + 37, 12, room, cores, "muted");
    auto memory = format_bytes(node.memory_bytes);
    if (const auto caches = describe_caches(node); !caches.empty()) memory += ", " + caches;
    svg_.text(box.x + 10, box.y + 53, 12, room, memory, "muted");
    if (const auto pes = pes_on_node(machine_, area.index); !pes.empty())
      svg_.text(box.x + 10, box.y + 69, 12, room, "PE " + pes, "pe");
    svg_.end_group();
    if (box.height > layout_.node_header)
      svg_.line(box.x, box.y + layout_.node_header, box.right(), box.y + layout_.node_header,
                "node");
  }

  void bar(const svg_layout::bar& bar) {
    const auto& address = machine_.bridges[at(bar.bridge)].address;
    const auto name = (bar.is_switch ? "PCIe switch " : "PCIe host bridge ") + address;
    svg_.line(bar.box.middle(), bar.above, bar.box.middle(), bar.box.y, "pcie");
    svg_.begin_group(name);
    svg_.box(bar.box, bar.is_switch ? "switch" : "bar", 4);
    // In a narrow one the bus says more than the word does.
    const double room = bar.box.width - 12;
    const bool is_short = text_width(name, 11) > room;
    svg_.text(bar.box.middle(), bar.box.y + 16, 11, room,
              is_short ? (bar.is_switch ? "switch " : "PCIe ") + address : name, "",
              anchor::middle);
    svg_.end_group();
  }

  void nic(const svg_layout::device& device) {
    const auto& nic = machine_.nics[at(device.index)];
    const auto& box = device.box;
    std::string all = fmt::format("NIC {}: {} {}", device.index, nic.model, nic.place.address);
    for (const auto& port : nic.ports) all += "; " + describe(port);
    hang(device, nic.place);
    svg_.begin_group(all);
    svg_.box(box, nic.is_down() ? "down" : "nic");
    const auto number = fmt::format("NIC {}", device.index);
    const double aside = text_width(number, 10.5);
    svg_.text(box.x + 8, box.y + 18, 12, box.width - 22 - aside, nic.name(), "strong");
    svg_.text(box.right() - 8, box.y + 18, 10.5, aside + 4, number, "muted", anchor::end);
    svg_.text(box.x + 8, box.y + 34, 11, box.width - 16, state_of(nic),
              nic.is_down() ? "warn" : "");
    svg_.text(box.x + 8, box.y + 49, 10.5, box.width - 16, nic.place.address, "muted");
    svg_.end_group();
  }

  /// Of the port that it is known by, as far as the kernel tells.
  static std::string state_of(const topology::nic& nic) {
    std::string text;
    const auto speed = nic.gigabits();
    for (const auto& port : nic.ports)
      if (text.empty() || port.name == nic.name()) text = port.state;
    if (speed > 0) text += fmt::format("{}{} Gb/s", text.empty() ? "" : ", ", short_number(speed));
    if (text.empty()) text = nic.ports.empty() ? "no driver" : "state not known";
    return text;
  }

  void hang(const svg_layout::device& device, const pci_place& place) {
    const double middle = device.box.y + device.box.height / 2;
    if (place.bridge >= 0) svg_.line(device.bus, middle, device.box.x, middle, "pcie");
  }

  void gpu(const svg_layout::device& device) {
    const auto& gpu = machine_.gpus[at(device.index)];
    const auto& box = device.box;
    const auto pes = pes_on_gpu(machine_, device.index);
    std::string all = fmt::format("GPU {}: {} {}", device.index, gpu.name, gpu.place.address);
    for (const auto& links : gpu.links) all += "; " + describe(links);
    hang(device, gpu.place);
    svg_.begin_group(all);
    svg_.box(box, "gpu");
    const auto name = fmt::format("GPU {}", device.index);
    svg_.text(box.x + 8, box.y + 19, 13, 60, name, "strong");
    if (!pes.empty())
      svg_.text(box.right() - 8, box.y + 19, 12, box.width - 70, "PE " + pes, "pe", anchor::end);
    svg_.text(box.x + 8, box.y + 36, 11, box.width - 16, short_name(gpu.name), "");
    svg_.text(box.x + 8, box.y + 51, 10.5, box.width - 16, gpu.place.address, "muted");
    if (gpu.links_down > 0) {
      svg_.text(box.x + 8, box.y + 67, 11, box.width - 16,
                count_of(gpu.links_down, "NVLink") + " down", "warn");
    } else if (gpu.place.gigabytes > 0) {
      svg_.text(box.x + 8, box.y + 67, 10.5, box.width - 16,
                fmt::format("PCIe {} GB/s", short_number(gpu.place.gigabytes)), "muted");
    }
    svg_.end_group();
  }

  void paragraph(const std::string& text, const char* style, double size = 12) {
    const double room = layout_.width - 2 * margin;
    const bool is_bold = std::string_view(style) == "strong";
    for (const auto& line : wrap_text(text, size, is_bold ? room / bold_width : room)) {
      bottom_ += size + 6;
      svg_.text(margin, bottom_, size, layout_.width - 2 * margin, line, style);
    }
  }

  void footer() {
    bottom_ += 24;
    key();
    bottom_ += 12;
    paragraph(describe_ring(found_), "strong", 13);
    std::string rails;
    for (std::size_t i = 0; i < found_.rails.size(); ++i) {
      const auto& rail = found_.rails[i];
      if (rail.nic < 0) continue;
      rails += fmt::format("{}{} by {} ({})", rails.empty() ? "rails: " : ", ",
                           name_of_member(found_, i), machine_.nics[at(rail.nic)].name(),
                           rail.way.text());
    }
    if (!rails.empty()) paragraph(rails, "");
    if (!machine_.source.empty()) paragraph("read from " + machine_.source, "muted");
    for (const auto& note : machine_.notes) paragraph(note, "muted");
  }

  /// What the lines are.
  void key() {
    double x = margin;
    const auto entry = [&](const char* style, const std::string& text) {
      svg_.line(x, bottom_, x + 26, bottom_, style);
      svg_.text(x + 33, bottom_ + 4, 11, layout_.width - x - 33, text, "muted");
      x += 33 + text_width(text, 11) + 22;
    };
    if (!layout_.buses.empty()) entry("pcie", "PCIe");
    if (std::any_of(machine_.gpus.begin(), machine_.gpus.end(),
                    [](const auto& gpu) { return !gpu.links.empty(); }))
      entry("nvlink", "NVLink: links, GB/s of each each way");
    if (machine_.packages.size() > 1) entry("interconnect", "between packages");
  }

  const machine& machine_;
  const analysis found_;
  const svg_layout layout_;
  svg_writer svg_;
  double bottom_ = 0;
};

}  // namespace

std::string to_svg(const machine& machine) { return machine_painter(machine).paint(); }

}  // namespace heddle::topology
