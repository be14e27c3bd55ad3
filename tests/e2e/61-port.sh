#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The channel itself, without HTTP/2: 100 000 small writes both ways in a clone
# and in a cold boot, and a host that stops reading.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
bin=$(cd "${NACRE_BIN:-$top/build/release/bin}" && pwd)
guest=$(cd "${NACRE_GUEST:-$top/build/release/guest}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$bin/../e2e/raw" "$work/nacre-guest"
"$bin/../../tools/mkcpio" "$top/initramfs/files" "$work" >"$work/initramfs.cpio"
"$bin/../e2e/port" --cache "$work/cache" --kernel "$guest/vmlinux" --initramfs "$work/initramfs.cpio" --guest "$work/nacre-guest" \
	${NACRE_VMM:+--vmm "$NACRE_VMM"}
