#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# install_test.sh BUILD: installs heddle from BUILD into a folder of its own, moves it, and builds and runs
# a project of somebody else's against it, by find_package and by pkg-config.
set -euo pipefail
build=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

cmake --install "$build" --prefix "$room/first" >/dev/null
mv "$room/first" "$room/heddle"
library=$(dirname "$(find "$room/heddle" -name libheddle.so)")

check() {  # check TEXT COMMAND...: the command prints TEXT
  local expected=$1 printed
  shift
  printed=$("$@")
  [ "$printed" = "$expected" ] || { echo "$*: printed '$printed', not '$expected'"; exit 1; }
  echo "ok: $(basename "$1")"
}

cmake -G Ninja -S "$here/outside" -B "$room/build" -DCMAKE_PREFIX_PATH="$room/heddle" >/dev/null
cmake --build "$room/build" >/dev/null
check "outside_cpp: 21" "$room/build/outside_cpp"
check "outside_c: 7" "$room/build/outside_c"

if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$library/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
  export LD_LIBRARY_PATH=$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  read -ra flags <<<"$(pkg-config --cflags --libs heddle)"
  "${CXX:-c++}" -std=c++20 ${CXXFLAGS:-} "$here/outside/outside.cpp" -o "$room/by_pkg_config" "${flags[@]}" -pthread
  check "outside_cpp: 21" "$room/by_pkg_config"
fi
if [ -e "$room/heddle/bin/heddle-run" ]; then
  check "$(printf 'PE 0 of 1 was sent 100\n')" "$room/heddle/bin/heddle-run" -n 1 -- "$build/bin/hello"
fi

# What the library shows to others is its C API and nothing else.
others=$(nm -D --defined-only "$library/libheddle.so" | awk '$2 ~ /[TDBVW]/ && $3 !~ /^heddle_/ {print $3}')
[ -z "$others" ] || { echo "libheddle.so exports $others"; exit 1; }
echo "ok: exports"
