# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0

# What heddle is built from.
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)

option(HEDDLE_HEADER_ONLY "Take fmt and spdlog as headers alone, and need no shared library of theirs" OFF)
if(HEDDLE_HEADER_ONLY)
  # Distributions' spdlog::spdlog_header_only links fmt's shared library.
  add_library(heddle_fmt ALIAS fmt::fmt-header-only)
  add_library(heddle_spdlog INTERFACE)
  target_include_directories(heddle_spdlog SYSTEM INTERFACE
    $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(heddle_spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
else()
  add_library(heddle_fmt ALIAS fmt::fmt)
  add_library(heddle_spdlog ALIAS spdlog::spdlog)
endif()

# Libraries that heddle does without: HEDDLE_HAVE_<NAME> tells whether one was found and is wanted.
find_package(PkgConfig)
macro(heddle_find_optional name module loss)
  option(HEDDLE_${name} "Use ${module} where it is found" ON)
  set(HEDDLE_HAVE_${name} OFF)
  if(HEDDLE_${name} AND PKG_CONFIG_FOUND)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module})
    set(HEDDLE_HAVE_${name} ${${name}_FOUND})
  endif()
  if(HEDDLE_HAVE_${name})
    message(STATUS "${module}: ${${name}_VERSION}")
  else()
    message(STATUS "no ${module}: ${loss}")
  endif()
endmacro()
heddle_find_optional(PMIX pmix "the jobs of PMIx launchers cannot be joined, and heddle-run is not built")
heddle_find_optional(HWLOC hwloc "heddle-info knows no topology but NVLink, and heddle-run is not built")
heddle_find_optional(LIBFABRIC libfabric "heddle-info shows no networks")
heddle_find_optional(VERBS libibverbs "heddle has no InfiniBand and RoCE of its own")
