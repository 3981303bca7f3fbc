// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "network.hpp"

#include <algorithm>
#include <cmath>
#include <heddle/device/launch.hpp>
#include <random>

namespace network {

namespace {

template <class T>
HEDDLE_FN T* row_of(T* matrix, int row, int columns) {
  return matrix + static_cast<heddle::size_t>(row) * static_cast<heddle::size_t>(columns);
}

/// Of one image, by a group: each thread has hidden units of its own.
template <heddle::group Group>
HEDDLE_FN void forward(const Group& group, const float* weights, const digit& image,
                       activations& at) {
  for (int h = group.rank(); h < hidden_units; h += group.size()) {
    const float* row = row_of(weights, h, digit::pixels);
    float sum = weights[hidden_biases + h];
    for (int p = 0; p < digit::pixels; ++p) sum += row[p] * image.image[p];
    at.hidden[h] = sum > 0 ? sum : 0;
  }
  group.sync();
  for (int c = group.rank(); c < classes; c += group.size()) {
    const float* row = row_of(weights + output_weights, c, hidden_units);
    float sum = weights[output_biases + c];
    for (int h = 0; h < hidden_units; ++h) sum += row[h] * at.hidden[h];
    at.probability[c] = sum;
  }
  group.sync();
  if (group.rank() == 0) {
    float most = at.probability[0];
    for (const float sum : at.probability) most = sum > most ? sum : most;
    float total = 0;
    for (float& value : at.probability) total += value = std::exp(value - most);
    for (float& value : at.probability) value /= total;
  }
  group.sync();
}

struct output_kernel {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, const float* weights, batch mine, float scale,
                            float loss_scale, float* gradient) const {
    for (int i = output_layer.begin + block.rank(); i < parameters; i += block.size())
      gradient[i] = 0;
    double loss = 0;
    block.sync();
    for (int i = 0; i < mine.count; ++i) {
      const digit& image = mine.images[mine.chosen[i]];
      activations& at = mine.at[i];
      forward(block, weights, image, at);
      const float likelihood = at.probability[image.label];
      loss -= std::log(likelihood > 1e-30f ? likelihood : 1e-30f);
      add(block, weights, image, at, gradient);
    }
    for (int i = output_layer.begin + block.rank(); i < parameters; i += block.size())
      gradient[i] *= scale;
    if (block.rank() == 0) gradient[parameters] = static_cast<float>(loss) * loss_scale;
  }

 private:
  template <class Block>
  HEDDLE_FN static void add(const Block& block, const float* weights, const digit& image,
                            activations& at, float* gradient) {
    for (int h = block.rank(); h < hidden_units; h += block.size()) at.back[h] = 0;
    for (int c = 0; c < classes; ++c) {
      const float error = at.probability[c] - (c == image.label ? 1.0f : 0.0f);
      const float* row = row_of(weights + output_weights, c, hidden_units);
      float* slope = row_of(gradient + output_weights, c, hidden_units);
      for (int h = block.rank(); h < hidden_units; h += block.size()) {
        slope[h] += error * at.hidden[h];
        at.back[h] += error * row[h];
      }
      if (block.rank() == 0) gradient[output_biases + c] += error;
    }
    block.sync();
  }
};

struct hidden_kernel {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, batch mine, float scale, float* gradient) const {
    // Each thread has hidden units of its own.
    for (int h = block.rank(); h < hidden_units; h += block.size()) {
      float* slope = row_of(gradient, h, digit::pixels);
      for (int p = 0; p < digit::pixels; ++p) slope[p] = 0;
      float bias = 0;
      for (int i = 0; i < mine.count; ++i) {
        const activations& at = mine.at[i];
        if (at.hidden[h] <= 0) continue;
        const digit& image = mine.images[mine.chosen[i]];
        for (int p = 0; p < digit::pixels; ++p) slope[p] += at.back[h] * image.image[p];
        bias += at.back[h];
      }
      for (int p = 0; p < digit::pixels; ++p) slope[p] *= scale;
      gradient[hidden_biases + h] = bias * scale;
    }
  }
};

struct descend_kernel {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, float* weights, const float* gradient, float rate,
                            double* loss) const {
    for (int i = block.rank(); i < parameters; i += block.size()) weights[i] -= rate * gradient[i];
    if (block.rank() == 0) *loss += gradient[parameters];
  }
};

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

double accuracy(std::span<const float> weights, std::span<const digit> images) {
  std::size_t right = 0;
  activations at;
  for (const digit& image : images) {
    forward(heddle::thread_group{}, weights.data(), image, at);
    const auto* most = std::max_element(std::begin(at.probability), std::end(at.probability));
    right += most - at.probability == image.label;
  }
  return static_cast<double>(right) / static_cast<double>(images.size());
}

void find_output_gradient(const heddle::stream& stream, int threads, const float* weights,
                          const batch& images, float scale, float loss_scale, float* gradient) {
  heddle::launch(stream, 1, threads, output_kernel{}, weights, images, scale, loss_scale, gradient);
}

void find_hidden_gradient(const heddle::stream& stream, int threads, const batch& images,
                          float scale, float* gradient) {
  heddle::launch(stream, 1, threads, hidden_kernel{}, images, scale, gradient);
}

void descend(const heddle::stream& stream, int threads, float* weights, const float* gradient,
             float rate, double* loss) {
  heddle::launch(stream, 1, threads, descend_kernel{}, weights, gradient, rate, loss);
}

}  // namespace network
