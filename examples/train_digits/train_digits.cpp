// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Data-parallel training: each PE takes its share of every batch, and the gradients are averaged by
// AllReduce: all at once, or, as training frameworks do, in buckets on a stream of their own, each
// as soon as its layer's gradient is there. Images, weights and gradients are in memory of the
// device, whichever it is.
//
//     heddle-run -n 4 train_digits --check

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <heddle/heddle.hpp>
#include <limits>
#include <numeric>
#include <random>

#include "dataset.hpp"
#include "network.hpp"

namespace {

struct options {
  std::string data = HEDDLE_DIGITS_FILE;
  int epochs = 30;
  int batch = 64;
  float rate = 0.2f;
  unsigned seed = 1;
  bool check = false;
};

struct epoch_result {
  double loss;
  double accuracy;
};

using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point start) {
  return std::chrono::duration<double>(clock_type::now() - start).count();
}

/// A PE's part in the training, and where gradients meet: in memory of the device, the average over
/// all PEs of what each has put there.
struct exchange {
  const heddle::runtime& runtime;
  int my_pe;
  int n_pes;
  float* gradient;  ///< and after it the PE's loss, reduced along with it
  std::function<void(const network::bucket&)> is_ready;  ///< called when it is enqueued
  std::function<void()> finish;  ///< what is enqueued after it finds all averaged
};

/// Stochastic gradient descent. With any number of PEs the steps are the same but for rounding: a
/// PE scales the sum over its share of a batch by PEs / batch size, so that the average over the
/// PEs is that over the batch, also where the PEs do not divide it.
std::vector<epoch_result> train(const options& chosen, const dataset& digits, const exchange& with,
                                std::vector<float>& weights,
                                const std::function<void(int, epoch_result)>& report) {
  const auto images = static_cast<int>(digits.training.size());
  std::vector<int> order(digits.training.size());
  std::iota(order.begin(), order.end(), 0);

  const auto stream = with.runtime.default_stream();
  const int threads = with.runtime.device() == "host" ? 1 : network::hidden_units;
  const heddle::device_array<digit> images_there(with.runtime, digits.training.size());
  const heddle::device_array<int> order_there(with.runtime, order.size());
  const heddle::device_array<float> weights_there(with.runtime, weights.size());
  const heddle::device_array<network::activations> activations(
      with.runtime, static_cast<std::size_t>(chosen.batch));
  const heddle::device_array<double> loss_there(with.runtime, 1);
  stream.copy(images_there.data(), digits.training.data(), digits.training.size());
  stream.copy(weights_there.data(), weights.data(), weights.size());

  std::vector<epoch_result> results;
  std::mt19937 random(chosen.seed);
  for (int epoch = 0; epoch < chosen.epochs; ++epoch) {
    for (std::size_t i = order.size() - 1; i > 0; --i)
      std::swap(order[i], order[random() % (i + 1)]);
    double loss = 0;
    stream.copy(order_there.data(), order.data(), order.size());
    stream.copy(loss_there.data(), &loss, 1);
    for (int first = 0; first < images; first += chosen.batch) {
      const int size = std::min(images - first, chosen.batch);
      const int mine = size * with.my_pe / with.n_pes;
      const int count = size * (with.my_pe + 1) / with.n_pes - mine;
      const auto n_pes = static_cast<float>(with.n_pes);
      const network::batch batch = {images_there.data(), order_there.data() + first + mine, count,
                                    activations.data()};
      const float scale = n_pes / static_cast<float>(size);
      network::find_output_gradient(stream, threads, weights_there.data(), batch, scale, n_pes,
                                    with.gradient);
      with.is_ready(network::output_layer);
      network::find_hidden_gradient(stream, threads, batch, scale, with.gradient);
      with.is_ready(network::hidden_layer);
      with.finish();
      network::descend(stream, threads, weights_there.data(), with.gradient, chosen.rate,
                       loss_there.data());
    }
    stream.copy(weights.data(), weights_there.data(), weights.size());
    stream.copy(&loss, loss_there.data(), 1);
    stream.synchronize();
    results.push_back({loss / images, network::accuracy(weights, digits.test)});
    report(epoch, results.back());
  }
  return results;
}

void print_epoch(int epoch, epoch_result result) {
  const int bar = static_cast<int>(std::clamp(std::log10(result.loss / 0.001) * 16, 0.0, 56.0));
  fmt::print("epoch {:3}  loss {:8.5f}  test accuracy {:6.2f} %  {:#<{}}\n", epoch + 1, result.loss,
             100 * result.accuracy, "", bar);
}

float largest_difference(const std::vector<float>& one, const std::vector<float>& other) {
  float most = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const float apart = std::abs(one[i] - other[i]);
    most = std::max(most, std::isnan(apart) ? std::numeric_limits<float>::infinity() : apart);
  }
  return most;
}

