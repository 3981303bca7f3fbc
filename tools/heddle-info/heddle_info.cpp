// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What heddle sees here: the machine, its devices and networks, the job, which path each peer takes
// and why, and every variable; or the machine's topology. Alone, or under a launcher (heddle-run
// -n 2 heddle-info), where PE 0 speaks.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <heddle/heddle.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "whole_file.hpp"

namespace {

using nlohmann::ordered_json;

std::string text_of(const ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void print_object(const char* title, const ordered_json& object) {
  fmt::print("{}\n", title);
  for (const auto& [key, value] : object.items()) fmt::print("  {:<20} {}\n", key, text_of(value));
}

void print_rows(const char* title, const ordered_json& rows) {
  fmt::print("{}\n", title);
  if (rows.empty()) fmt::print("  none\n");
  for (const auto& row : rows) {
    std::string line;
    for (const auto& [key, value] : row.items())
      line += fmt::format("  {}: {}", key, text_of(value));
    fmt::print("{}\n", line);
  }
}

void print_fabrics(const ordered_json& rows) {
  fmt::print("fabrics (libfabric, for peers on other hosts; the best first)\n");
  if (rows.empty()) fmt::print("  none\n");
  for (const auto& row : rows) {
    const auto place = text_of(row["interface"]) + " " + row.value("address", "");
    fmt::print("  {:<12} {:<22} {}\n", text_of(row["provider"]), place, text_of(row["verdict"]));
    if (row.contains("promises")) fmt::print("  {:<35} {}\n", "", text_of(row["promises"]));
  }
}

void print_variables(const ordered_json& rows) {
  fmt::print("variables (* set by the environment)\n");
  for (const auto& row : rows)
    fmt::print("  {}{:<22} {:<10} default {:<8} {}\n", row["set"].get<bool>() ? "*" : " ",
               text_of(row["name"]), text_of(row["value"]),
               text_of(row["default"]).empty() ? "empty" : text_of(row["default"]),
               text_of(row["meaning"]));
}

void print_for_people(const ordered_json& all) {
  print_object("heddle", all["version"]);
  print_object("machine", all["machine"]);
  print_rows("devices", all["devices"]);
  print_fabrics(all["fabrics"]);
  print_rows("RDMA ports (libibverbs)", all["rdma_ports"]);
  if (!all["job"].is_null()) {
    print_object("job", all["job"]);
    print_rows("peers", all["peers"]);
  }
  print_variables(all["variables"]);
}

/// Of a call that makes a text.
template <class Call>
std::string text_from(Call&& call) {
  char* text = nullptr;
  heddle::detail::check(call(&text));
  const std::unique_ptr<char, decltype(&heddle_string_free)> owner(text, heddle_string_free);
  return text;
}

struct wishes {
  bool json = false;
  bool alone = false;
  bool topology = false;
  std::string topology_file;
  std::string picture;

  [[nodiscard]] bool wants_topology_alone() const {
    return !json && (topology || !topology_file.empty() || !picture.empty());
  }
};

class information {
 public:
  information(const wishes& wishes, heddle_runtime_t runtime)
      : wishes_(wishes), runtime_(runtime) {}

  /// Collective in a job: all PEs read, PE 0 speaks.
  void show(bool speaks) {
    const bool wants_text = wishes_.topology || (wishes_.picture.empty() && !wishes_.json);
    if (!wishes_.picture.empty()) {
      const auto picture = topology(HEDDLE_TOPOLOGY_SVG);
      if (speaks) perf::write_whole(wishes_.picture, picture);
    }
    if (wishes_.wants_topology_alone()) {
      if (!wants_text) return;
      const auto text = topology(HEDDLE_TOPOLOGY_TEXT);
      if (speaks) fmt::print("{}", text);
      return;
    }
    ordered_json of_machine;
    if (wishes_.topology) of_machine = ordered_json::parse(topology(HEDDLE_TOPOLOGY_JSON));
    if (!speaks) return;
    auto all = ordered_json::parse(
        text_from([&](char** text) { return heddle_info_json(runtime_, text); }));
    if (wishes_.topology) all["topology"] = std::move(of_machine);
    if (wishes_.json) {
      fmt::print("{}\n", all.dump(2));
    } else {
      print_for_people(all);
    }
  }

 private:
  std::string topology(heddle_topology_form_t form) {
    const char* file = wishes_.topology_file.empty() ? nullptr : wishes_.topology_file.c_str();
    return text_from([&](char** text) { return heddle_topology(runtime_, file, form, text); });
  }

  const wishes& wishes_;
  heddle_runtime_t runtime_;
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Shows what heddle sees here: machine, devices, networks, job, peers and variables; or the "
      "machine's topology.");
  wishes wishes;
  app.add_flag("--json", wishes.json, "as JSON");
  app.add_flag("--no-job", wishes.alone, "do not join the launcher's job");
  app.add_flag("--topology", wishes.topology,
               "processors, PCIe switches, GPUs, NVLinks and NICs, and the paths between them");
  app.add_option("--topology-svg", wishes.picture, "writes them as a picture (SVG)")
      ->check(perf::names_file)
      ->type_name("FILE");
  app.add_option("--topology-file", wishes.topology_file,
                 "of the machine in this file, as lstopo writes it (XML), and not of this one")
      ->check(perf::names_file)
      ->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  }
  try {
    // The job does not run on a machine that is in a file.
    wishes.alone |= !wishes.topology_file.empty();
    wishes.topology |= !wishes.topology_file.empty() && wishes.picture.empty();
    std::unique_ptr<heddle::runtime> runtime;
    if (!wishes.alone) runtime = std::make_unique<heddle::runtime>();
    information(wishes, runtime ? runtime->handle() : nullptr)
        .show(!runtime || runtime->my_pe() == 0);
    perf::check_printed();
    return 0;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "heddle-info: {}\n", failure.what());
    return 1;
  }
}
