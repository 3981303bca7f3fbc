#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# unpack_packages.sh FOLDER PACKAGE...: for who may not install packages. Fetches Debian or Ubuntu packages, with
# what they depend on and the system lacks, unpacks them into FOLDER and writes FOLDER/environment, which makes
# compilers, CMake and programs find them there. The system is left as it is.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
shift
touch "$folder/packages"
known=" $(tr '\n' ' ' <"$folder/packages") " wanted=()
for package in "$@"; do [[ $known == *" $package "* ]] || wanted+=("$package"); done
[ ${#wanted[@]} -gt 0 ] || exit 0

# apt with lists and archives of its own, beside the system's knowledge of what is installed. The lists stay, for ./dev to
# look into.
state=$folder/apt
mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
apt=(apt-get -qq -o Dir::State="$state" -o Dir::State::status=/var/lib/dpkg/status -o Dir::Cache="$state/cache"
  -o Debug::NoLocking=1 -o APT::Sandbox::User=)
"${apt[@]}" update
"${apt[@]}" install -y --download-only --no-install-recommends "${wanted[@]}" >/dev/null
# The C library's headers come after all others, those of C++ included, hence from a folder of their own.
for archive in "$state"/cache/archives/*.deb; do
  case $(basename "$archive") in
    libc6-dev_* | linux-libc-dev_* | libcrypt-dev_*) dpkg -x "$archive" "$folder/libc" ;;
    *) dpkg -x "$archive" "$folder" ;;
  esac
done
rm -rf "$state/cache"

# Debian's paths begin at /: point them into the folder. What is not text is relative already, and there may be nothing
# to do. What an earlier run has pointed there stays as it is, where the folder lies in /usr too.
once="\|=$folder/|!"
find "$folder" -name '*.pc' -exec sed -i "${once}s|=/usr|=$folder/usr|" {} +
{ grep -rslI --include='*.mpich' '^prefix=/usr' "$folder/usr/bin" || true; } |
  xargs -r sed -i "${once}s|^\([a-z_]*\)=/usr|\1=$folder/usr|"
{ find "$folder" -type f -name '*.so' -size -4k -exec grep -lI '^GROUP\|^INPUT\|^OUTPUT_FORMAT' {} + || true; } |
  while read -r script; do
    for path in $(tr -s '() \t' '\n' <"$script" | grep '^/usr/lib/'); do
      for root in "$folder" "$folder/libc"; do
        [ -e "$path" ] || [ ! -e "$root$path" ] ||
          sed -i "s#\(^\|[[:blank:](]\)$path\([[:blank:])]\|\$\)#\1$root$path\2#" "$script"
      done
    done
  done
find "$folder" -type l -lname '/*' | while read -r link; do
  target=$(readlink "$link")
  [ -e "$target" ] || [ ! -e "$folder$target" ] || ln -sfn "$folder$target" "$link"
done

# Names that packages leave to ldconfig and the alternatives system.
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || echo "$(uname -m)-linux-gnu")
libraries=$folder/usr/lib/$triplet
for more in $(find "$folder" -path '*/lib/*' -name 'lib*.so*' -printf '%h\n' | sort -u); do
  /sbin/ldconfig -n "$more"
  libraries+=:$more
done
[ ! -e "$folder/usr/bin/g++" ] || ln -sf g++ "$folder/usr/bin/c++"
cat >"$folder/environment" <<TEXT
export PATH="$folder/usr/bin:$folder/usr/sbin:\$PATH"
export LD_LIBRARY_PATH="$libraries\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
export LIBRARY_PATH="$libraries\${LIBRARY_PATH:+:\$LIBRARY_PATH}"
export CPATH="$folder/usr/include:$folder/usr/include/$triplet\${CPATH:+:\$CPATH}"
after="-idirafter $folder/libc/usr/include -idirafter $folder/libc/usr/include/$triplet"
export CFLAGS="\$after \${CFLAGS:-}" CXXFLAGS="\$after \${CXXFLAGS:-}"
export PKG_CONFIG_PATH="$folder/usr/lib/$triplet/pkgconfig:$folder/usr/share/pkgconfig"
export CMAKE_PREFIX_PATH="$folder/usr"
TEXT
[ ! -d "$folder/usr/lib/$triplet/openmpi" ] || echo "export OPAL_PREFIX=\"$folder/usr\"" >>"$folder/environment"
[ ! -d "$folder/usr/lib/$triplet/pmix2" ] || echo "export PMIX_PREFIX=\"$folder/usr/lib/$triplet/pmix2\"" >>"$folder/environment"
printf '%s\n' "${wanted[@]}" >>"$folder/packages"
