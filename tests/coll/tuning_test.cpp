// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "coll/tuning.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <heddle/error.hpp>
#include <string>

#include "coll/exchange_plan.hpp"

using namespace heddle;

namespace {

std::string refused(const std::string& text) {
  try {
    (void)read_tuning(text, "here.json", built_in_tuning(false));
  } catch (const error& failure) {
    CHECK(failure.status() == HEDDLE_ERROR_INVALID_ARGUMENT);
    return failure.what();
  }
  return "nothing was wrong";
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a profile replaces what it names, and plans go by it") {
  const auto base = built_in_tuning(false);
  CHECK(read_tuning(R"({"format": "heddle-tuning-1", "limits": {}})", "x", base) == base);
  const auto tuned =
      read_tuning(R"({"format": "heddle-tuning-1", "more": 1, "limits": {"one_shot": 8, "words": 0,
                      "slots": 100000}})",
                  "x", base);
  CHECK(tuned.one_shot == 8);
  CHECK(tuned.words == 0);
  CHECK(tuned.slots == 100'000);
  CHECK(tuned.tree == base.tree);
  plan_question question{.bytes = 512, .n_pes = 2};
  CHECK(choose_reduction(question).algo == algorithm::one_shot);
  CHECK(choose_exchange(collective::all_gather, question).slots_up_to == base.slots);
  question.tuned = &tuned;
  CHECK(choose_reduction(question).algo == algorithm::two_shot);
  CHECK(choose_exchange(collective::all_gather, question).slots_up_to == 100'000);
  CHECK(choose_exchange(collective::broadcast, question).slots_up_to == base.rooted_slots);
  CHECK(entries(tuned).size() == 11);
}

TEST_CASE("what is no profile is refused, with the file's name and the reason") {
  CHECK(has(refused("{"), "HEDDLE_TUNING=here.json: this is not JSON"));
  CHECK(has(refused("[]"), "no object"));
  CHECK(has(refused("{}"), "\"format\" is not \"heddle-tuning-1\""));
  CHECK(has(refused(R"({"format": "heddle-tuning-1"})"), "no object \"limits\""));
  const auto limits = [](const std::string& inside) {
    return refused(R"({"format": "heddle-tuning-1", "limits": {)" + inside + "}}");
  };
  CHECK(has(limits(R"("wrods": 8)"), "\"wrods\" is not a limit"));
  CHECK(has(limits(R"("words": -8)"), "\"words\" is -8; it must be a number of bytes"));
  CHECK(has(limits(R"("words": "8")"), "must be a number of bytes"));
  CHECK_THROWS_AS((void)read_tuning_file("/nowhere/at/all.json", built_in_tuning(true)),
                  const error&);
  CHECK(read_tuning_file("", built_in_tuning(true)) == built_in_tuning(true));
}
