// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <filesystem>
#include <set>

#include "host/transport/isolated_transport.hpp"
#include "host/transport/libfabric/fabric_transport.hpp"
#include "host/transport/libfabric/provider_choice.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {

namespace {

/// That is not taken for one that does not return, on a busy machine.
constexpr std::chrono::duration<double> longest_call = std::chrono::seconds(5);

/// Asked before libfabric is loaded: the libraries that it brings along take up to 0.2 s to start.
bool has_network_card() {
  constexpr std::array<const char*, 3> drivers = {"/sys/class/infiniband", "/sys/class/cxi",
                                                  "/sys/class/hfi1"};
  return std::any_of(drivers.begin(), drivers.end(), [](const char* folder) {
    std::error_code error;
    return std::filesystem::directory_iterator(folder, error) !=
           std::filesystem::directory_iterator();
  });
}

}  // namespace

std::unique_ptr<transport> make_libfabric_transport(const libfabric_options& options) {
  if (options.cards_only && !has_network_card())
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                "asked for a network card with libfabric, and there is none (nothing in "
                "/sys/class/infiniband, cxi or hfi1)");
  const auto* functions = libfabric::load_library();
  if (!functions)
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                "asked for a network of libfabric, and libfabric.so.1 is not there: install "
                "libfabric1");
  const libfabric::offers offers(*functions, options.ordering, options.gpu != nullptr);
  const libfabric::provider_wish wish{.provider = options.provider,
                                      .interfaces = options.interfaces,
                                      .one_host = options.one_host,
                                      .cards_only = options.cards_only,
                                      .ib_disable = options.ib_disable,
                                      .ib_hca = options.ib_hca,
                                      .there = list_interfaces(),
                                      .near = place_of_pe(options.near),
                                      .local_rank = options.local_rank};
  auto candidates = libfabric::rank_providers(offers.all(), wish);
  for (auto& one : candidates) {
    if (!one.fits) break;
    try {
      std::unique_ptr<transport> made = std::make_unique<libfabric::fabric_transport>(
          *functions, *one.info, one.interface,
          options.ordering.value_or(*libfabric::ordering_of(*one.info)), options.timeout,
          options.gpu);
      if (one.provider == libfabric::shm_provider)
        made = std::make_unique<isolated_transport>(std::move(made),
                                                    std::max(options.timeout, longest_call));
      log::info(log::subsystem::transport, "libfabric: {} on {}: {}", one.provider, one.interface,
                one.reason);
      return made;
    } catch (const error& refused) {
      one.reason = refused.what();
    }
  }
  if (!options.provider.empty()) {
    std::set<std::string> names;
    for (const auto& one : candidates) names.insert(one.provider);
    std::erase_if(candidates, [&](const auto& one) {
      return !libfabric::is_named(one.provider, options.provider);
    });
    if (candidates.empty())
      throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                  "asked for libfabric's provider {}, which is not there; there are: {}",
                  options.provider, fmt::join(names, ", "));
  }
  throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
              "asked for a network of libfabric{}{}; none of what there is does:{}",
              options.provider.empty() ? "" : " with the provider ", options.provider,
              candidates.empty() ? " nothing" : libfabric::describe(candidates));
}

}  // namespace heddle
