// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

/// The C++ API: owners over the C handles of heddle.h. Every failing call throws heddle::error.
/// Contracts (collective, ordering, errors) are those of the C functions of the same name.
#pragma once

#include <heddle/device_array.hpp>
#include <heddle/element.hpp>
#include <heddle/error.hpp>
#include <heddle/registration.hpp>
#include <heddle/run_as_threads.hpp>
#include <heddle/runtime.hpp>
#include <heddle/scaled_sum.hpp>
#include <heddle/stream.hpp>
#include <heddle/symmetric_array.hpp>
#include <heddle/team.hpp>
