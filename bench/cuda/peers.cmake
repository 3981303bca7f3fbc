# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0

# NVSHMEM and NCCL, beside which the GPU's benchmarks put heddle: from their Python wheels, NCCL also from
# CUDA's own directory. Each is built if it is there; the runner says which are missing.
set(HEDDLE_BENCH_WHEELS "" CACHE STRING
  "Where the wheels of NVSHMEM and NCCL are unpacked, if not where Python finds them: directories that hold nvshmem and nccl")
set(bench_wheels ${HEDDLE_BENCH_WHEELS})
# Looked for each time: wheels are also installed after the first configuration.
if(NOT bench_wheels AND Python3_FOUND)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -c
            "from importlib.util import find_spec as f; s = f('nvidia'); print(';'.join(s.submodule_search_locations if s else []))"
    OUTPUT_VARIABLE bench_wheels OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()

# bench_find_peer(NAME HEADER LIBRARIES ROOTS): the first root that has all of them gives BENCH_<NAME>_ROOT.
function(bench_find_peer name header libraries roots)
  foreach(root IN LISTS roots)
    set(complete TRUE)
    foreach(file include/${header} ${libraries})
      if(NOT EXISTS ${root}/${file})
        set(complete FALSE)
      endif()
    endforeach()
    if(complete)
      message(STATUS "${name}: ${root}")
      set(BENCH_${name}_ROOT ${root} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(STATUS "no ${name}: its benchmarks are not built")
endfunction()

set(nvshmem_roots ${bench_wheels})
list(TRANSFORM nvshmem_roots APPEND /nvshmem)
bench_find_peer(NVSHMEM nvshmem.h "lib/libnvshmem_host.so.3;lib/libnvshmem_device.a" "${nvshmem_roots}")
if(BENCH_NVSHMEM_ROOT)
  foreach(program latency bandwidth barrier collectives in_kernel)
    bench_add_gpu_program(gpu_nvshmem_${program} nvshmem/${program}.cu
      ${BENCH_NVSHMEM_ROOT}/lib/libnvshmem_device.a ${BENCH_NVSHMEM_ROOT}/lib/libnvshmem_host.so.3)
    target_include_directories(gpu_nvshmem_${program} SYSTEM PRIVATE ${BENCH_NVSHMEM_ROOT}/include)
    # Its device code is a library, which is linked on the device too.
    set_target_properties(gpu_nvshmem_${program} PROPERTIES
      CUDA_SEPARABLE_COMPILATION ON CUDA_RESOLVE_DEVICE_SYMBOLS ON)
  endforeach()
endif()

set(nccl_roots ${bench_wheels})
list(TRANSFORM nccl_roots APPEND /nccl)
bench_find_peer(NCCL nccl.h lib/libnccl.so.2 "${nccl_roots};${HEDDLE_CUDA_HOME}")
if(BENCH_NCCL_ROOT)
  bench_add_gpu_program(gpu_nccl_collectives nccl/collectives.cu ${BENCH_NCCL_ROOT}/lib/libnccl.so.2)
  target_include_directories(gpu_nccl_collectives SYSTEM PRIVATE ${BENCH_NCCL_ROOT}/include)
endif()
