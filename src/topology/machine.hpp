// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// What one machine is made of, as far as it decides how fast its devices reach each other. Plain
/// data, in which one thing names another by its index; -1: none, or not known. Read by
/// read_machine.hpp, or made by hand; all else in this folder is pure functions of it.
namespace heddle::topology {

constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// Which processors a device or a PE is near to.
struct locality {
  int package = -1;
  int numa_node = -1;  ///< -1: not known, or those of several
  bool operator==(const locality&) const = default;
};

/// A processor, as it is bought and put into a socket.
struct package {
  int number = 0;  ///< the system's
  std::string model;
  int cores = 0;
};

struct numa_node {
  int number = 0;    ///< the system's
  int package = -1;  ///< -1: not known, or it is of several
  int cores = 0;     ///< 0: memory alone
  int threads = 0;
  std::uint64_t memory_bytes = 0;
  std::string processors;  ///< "0-15,64-79"
  int caches = 0;          ///< of the last level
  int cache_level = 0;
  std::uint64_t cache_bytes = 0;  ///< of each
};

/// A PCIe host bridge (no parent), or a bridge below one: a root port or a port of a switch.
struct bridge {
  int parent = -1;
  std::string address;  ///< "0000:17:00.0"; of a host bridge its bus, "0000:17"
  locality where;
};

/// Where a device sits.
struct pci_place {
  std::string address;  ///< "0000:3b:00.0"
  int bridge = -1;
  locality where;
  double gigabytes = 0;  ///< of its PCIe link a second, each way; 0: not known
};

/// The NVLinks from a GPU to one other GPU, or to one switch.
struct nvlinks {
  enum class kind : std::uint8_t { gpu, nvswitch, other };
  kind peer = kind::other;  ///< other: a processor, or not known
  int index = -1;           ///< of the GPU or the switch
  int count = 0;
  double gigabytes = 0;  ///< of one link a second, each way; 0: not known
};

struct gpu {
  std::string name;
  pci_place place;
  std::vector<nvlinks> links;
  int links_down = 0;
};

struct nvswitch {
  pci_place place;
};

/// A port that a NIC is used by: a network interface, or a port of an RDMA device.
struct nic_port {
  std::string name;     ///< "eth0"; "mlx5_0", or "mlx5_0:2" beyond the first
  std::string state;    ///< as the kernel says: "up", "ACTIVE"; empty: not known
  double gigabits = 0;  ///< a second; 0: not known
  bool is_rdma = false;

  [[nodiscard]] bool is_down() const {
    return !state.empty() && state != "up" && state != "ACTIVE" && state != "unknown";
  }
};

/// A PCI function of a network card.
struct nic {
  std::string model;
  pci_place place;
  std::vector<nic_port> ports;

  /// What a user knows it by: its RDMA device, else its interface, else its address.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] bool has_rdma() const;
  /// None of its ports is up.
  [[nodiscard]] bool is_down() const;
  /// Of its fastest port.
  [[nodiscard]] double gigabits() const;
};

/// A PE of the job that runs on this machine.
struct pe {
  int rank = 0;
  std::string device;  ///< "host" or "cuda:0"
  int gpu = -1;
  std::string processors;  ///< that it may run on, "0-7"
  locality where;
};

struct machine {
  std::string name;
  std::string source;  ///< the file that it was read from; empty: this machine, now
  std::vector<package> packages;
  std::vector<numa_node> numa_nodes;
  std::vector<bridge> bridges;  ///< a parent before its children
  std::vector<gpu> gpus;        ///< by address, which is how NVML and nvidia-smi number them
  std::vector<nvswitch> nvswitches;
  std::vector<nic> nics;
  std::vector<pe> pes;
  std::vector<std::string> notes;  ///< what could not be read, and why

  [[nodiscard]] int cores() const;
  [[nodiscard]] std::uint64_t memory_bytes() const;
  /// Nodes that have processors: the others are memory alone.
  [[nodiscard]] int numa_nodes_with_cores() const;
};

/// Puts the GPUs in the order of their addresses, and what names them.
void sort_gpus(machine& machine);

/// Where processors ("0-7") are: on one node, in one package, or all over.
locality locate(const machine& machine, const std::string& processors);

}  // namespace heddle::topology
