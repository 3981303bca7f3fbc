// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "network.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace network {

namespace {

constexpr std::size_t hidden_biases = static_cast<std::size_t>(hidden_units) * digit::pixels;
constexpr std::size_t output_weights = hidden_biases + hidden_units;
constexpr std::size_t output_biases =
    output_weights + static_cast<std::size_t>(classes) * hidden_units;

struct activations {
  std::array<float, hidden_units> hidden;
  std::array<float, classes> probability;
};

activations forward(std::span<const float> weights, const digit& image) {
  activations result;
  for (int h = 0; h < hidden_units; ++h) {
    const float* row = weights.data() + static_cast<std::size_t>(h) * digit::pixels;
    float sum = weights[hidden_biases + static_cast<std::size_t>(h)];
    for (int p = 0; p < digit::pixels; ++p)
      sum += row[p] * image.image[static_cast<std::size_t>(p)];
    result.hidden[static_cast<std::size_t>(h)] = std::max(sum, 0.0f);
  }
  float most = -INFINITY;
  for (int c = 0; c < classes; ++c) {
    const float* row = weights.data() + output_weights + static_cast<std::size_t>(c) * hidden_units;
    float sum = weights[output_biases + static_cast<std::size_t>(c)];
    for (int h = 0; h < hidden_units; ++h)
      sum += row[h] * result.hidden[static_cast<std::size_t>(h)];
    result.probability[static_cast<std::size_t>(c)] = sum;
    most = std::max(most, sum);
  }
  float total = 0;
  for (float& value : result.probability) total += value = std::exp(value - most);
  for (float& value : result.probability) value /= total;
  return result;
}

}  // namespace

std::vector<float> initial(unsigned seed) {
  std::vector<float> weights(parameters, 0.0f);
  std::mt19937 random(seed);
  auto uniform = [&](float limit) {
    return (static_cast<float>(random()) / 4294967296.0f * 2 - 1) * limit;
  };
  for (std::size_t i = 0; i < hidden_biases; ++i)
    weights[i] = uniform(std::sqrt(6.0f / digit::pixels));
  for (std::size_t i = output_weights; i < output_biases; ++i)
    weights[i] = uniform(std::sqrt(6.0f / hidden_units));
  return weights;
}

double add_gradient(std::span<const float> weights, std::span<const digit> images,
                    std::span<float> gradient) {
  double loss = 0;
  for (const digit& image : images) {
    const auto at = forward(weights, image);
    loss -= std::log(std::max(at.probability[static_cast<std::size_t>(image.label)], 1e-30f));
    std::array<float, hidden_units> back{};
    for (std::size_t c = 0; c < classes; ++c) {
      const float error = at.probability[c] - (static_cast<int>(c) == image.label ? 1.0f : 0.0f);
      const float* row = weights.data() + output_weights + c * hidden_units;
      float* slope = gradient.data() + output_weights + c * hidden_units;
      for (std::size_t h = 0; h < hidden_units; ++h) {
        slope[h] += error * at.hidden[h];
        back[h] += error * row[h];
      }
      gradient[output_biases + c] += error;
    }
    for (std::size_t h = 0; h < hidden_units; ++h) {
      if (at.hidden[h] <= 0) continue;
      float* slope = gradient.data() + h * digit::pixels;
      for (std::size_t p = 0; p < digit::pixels; ++p) slope[p] += back[h] * image.image[p];
      gradient[hidden_biases + h] += back[h];
    }
  }
  return loss;
}

double accuracy(std::span<const float> weights, std::span<const digit> images) {
  std::size_t right = 0;
  for (const digit& image : images) {
    const auto at = forward(weights, image);
    const auto most = std::max_element(at.probability.begin(), at.probability.end());
    right += most - at.probability.begin() == image.label;
  }
  return static_cast<double>(right) / static_cast<double>(images.size());
}

}  // namespace network
