// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace perf::report {

/// A value in a JSON file that knows where it stands: one that is not as it should be is told with
/// file, place and what was expected, as a std::runtime_error. The document must outlive it.
class json_value {
 public:
  json_value(const nlohmann::ordered_json& value, std::string file, std::string place = {});

  [[nodiscard]] bool has(const char* name) const;
  [[nodiscard]] json_value operator[](const char* name) const;
  [[nodiscard]] std::vector<json_value> items() const;
  [[nodiscard]] std::vector<std::pair<std::string, json_value>> members() const;

  [[nodiscard]] bool is_null() const { return value_->is_null(); }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] double number() const;
  /// Above 0.
  [[nodiscard]] double time() const;
  [[nodiscard]] std::size_t integer() const;
  [[nodiscard]] bool truth() const;

  /// Throws: `expected` was expected here.
  [[noreturn]] void fail(const std::string& expected) const;

 private:
  const nlohmann::ordered_json* value_;
  std::string file_;
  std::string place_;
};

}  // namespace perf::report
