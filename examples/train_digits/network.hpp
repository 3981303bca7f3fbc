// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "dataset.hpp"

/// 64 pixels -> 64 hidden units (ReLU) -> 10 classes (softmax). All parameters are one flat array,
/// and so are their gradients: what is reduced across PEs.
///
///     hidden weights [64][64] | hidden biases [64] | output weights [10][64] | output biases [10]
namespace network {

inline constexpr int hidden_units = 64;
inline constexpr int classes = 10;
inline constexpr std::size_t parameters =
    hidden_units * (digit::pixels + 1) + classes * (hidden_units + 1);

/// The same start on every PE.
std::vector<float> initial(unsigned seed);

/// Adds to `gradient` the gradient of the cross-entropy of each image; returns the sum of the
/// losses.
double add_gradient(std::span<const float> weights, std::span<const digit> images,
                    std::span<float> gradient);

/// The share of images whose most likely class is the label.
double accuracy(std::span<const float> weights, std::span<const digit> images);

}  // namespace network
