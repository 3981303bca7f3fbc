// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_rma.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host_link.hpp"

namespace bench::bare {

struct close_fabric_object {
  template <class Object>
  void operator()(Object* object) const {
    fi_close(&object->fid);
  }
};
template <class Object>
using fabric_object = std::unique_ptr<Object, close_fabric_object>;

/// Two processes that write to each other's memory through a provider of libfabric. What fails is
/// thrown with libfabric's words.
class fabric_pair {
 public:
  /// Both call; each exposes `bytes`. `delivery`: a completion says that the data is visible.
  fabric_pair(host_link& link, const std::string& provider, std::size_t bytes, bool delivery);
  ~fabric_pair();
  fabric_pair(const fabric_pair&) = delete;
  fabric_pair& operator=(const fabric_pair&) = delete;

  [[nodiscard]] int me() const { return link_.me(); }
  [[nodiscard]] std::byte* source() { return source_.data(); }

  /// Posts a write of source()[offset, offset + bytes) to the same place of the peer's memory;
  /// waits while `most_under_way` are under way.
  void write(std::size_t offset, std::size_t bytes);
  /// Takes completions until at most `left` writes are under way.
  void complete(std::size_t left);
  /// Makes progress until the word at `offset` of this process's memory is `value`.
  void wait_for(std::size_t offset, std::uint64_t value);

 private:
  static constexpr std::size_t most_under_way = 64;

  void open(const std::string& provider, bool delivery);
  void meet();
  void progress();

  host_link& link_;
  std::vector<std::byte> source_;
  std::vector<std::byte> target_;
  std::unique_ptr<fi_info, decltype(&fi_freeinfo)> info_{nullptr, &fi_freeinfo};
  fabric_object<fid_fabric> fabric_;
  fabric_object<fid_domain> domain_;
  fabric_object<fid_av> addresses_;
  fabric_object<fid_cq> queue_;
  fabric_object<fid_mr> exposed_;
  fabric_object<fid_mr> local_;
  fabric_object<fid_ep> endpoint_;  // before all that it uses
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  std::uint64_t peer_start_ = 0;
  std::uint64_t peer_key_ = 0;
  std::uint64_t flags_ = FI_COMPLETION;
  /// The provider's while a write is under way; completions come in any order.
  std::array<fi_context2, most_under_way> contexts_{};
  std::vector<void*> free_contexts_;
};

}  // namespace bench::bare
