// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "support/nvml.hpp"

/// A management library with the GPUs that a test gives it.
namespace heddle::testing {

/// One NVLink of a GPU.
struct imitated_link {
  bool is_up = true;
  unsigned remote_bus = 0;  ///< of the GPU or the switch, in domain 0
  int remote_type = nvml::remote_gpu;
  unsigned version = 0;  ///< 0: is not told
};

struct imitated_gpu {
  std::string name;
  unsigned bus = 0;
  std::vector<imitated_link> links;
  unsigned megabytes = 0;  ///< a second, of each link; 0: is not told
};

struct imitated_nvml {
  std::vector<imitated_gpu> gpus;
  std::string failing;  ///< the function that fails, by NVML's name
};

/// While it lives, this library is found in place of this machine's; it shares nothing with others.
class nvml_in_place {
 public:
  explicit nvml_in_place(const imitated_nvml& what);
  /// As an older library, without this function.
  nvml_in_place(const imitated_nvml& what, const std::string& missing);
  ~nvml_in_place();
  nvml_in_place(const nvml_in_place&) = delete;
  nvml_in_place& operator=(const nvml_in_place&) = delete;

  /// Calls of nvmlInit that no nvmlShutdown has followed.
  [[nodiscard]] static int sessions();

 private:
  nvml table_;
};

}  // namespace heddle::testing
