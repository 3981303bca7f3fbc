// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "json_value.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

namespace perf::report {

namespace {

/// The beginning of what stands there.
std::string shown(const nlohmann::ordered_json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  const auto text = value.dump();
  return text.size() <= 40 ? text : text.substr(0, 37) + "...";
}

}  // namespace

json_value::json_value(const nlohmann::ordered_json& value, std::string file, std::string place)
    : value_(&value), file_(std::move(file)), place_(std::move(place)) {}

void json_value::fail(const std::string& expected) const {
  throw std::runtime_error(fmt::format("{}: {}: expected {}, found {}", file_,
                                       place_.empty() ? "the whole" : place_, expected,
                                       shown(*value_)));
}

bool json_value::has(const char* name) const {
  return value_->is_object() && value_->contains(name);
}

json_value json_value::operator[](const char* name) const {
  if (!value_->is_object()) fail("an object");
  if (!value_->contains(name))
    throw std::runtime_error(
        fmt::format("{}: {}{}\"{}\" is missing", file_, place_, place_.empty() ? "" : ": ", name));
  return {value_->at(name), file_, place_.empty() ? name : fmt::format("{}.{}", place_, name)};
}

std::vector<json_value> json_value::items() const {
  if (!value_->is_array()) fail("a list");
  std::vector<json_value> all;
  for (const auto& each : *value_)
    all.emplace_back(each, file_, fmt::format("{}[{}]", place_, all.size()));
  return all;
}

std::vector<std::pair<std::string, json_value>> json_value::members() const {
  if (!value_->is_object()) fail("an object");
  std::vector<std::pair<std::string, json_value>> all;
  for (const auto& [name, value] : value_->items())
    all.emplace_back(name, json_value(value, file_, fmt::format("{}.{}", place_, name)));
  return all;
}

std::string json_value::text() const {
  if (!value_->is_string()) fail("text");
  return value_->get<std::string>();
}

double json_value::number() const {
  if (!value_->is_number()) fail("a number");
  return value_->get<double>();
}

double json_value::time() const {
  const double value = number();
  if (!(value > 0) || !std::isfinite(value)) fail("a number above 0");
  return value;
}

std::size_t json_value::integer() const {
  if (!value_->is_number_unsigned()) fail("an integer of at least 0");
  return value_->get<std::size_t>();
}

bool json_value::truth() const {
  if (!value_->is_boolean()) fail("true or false");
  return value_->get<bool>();
}

}  // namespace perf::report
