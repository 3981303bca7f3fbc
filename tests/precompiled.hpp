// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What most tests include, for the compiler to read once (tests/CMakeLists.txt), as
/// src/precompiled.hpp is for the library.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <heddle/heddle.h>
#include <heddle/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>
