#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# carry_packages.sh FOLDER PACKAGE...: for a machine that reaches no package archive. Unpacks development packages of this
# Debian or Ubuntu, whatever is installed here, into FOLDER, which may then be taken anywhere; FOLDER/environment makes
# compilers and CMake find them. Headers and static libraries alone: a program that is built with them needs no shared
# library of theirs, so that the other machine may have another distribution, of no older a C library.
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
rm -rf "${folder:?}"/*

state=$folder/apt
mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
apt=(-qq -o Dir::State="$state" -o Dir::State::status=/var/lib/dpkg/status -o Dir::Cache="$state/cache"
  -o Debug::NoLocking=1 -o APT::Sandbox::User=)
apt-get "${apt[@]}" update
# fmt's and spdlog's files for CMake look for their shared libraries, whose packages are named after their versions.
libraries=$(apt-cache "${apt[@]}" depends --important "$@" | sed -n 's/^ *Depends: \(lib\(fmt\|spdlog\)[0-9.]*\(t64\)\?\)$/\1/p' | sort -u)
# shellcheck disable=SC2086
(cd "$state" && apt-get "${apt[@]}" download "$@" $libraries)
for archive in "$state"/*.deb; do dpkg -x "$archive" "$folder"; done
rm -rf "$state" "$folder/usr/share"/{doc,doc-base,man,lintian}
find "$folder" \( -name 'libssl*' -o -name 'libcrypto.so*' -o -name '*.pc' \) -delete
find "$folder" -type d -empty -delete

triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || echo "$(uname -m)-linux-gnu")
cat >"$folder/environment" <<TEXT
carried=\$(cd "\$(dirname "\${BASH_SOURCE[0]}")" && pwd)
export CPATH="\$carried/usr/include:\$carried/usr/include/$triplet\${CPATH:+:\$CPATH}"
export CMAKE_PREFIX_PATH="\$carried/usr\${CMAKE_PREFIX_PATH:+:\$CMAKE_PREFIX_PATH}"
TEXT
printf '%s\n' "$@" >"$folder/packages"
