// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "whole_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "scratch_folder.hpp"

using namespace perf;
namespace fs = std::filesystem;

namespace {

/// What the error says of a path that cannot be written; empty if it can.
template <class Write>
std::string problem(Write write) {
  try {
    write();
  } catch (const std::runtime_error& failure) {
    return failure.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a file is replaced whole, and nothing is left beside it") {
  const scratch_folder in;
  write_whole(in.path("page"), "one");
  CHECK(in.content("page") == "one");
  fs::permissions(in.path("page"), fs::perms::owner_read | fs::perms::owner_write);
  write_whole(in.path("page"), "two");
  CHECK(in.content("page") == "two");
  CHECK(fs::status(in.path("page")).permissions() ==
        (fs::perms::owner_read | fs::perms::owner_write));
  check_writable(in.path("page"));
  check_writable(in.path("other"));
  CHECK(in.content("page") == "two");
  CHECK(in.count() == 1);
}

TEST_CASE("a link stays one") {
  const scratch_folder in;
  write_whole(in.path("page"), "one");
  fs::create_symlink("page", in.path("link"));
  write_whole(in.path("link"), "two");
  CHECK(fs::is_symlink(in.path("link")));
  CHECK(in.content("page") == "two");
}

TEST_CASE("what cannot be written is an error that names the path") {
  const scratch_folder in;
  for (const std::string& path : {in.path("no/such/page"), in.path("")}) {
    CAPTURE(path);
    CHECK(problem([&] { write_whole(path, "text"); }).find("cannot write " + path) == 0);
    CHECK(problem([&] { check_writable(path); }).find("cannot write " + path) == 0);
  }
  CHECK(problem([] { write_whole("/dev/full", "text"); }) ==
        "cannot write /dev/full: No space left on device");
  CHECK(in.count() == 0);
}

TEST_CASE("what is no file is written to, and stays what it is") {
  write_whole("/dev/null", "text");
  CHECK(fs::is_character_file("/dev/null"));
}
