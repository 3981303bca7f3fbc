// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What most of heddle's sources include, for the compiler to read once (src/CMakeLists.txt). Each
/// source includes what it uses all the same: clang-tidy and ccache compile without this.

#include <fmt/format.h>
#include <heddle/heddle.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>