/// Trains again with an AllReduce for each layer, on a stream of its own, beside the gradient of
/// the layer before.
std::vector<float> train_in_buckets(const options& chosen, const dataset& digits,
                                    const heddle::runtime& runtime, float* gradient) {
  const auto world = runtime.world();
  const auto computing = runtime.default_stream();
  const auto reducing = runtime.create_stream();
  auto computed = runtime.create_event();
  auto reduced = runtime.create_event();
  const exchange with = {runtime,
                         world.my_pe(),
                         world.n_pes(),
                         gradient,
                         [&](const network::bucket& bucket) {
                           computed.record(computing);
                           computed.block(reducing);
                           float* part = gradient + bucket.begin;
                           world.all_reduce(part, part,
                                            static_cast<std::size_t>(bucket.end - bucket.begin),
                                            heddle::op::avg, reducing);
                         },
                         [&] {
                           reduced.record(reducing);
                           reduced.block(computing);
                         }};
  auto weights = network::initial(chosen.seed);
  train(chosen, digits, with, weights, [](int, epoch_result) {});
  return weights;
}

/// Trains again on this PE alone and compares. True if both agree within rounding.
bool check_against_one_pe(const options& chosen, const dataset& digits,
                          const heddle::runtime& runtime, const std::vector<float>& weights,
                          double test_accuracy) {
  const heddle::device_array<float> gradient(runtime, network::parameters + 1);
  auto alone = network::initial(chosen.seed);
  const exchange with_nobody = {runtime, 0, 1, gradient.data(), [](const auto&) {}, [] {}};
  const auto results = train(chosen, digits, with_nobody, alone, [](int, epoch_result) {});
  const float most = largest_difference(weights, alone);
  const double difference = std::abs(results.back().accuracy - test_accuracy);
  const bool same =
      most < 2e-3f && difference <= 1.0 / static_cast<double>(digits.test.size()) + 1e-9;
  fmt::print(
      "one PE alone: loss {:.5f}, test accuracy {:.2f} %; weights differ by at most {:.1e}: {}\n",
      results.back().loss, 100 * results.back().accuracy, most,
      same ? "the same within rounding" : "NOT THE SAME");
  return same;
}

int run(const options& chosen) {
  const heddle::runtime runtime;
  const auto world = runtime.world();
  const bool speaks = world.my_pe() == 0;
  const auto digits = read_digits(chosen.data);
  heddle::symmetric_array<float> gradient(runtime, network::parameters + 1);
  auto weights = network::initial(chosen.seed);
  if (speaks)
    fmt::print("{} images for training, {} for the test; {} parameters; {} PE{}\n",
               digits.training.size(), digits.test.size(), +network::parameters, world.n_pes(),
               world.n_pes() == 1 ? "" : "s");

  double communication = 0;
  int reductions = 0;
  const auto start = clock_type::now();
  const auto average_all = [&] {
    runtime.default_stream().synchronize();  // what takes time from here on is communication
    const auto before = clock_type::now();
    world.all_reduce(gradient.data(), gradient.data(), gradient.size(), heddle::op::avg);
    communication += seconds_since(before);
    ++reductions;
  };
  const exchange at_once = {runtime,         world.my_pe(),      world.n_pes(),
                            gradient.data(), [](const auto&) {}, average_all};
  const auto results = train(chosen, digits, at_once, weights, [&](int epoch, epoch_result result) {
    if (speaks && (epoch % 5 == 0 || epoch + 1 == chosen.epochs)) print_epoch(epoch, result);
  });
  const double total = seconds_since(start);
  world.barrier();
  const auto start_in_buckets = clock_type::now();
  const auto in_buckets = train_in_buckets(chosen, digits, runtime, gradient.data());
  const double total_in_buckets = seconds_since(start_in_buckets);

  const float apart = largest_difference(weights, in_buckets);
  bool same = apart < 2e-3f;
  if (speaks) {
    fmt::print("final test accuracy {:.2f} %\n", 100 * results.back().accuracy);
    fmt::print(
        "{:.3f} s in all, {:.3f} s in {} AllReduces of {} bytes ({:.1f} %, waiting for other PEs "
        "included)\n",
        total, communication, reductions, gradient.size() * sizeof(float),
        100 * communication / total);
    fmt::print(
        "{:.3f} s with an AllReduce for each layer on a second stream; weights differ by at "
        "most {:.1e}: {}\n",
        total_in_buckets, apart, same ? "the same within rounding" : "NOT THE SAME");
    if (chosen.check)
      same &= check_against_one_pe(chosen, digits, runtime, weights, results.back().accuracy);
  }
  world.barrier();
  return same ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app("Trains a classifier of handwritten digits on all PEs of the job.");
  app.add_option("--data", chosen.data, "the data set (data/README.md)")->capture_default_str();
  app.add_option("--epochs", chosen.epochs)->check(CLI::Range(1, 10000))->capture_default_str();
  app.add_option("--batch", chosen.batch, "images of a step, all PEs together")
      ->check(CLI::Range(1, 1438))
      ->capture_default_str();
  app.add_option("--rate", chosen.rate, "learning rate")->capture_default_str();
  app.add_option("--seed", chosen.seed)->capture_default_str();
  app.add_flag("--check", chosen.check, "compare with a run of one PE; fails if they differ");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(chosen);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "train_digits: {}\n", failure.what());
    return 1;
  }
}
