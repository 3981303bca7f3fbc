// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/views.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "topology/machines.hpp"
#include "topology/read_machine.hpp"
#include "topology/svg_layout.hpp"
#include "topology/svg_writer.hpp"

using namespace heddle::topology;
using namespace heddle::testing;

namespace {

bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("no \"", part, "\" in:\n", text);
  return found;
}

machine pairs_with_pes() {
  auto made = make_machine({.packages = 2, .switches = 1, .gpus = 2, .nics = 1});
  join(made, 0, 2, 4);
  join(made, 1, 3, 4);
  made.gpus[1].links_down = 1;
  made.nics[1].ports[0].state = "DOWN";
  for (int i = 0; i < 4; ++i) add_pe(made, "0-7", i);
  return made;
}

/// Machines of all kinds, also such as there are none.
std::vector<machine> all_kinds() {
  std::vector<machine> all = {machine{}, pairs_with_pes(),
                              make_machine({.packages = 8, .switches = 0}),
                              make_machine({.packages = 1, .switches = 1, .gpus = 0, .nics = 5}),
                              make_machine({.packages = 2, .switches = 3, .gpus = 4, .nics = 1})};
  for (const char* name : {"dgx.xml", "nested.xml", "numa.xml"})
    all.push_back(read_machine(HEDDLE_MACHINES "/" + std::string(name)));
  auto loose = pairs_with_pes();
  loose.gpus[3].place = {"0000:ff:00.0", -1, {}, 0};
  loose.nics[0].place = {"0000:fe:00.0", -1, {1, -1}, 0};
  loose.gpus[0].name = "A name that is much too long for the box that it has to be put into";
  loose.packages[0].model = loose.gpus[0].name + ", " + loose.gpus[0].name;
  for (int i = 0; i < 60; ++i) add_pe(loose, "0-7", i % 2 - 1);
  loose.notes = {loose.packages[0].model + ", and that is not all"};
  all.push_back(std::move(loose));
  auto hostile = pairs_with_pes();
  hostile.name = "<script>&\"'";
  hostile.gpus[0].name = "\x01 \xff \xc3\xa9 \xed\xa0\x80 ]]>";
  hostile.nics[0].ports[0].name = "a<b";
  all.push_back(std::move(hostile));
  return all;
}

/// What is not well-formed in the XML of a picture; empty if all is.
std::string fault_of(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t i = xml.find("?>") + 2; i < xml.size();) {
    if (xml[i] == '&') {
      const std::regex entity("&(amp|lt|gt|quot);");
      std::smatch found;
      const auto rest = xml.substr(i, 8);
      if (!std::regex_search(rest, found, entity, std::regex_constants::match_continuous))
        return "a bare & at " + rest;
    }
    if (static_cast<unsigned char>(xml[i]) < ' ' && xml[i] != '\n') return "a control character";
    if (xml[i] != '<') {
      ++i;
      continue;
    }
    const auto end = xml.find('>', i);
    const auto tag = xml.substr(i + 1, end - i - 1);
    if (tag.find('<') != std::string::npos) return "a tag in the tag " + tag;
    const auto name =
        tag.substr(tag[0] == '/' ? 1 : 0, tag.find_first_of(" /", 1) - (tag[0] == '/'));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "an end of " + tag;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    i = end + 1;
  }
  return open.empty() ? "" : "no end of " + open.back();
}

double number(const std::string& element, const char* attribute) {
  std::smatch found;
  const std::regex pattern(std::string(" ") + attribute + "=\"([-0-9.]+)");
  REQUIRE(std::regex_search(element, found, pattern));
  return std::stod(found[1]);
}

rect rect_of(const std::string& element) {
  return {number(element, "x"), number(element, "y"), number(element, "width"),
          number(element, "height")};
}

bool overlap(const rect& a, const rect& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

}  // namespace

TEST_CASE("the text has the tree, the matrix with what its words mean, the ring and the rails") {
  const auto text = to_text(pairs_with_pes());
  for (const char* part :
       {"made: 2 packages, 2 NUMA nodes, 8 cores, 128 GiB, 4 GPUs, 2 NICs, 4 PEs\n",
        "\n  package 1: a processor\n    NUMA node 1: 4 cores, 8 threads, 64 GiB\n      PCIe host "
        "bridge 0000:09:00.0\n        PCIe switch 0000:0b:00.0\n          GPU 2  NVIDIA of tests",
        "PCIe 31.5 GB/s  PE 1\n            4 NVLinks of 25 GB/s to GPU 3\n            1 NVLink "
        "down\n",
        "\n        GPU0  GPU1  GPU2  GPU3  NIC0  NIC1  near\n  GPU0  X     PIX   NV4   SYS   PIX   "
        "SYS  "
        " NUMA node 0\n",
        "    PIX   one PCIe switch at most; bandwidth: pcie\n",
        "    SYS   what joins NUMA nodes; bandwidth: interconnect\n",
        "PE ring 0 1 3 2: PIX twice, NV4 twice (instead of ring 0 1 2 3: PIX twice, crosses SYS "
        "twice)\n",
        "  PE 2: NIC 0 (mlx5_0), SYS\n", "mlx5_1 DOWN 400 Gb/s\n"})
    CHECK(has(text, part));
  CHECK(has(to_text(read_machine(HEDDLE_MACHINES "/dgx.xml")),
            "18 NVLinks of 25 GB/s to 4 NVSwitches\n"));
}

TEST_CASE("no name in the text steers a terminal") {
  auto made = pairs_with_pes();
  made.gpus[0].name = "\x1b[2J\a";
  CHECK(to_text(made).find_first_of("\x1b\a\x7f") == std::string::npos);
}

