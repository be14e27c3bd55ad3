# For tests of the guest alone, in a real VM, against guest_host (the keeper's
# end of the port and the least gateway). Behind e2e.sh. SPDX: Apache-2.0
# shellcheck shell=bash
host=$NACRE_BIN/../e2e/guest_host
tsc=$(awk -F: '/cpu MHz/ { printf "%d", $2 * 1000; exit }' /proc/cpuinfo)
root=$(tiny_image)
chmod 755 "$root"
# pack: the image is what $root holds now.
pack() {
	tar -C "$root" --owner=0 --group=0 -cf "$work/root.tar" .
	rm -f "$work/image.sqfs"
	tar2sqfs -q -c lz4 "$work/image.sqfs" <"$work/root.tar"
}
pack
blank() { rm -f "$1" && truncate -s "${2:-64M}" "$1" && mke2fs -q -t ext4 -E lazy_itable_init=1,lazy_journal_init=1 "$1"; }
initramfs=$NACRE_GUEST/initramfs.cpio
# guest [DISK [MEMORY]] <script: $out is what the guest said, $log the rest
guest() {
	out=$(timeout 300 "$host" "$NACRE_GUEST/vmlinux" "$initramfs" "$work/image.sqfs" "${1:-$work/disk}" "${2:-192}" "$tsc" 2>"$work/log")
	sed 's/^/# /' "$work/log" | grep '^# #' || :
}
# of ID: what one stream gave
of() { grep -E "^(out|err|exited|done|entry|refused) $1 " <<<"$out" | sed -E "s/ $1 / /"; }
