// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What heddle sees here: the machine, its devices and networks, the job, which path each peer takes
// and why, and every variable. Alone, or under a launcher (heddle-run -n 2 heddle-info), where PE 0
// speaks.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <heddle/heddle.hpp>
#include <memory>
#include <nlohmann/json.hpp>

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

ordered_json read_info(heddle_runtime_t runtime) {
  char* text = nullptr;
  heddle::detail::check(heddle_info_json(runtime, &text));
  const std::unique_ptr<char, decltype(&heddle_string_free)> owner(text, heddle_string_free);
  return ordered_json::parse(text);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Shows what heddle sees here: machine, devices, networks, job, peers and variables.");
  bool json = false;
  bool alone = false;
  app.add_flag("--json", json, "as JSON");
  app.add_flag("--no-job", alone, "do not join the launcher's job");
  CLI11_PARSE(app, argc, argv);
  try {
    std::unique_ptr<heddle::runtime> runtime;
    if (!alone) runtime = std::make_unique<heddle::runtime>();
    if (runtime && runtime->my_pe() != 0) return 0;
    const auto all = read_info(runtime ? runtime->handle() : nullptr);
    if (json) {
      fmt::print("{}\n", all.dump(2));
    } else {
      print_for_people(all);
    }
    return 0;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "heddle-info: {}\n", failure.what());
    return 1;
  }
}
