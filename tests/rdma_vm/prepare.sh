#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The heddle developers
# SPDX-License-Identifier: Apache-2.0
#
# prepare.sh FOLDER: makes in FOLDER what rdma_vm.sh boots (kernel, initrd, version), out of the distribution's kernel
# and busybox, which are downloaded and unpacked, never installed. Debian 12, Ubuntu 22.04 and 24.04. Where that cannot
# be done, says why and ends with 77.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(realpath -m "$1")
modules=(virtio_pci virtio_console 9pnet_virtio 9p overlay crc32_generic crc32c_generic ib_uverbs rdma_rxe veth)
# For libfabric; for lossy links.
optional=(rdma_ucm sch_netem)

give_up() { echo "rdma_vm: $*" >&2; exit 77; }

for program in apt-get apt-cache dpkg-deb gzip; do
  command -v $program >/dev/null || give_up "no $program here to fetch a kernel with"
done
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/packages" "$work/root" "$work/initrd"

# The name of the kernel behind a distribution's package for "the newest one".
newest() { apt-cache depends "$1" 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1; }

architecture=$(dpkg --print-architecture)
[ "$architecture" = amd64 ] || give_up "only amd64 is booted, this is $architecture"
image=$(newest linux-image-amd64)
packages=("$image" busybox-static)
if [ -z "$image" ]; then
  image=$(newest linux-image-generic)
  [ -n "$image" ] || give_up "no linux-image-amd64 or linux-image-generic in apt's lists (apt-get update?)"
  packages=("$image" "linux-modules-${image#linux-image-}" "linux-modules-extra-${image#linux-image-}" busybox-static)
fi
version=${image#linux-image-}
(cd "$work/packages" && apt-get -q download "${packages[@]}") >"$work/log" 2>&1 ||
  give_up "cannot download ${packages[*]}: $(tail -1 "$work/log")"
for package in "$work"/packages/*.deb; do dpkg-deb -x "$package" "$work/root"; done

# busybox is in /bin or, where that is a link, in /usr/bin; modules likewise.
busybox=$(find "$work/root" -path '*bin/busybox' | head -1)
kernel_modules=$(find "$work/root" -type d -path "*lib/modules/$version" | head -1)
[ "$kernel_modules" = "$work/root/lib/modules/$version" ] || ln -s usr/lib "$work/root/lib"
find "$kernel_modules" -name '*.ko.zst' -exec zstd -q -d --rm {} + 2>/dev/null || give_up "the modules need zstd"
find "$kernel_modules" -name '*.ko.xz' -exec xz -d {} + || give_up "the modules need xz"
"$busybox" depmod -b "$work/root" "$version"

# modules.dep: "path: what it needs, the last of which is to be loaded first"; a module built into the kernel is not in it.
mkdir -p "$work"/initrd/{bin,dev,proc,sys,modules,lower,upper,host}
for module in "${modules[@]}" "${optional[@]}"; do
  line=$(grep -E "(^|/)${module//[-_]/[-_]}\.ko:" "$kernel_modules/modules.dep") || {
    [[ " ${optional[*]} " = *" $module "* ]] ||
      grep -qE "/${module//[-_]/[-_]}\.ko" "$kernel_modules/modules.builtin" || give_up "kernel $version has no $module"
    continue
  }
  for path in $(tr ' ' '\n' <<<"${line#*:}" | tac) "${line%%:*}"; do
    name=$(basename "$path")
    [ -e "$work/initrd/modules/$name" ] && continue
    cp "$kernel_modules/$path" "$work/initrd/modules/$name"
    echo "$name" >>"$work/initrd/modules/order"
  done
done
cp "$busybox" "$work/initrd/bin/busybox"
cp "$here/guest_init.sh" "$work/initrd/init"
chmod 755 "$work/initrd/init"
(cd "$work/initrd" && find . | "$busybox" cpio -o -H newc) 2>/dev/null | gzip -1 >"$work/initrd.gz"

# An emulated processor unpacks a kernel slowly: where it is packed with xz (Debian), it is booted unpacked.
kernel=$work/root/boot/vmlinuz-$version
packed_at=$(LC_ALL=C grep -obUaP '\xfd7zXZ\x00' "$kernel" | head -1 | cut -d: -f1 || true)
if [ -n "$packed_at" ] && command -v xz >/dev/null; then
  tail -c +$((packed_at + 1)) "$kernel" | xz -dc --single-stream >"$work/kernel" 2>/dev/null || true
fi
[ "$(head -c 4 "$work/kernel" 2>/dev/null)" = $'\x7fELF' ] || cp "$kernel" "$work/kernel"

mkdir -p "$folder"
mv "$work/kernel" "$work/initrd.gz" "$folder"
echo "$version" >"$folder/version"
