// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/transport/tcp/wire.hpp"

namespace heddle::tcp {

/// Takes operations out of what a stream brings. Messages and small data go through a buffer; what
/// is left of larger data goes from the socket to its place.
class inbox {
 public:
  /// Whom it tells.
  class reader {
   public:
    virtual ~reader() = default;
    virtual void on_message(std::span<const std::byte> message) = 0;
    /// Where the data of a write, or of the answer to a read, goes; null: there is no such place.
    virtual std::byte* place_of(const operation_header& header) = 0;
    /// Whether that place is still there: asked before data goes to it.
    virtual bool is_wanted(const operation_header& header) = 0;
    /// All of it is there, or has been dropped.
    virtual void on_data(const operation_header& header) = 0;
    /// False: there is no such place.
    virtual bool on_read(const operation_header& header) = 0;
    virtual void on_goodbye() = 0;
    /// Whether the stream is still there: asked after each of these calls.
    [[nodiscard]] virtual bool goes_on() const = 0;
  };

  inbox();

  enum class outcome : std::uint8_t {
    nothing,
    something,
    ended,     ///< the other side has closed
    failed,    ///< errno tells why
    malformed  ///< complaint() tells what
  };
  outcome receive(int socket, reader& to);
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

  /// Data on its way there goes nowhere.
  void forget_place(const std::byte* start, std::size_t size);

 private:
  /// Takes what is in the buffer. False: it is malformed.
  bool parse(reader& to);
  bool begin(reader& to);
  bool complain(std::string what);

  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  operation_header header_{};  ///< of the data that is being received
  std::byte* place_ = nullptr;
  std::uint64_t left_ = 0;  ///< of the data
  bool drops_ = false;      ///< the data goes nowhere
  std::string complaint_;
};

}  // namespace heddle::tcp