TEST_CASE("the JSON has what the machine has, and what follows from it") {
  const auto json = nlohmann::json::parse(to_json(pairs_with_pes()));
  CHECK(json["name"] == "made");
  CHECK(json["packages"].size() == 2);
  CHECK(json["numa_nodes"][1]["processors"] == "8-15");
  CHECK(json["bridges"][0]["parent"].is_null());
  CHECK(json["gpus"][0]["nvlinks"][0] ==
        nlohmann::json{{"to", "gpu"}, {"index", 2}, {"count", 4}, {"gigabytes", 25.0}});
  CHECK(json["gpus"][1]["nvlinks_down"] == 1);
  CHECK(json["nics"][1]["ports"][0]["state"] == "DOWN");
  CHECK(json["pes"][3]["gpu"] == 3);
  CHECK(json["paths"]["devices"] == nlohmann::json{"GPU0", "GPU1", "GPU2", "GPU3", "NIC0", "NIC1"});
  CHECK(json["paths"]["kinds"][0] == nlohmann::json{"X", "PIX", "NV4", "SYS", "PIX", "SYS"});
  CHECK(json["paths"]["bandwidth"][0][2] == "nvlink");
  CHECK(json["paths"]["gigabytes"][0][2] == 100.0);
  CHECK(json["ring"]["of"] == "PE");
  CHECK(json["ring"]["order"] == nlohmann::json{0, 1, 3, 2});
  CHECK(json["ring"]["by_kind"] == nlohmann::json{{"NV#", 2}, {"PIX", 2}});
  CHECK(json["rails"][2] == nlohmann::json{{"of", "PE 2"}, {"nic", 0}, {"path", "SYS"}});
  for (const auto& each : all_kinds()) CHECK(nlohmann::json::accept(to_json(each)));
}

TEST_CASE("every picture is well-formed, has a title and a description, and two sets of colours") {
  for (const auto& each : all_kinds()) {
    const auto svg = to_svg(each);
    CAPTURE(each.name);
    CHECK(fault_of(svg) == "");
    CHECK(has(svg, "role=\"img\" aria-labelledby=\"title description\""));
    CHECK(has(svg, "<title id=\"title\">Topology of "));
    CHECK(has(svg, "<desc id=\"description\">"));
    CHECK(has(svg, "@media (prefers-color-scheme: dark) {"));
    CHECK(svg.find("nan") == std::string::npos);
  }
}

TEST_CASE("no text leaves its box, and no box the picture") {
  for (const auto& each : all_kinds()) {
    const auto svg = to_svg(each);
    const double width = number(svg.substr(svg.find("<svg")), "width");
    const double height = number(svg.substr(svg.find("<svg")), "height");
    const std::regex element("<(g|/g|rect|text)[ >][^\n]*");
    rect box;  // of the group
    bool in_group = false;
    for (std::sregex_iterator at(svg.begin(), svg.end(), element), end; at != end; ++at) {
      const std::string line = at->str();
      if (line.starts_with("<g>")) in_group = true;
      if (line.starts_with("</g>")) in_group = false;
      if (line.starts_with("<rect class") && line.find("paper") == std::string::npos) {
        const auto found = rect_of(line);
        CHECK(found.x >= 0);
        CHECK(found.right() <= width);
        CHECK(found.bottom() <= height);
        if (in_group) box = found;
      }
      if (!line.starts_with("<text")) continue;
      const auto begin = line.find('>') + 1;
      auto text = line.substr(begin, line.rfind("</text>") - begin);
      for (const auto& [from, to] : {std::pair("&lt;", "<"), {"&gt;", ">"}, {"&amp;", "&"}})
        text = std::regex_replace(text, std::regex(from), to);
      const bool is_bold = std::regex_search(line, std::regex("class=\"(strong|pe|warn)\""));
      const double wide = text_width(text, number(line, "font-size")) * (is_bold ? bold_width : 1);
      double left = number(line, "x");
      if (line.find("\"middle\"") != std::string::npos) left -= wide / 2;
      if (line.find("\"end\"") != std::string::npos) left -= wide;
      CAPTURE(line);
      const rect limits = in_group ? box : rect{0, 0, width, height};
      CHECK(left >= limits.x - 0.1);
      CHECK(left + wide <= limits.right() + 0.1);
      CHECK(number(line, "y") <= limits.bottom());
    }
  }
}

TEST_CASE("devices and bridges stand side by side") {
  for (const auto& each : all_kinds()) {
    const auto layout = lay_out(each);
    std::vector<rect> boxes;
    for (const auto& gpu : layout.gpus) boxes.push_back(gpu.box);
    for (const auto& nic : layout.nics) boxes.push_back(nic.box);
    for (const auto& bar : layout.bars) boxes.push_back(bar.box);
    CHECK(layout.gpus.size() == each.gpus.size());
    CHECK(layout.nics.size() == each.nics.size());
    for (std::size_t a = 0; a < boxes.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) CHECK_FALSE(overlap(boxes[a], boxes[b]));
  }
}

TEST_CASE("text is cut and broken where it is too long, between characters") {
  CHECK(fit_text("short", 10, 100) == "short");
  const auto cut = fit_text("\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", 10, 45);
  CHECK(cut == "\u00e9\u00e9\u00e9\u2026");
  CHECK(text_width(cut, 10) <= 45);
  CHECK(wrap_text("one two three", 10, 45) == std::vector<std::string>{"one two", "three"});
  CHECK(escape_xml("a<b>&\"\x02\xff") == "a&lt;b&gt;&amp;&quot;??");
}
