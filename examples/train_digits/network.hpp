// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <heddle/stream.hpp>
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
inline constexpr int hidden_biases = hidden_units * digit::pixels;
inline constexpr int output_weights = hidden_biases + hidden_units;
inline constexpr int output_biases = output_weights + classes * hidden_units;
inline constexpr int parameters = output_biases + classes;

/// The same start on every PE.
std::vector<float> initial(unsigned seed);

/// The share of images whose most likely class is the label.
double accuracy(std::span<const float> weights, std::span<const digit> images);

/// What the threads of a group hold together for one image, and one layer keeps for the next.
struct activations {
  float hidden[hidden_units];
  float probability[classes];
  float back[hidden_units];  ///< the slope of the loss by each hidden unit
};

/// Part of the gradient, with the loss after it: what is ready first may be reduced first.
struct bucket {
  int begin;
  int end;
};
inline constexpr bucket output_layer = {output_weights, parameters + 1};
inline constexpr bucket hidden_layer = {0, output_weights};

/// The images of a step: those that `chosen` names, and `at` for each of them.
struct batch {
  const digit* images;
  const int* chosen;
  int count;
  activations* at;
};

/// Enqueues the output layer's gradient of the cross-entropy over a batch, times `scale`; after it,
/// in gradient[parameters], the sum of the losses times `loss_scale`. By a block of `threads`, as
/// all here; all pointers are to memory of the device.
void find_output_gradient(const heddle::stream& stream, int threads, const float* weights,
                          const batch& images, float scale, float loss_scale, float* gradient);
/// The hidden layer's, after that.
void find_hidden_gradient(const heddle::stream& stream, int threads, const batch& images,
                          float scale, float* gradient);

/// Enqueues a step down the gradient; adds its loss to *loss.
void descend(const heddle::stream& stream, int threads, float* weights, const float* gradient,
             float rate, double* loss);

}  // namespace network
