#!/bin/bash
# What an import makes of an image, held against umoci; what it refuses, and
# that nothing is left of that. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
image=$NACRE_BIN/nacre-image
store=$work/store
py() { python3 "$top/tests/lib/images.py" "$@"; }
import() { "$image" import --store "$store" "$@"; }
# Last line of an import, without what varies.
answer() { tail -n 1 | tr -d '\n'; }
digest_of() { sed -n 's/.*"digest":"\([0-9a-f]*\)".*/\1/p' "$store/names/$1.json"; }
blob_of() { echo "$store/blobs/$(digest_of "$1").sqfs"; }
list_ours() { sqfs2tar -r . "$(blob_of "$1")" | py list-tar -; }
left() { find "$store" -type f 2>/dev/null | wc -l; }

# --- the oracle
py oci-all "$work/cases"
for name in $(py cases); do
	case=$work/cases/$name
	if [ "$name" = sparse-gnu ]; then # umoci does not read these
		mkdir "$case.root"
		py rootfs "$name" "$case.tar"
		tar -C "$case.root" -xpf "$case.tar"
	else
		umoci raw unpack --image "$case:latest" "$case.root" >"$work/umoci.log" 2>&1 ||
			sed 's/^/# umoci: /' "$work/umoci.log"
	fi
	import --name case "$case" >"$work/out" || sed 's/^/# /' "$work/out"
	sqfs2tar -r . "$(blob_of case)" >"$case.ours"
done
py list-all "$work/cases"
for name in $(py cases); do
	is "$(cat "$work/cases/$name.got")" "$(cat "$work/cases/$name.want")" "$name: the same tree as umoci's"
done
rm -rf "$work/cases" "$store"

# --- every form of an image gives the same blob
for name in whiteout-then-again hard-link-outlives-target many-layers odd-names; do
	py oci "$name" "$work/oci"
	py oci "$name" "$work/oci.gzip" gzip
	py oci "$name" "$work/oci.zstd" zstd
	py docker "$name" "$work/docker.tar"
	tar -C "$work/oci" -cf "$work/oci.tar" .
	gzip -k "$work/docker.tar"
	zstd -q "$work/oci.tar"
	digests=
	for form in oci oci.gzip oci.zstd docker.tar docker.tar.gz oci.tar oci.tar.zst; do
		import --name form "$work/$form" >"$work/out" || sed 's/^/# /' "$work/out"
		digests="$digests$(digest_of form)"$'\n'
	done
	is "$(sort -u <<<"$digests" | grep -c .)" 1 "$name: seven forms of it are one blob"
	rm -rf "$work"/oci* "$work"/docker* "$store"
done
py rootfs plain "$work/root.tar"
mkdir "$work/root"
tar -C "$work/root" -xpf "$work/root.tar" --numeric-owner --same-owner 2>/dev/null
import --name tar "$work/root.tar" >/dev/null
import --name folder "$work/root" >/dev/null
is "$(list_ours folder)" "$(list_ours tar)" "a folder gives the tree of its archive"
import --name again "$work/root" >/dev/null
is "$(digest_of again)" "$(digest_of folder)" "and the same blob twice"

# --- what is known of an image
py oci plain "$work/oci"
import --name meta "$work/oci" >/dev/null
is "$(sed 's/.*"env"/"env"/; s/,"created".*//' "$store/names/meta.json")" \
	'"env":["PATH=/usr/bin:/bin","A=b"],"entrypoint":["/usr/bin/sh"],"cmd":["-c","true"],"user":"agent:staff","workdir":"/etc"' \
	"how the image wants to be run is kept"
sum=$(printf '#!/bin/x\n' | sha256sum | cut -d' ' -f1)
is "$(cat "$store/blobs/$(digest_of meta).idx")" "nacre-index 1 2 1
l /bin /usr/bin
l /lib usr/lib
x /usr/bin/sh $sum" "the index has its symlinks and programs"
is "$(stat -c %a "$(blob_of meta)")" 400 "a blob is read-only"
is "$(sha256sum <"$(blob_of meta)" | cut -d' ' -f1)" "$(digest_of meta)" "and named by its digest"
is "$(head -c 4 "$(blob_of meta)")" hsqs "it is a squashfs"
is "$(od -An -tu4 -j12 -N4 "$(blob_of meta)" | tr -d ' ') $(od -An -tu2 -j20 -N2 "$(blob_of meta)" | tr -d ' ')" \
	"131072 5" "of 128 KiB blocks, in lz4"
rm -rf "$work/oci" "$work/root" "$store"

# --- a folder with all kinds of things in it
mkdir -p "$work/kinds/sub"
mkfifo "$work/kinds/fifo"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$work/kinds/socket"
echo hello >"$work/kinds/sub/one"
ln "$work/kinds/sub/one" "$work/kinds/two"
ln -s /etc/passwd "$work/kinds/out"
run import --name kinds "$work/kinds"
is "$code" 0 "a folder with a fifo and a socket is imported"
is "$(list_ours kinds | cut -d' ' -f1,2 | tr '\n' ' ')" '"/" dir "/fifo" fifo "/out" sym "/sub" dir "/sub/one" file "/two" file ' \
	"the socket is left out, and no link is followed"
like "$out" '"devices_dropped":1' "which the answer says"
rm -rf "$store"

# --- what is refused: name, exit code, sentence
mkdir -p "$store"
refused() {
	local name=$1 want=$2 says=$3
	run import --name bad "$work/hostile/$name"
	out=$(answer <<<"$out")
	if [ "$code" = "$want" ] && [[ $out =~ $says ]] && [ "$(left)" = 0 ]; then
		ok 0 "$name: $want, $says; nothing is left"
	else
		ok 1 "$name: $want, $says; nothing is left"
		echo "#   got $code, $(left) files: $out"
	fi
}
seen=
py hostile-all "$work/hostile"
while read -r name code_wanted says; do
	refused "$name" "$code_wanted" "$says"
	seen="$seen$name"$'\n'
done <<'TABLE'
empty 2 tar is truncated: it ends at byte 0
text 2 this is no tar archive
truncated-header 2 tar is truncated: it ends at byte 2148
truncated-content 2 tar is truncated: it ends at byte 3000
no-end-mark 2 tar is truncated: it ends at byte 4096
bad-checksum 2 bad checksum of the tar header at byte 1536
dot-dot 2 entry '../evil': path has a '..' component
dot-dot-inside 2 entry 'a/../../evil': path has a '..' component
dot-dot-hard-link 2 entry 'b': hard link: path has a '..' component
hard-link-missing 2 entry 'b': hard link to a name that does not exist
hard-link-to-folder 2 entry 'b': hard link to a folder
hard-link-to-itself 2 entry 'b': hard link to a name that does not exist
under-a-file 2 entry 'a/b': a parent of the path is not a folder
link-loop 2 entry 'a/x': path goes through more than 255 links
link-growth 2 entry 'a/x': path is too long once its links are followed
root-is-a-link 2 entry './': the root must be a folder
name-too-long 2 name is longer than 255 bytes
path-too-long 2 path is longer than 4095 bytes
target-too-long 2 link target is empty or longer than 4095 bytes
empty-target 2 link target is empty or longer than 4095 bytes
unknown-type 2 unknown type 0x51 in the tar header at byte 0
size-of-all-bits 2 bad number in the size of the tar header at byte 0
size-of-2-to-62 1 content is over the limit of 17179869184 bytes
size-not-octal 2 bad number in the size of the tar header at byte 0
long-name-of-1-gib 1 extended tar header at byte 0 is too long
pax-without-entry 2 tar ends after an extended header at byte 512
pax-bad-record 2 bad extended tar header at byte 0
pax-zero-record 2 bad extended tar header at byte 0
pax-nul-in-path 2 a name holds a NUL byte
sparse-10-gb 1 entry 'holes': sparse files have holes of more than 4294967296 bytes
sparse-2-to-62 1 entry 'holes': content is over the limit of 17179869184 bytes
sparse-backwards 2 bad sparse map of the tar entry at byte 0
sparse-overlaps 2 bad sparse map of the tar entry at byte 0
sparse-lacks-data 2 sparse map and size differ in the tar entry at byte 0
sparse-past-its-end 2 bad sparse map of the tar entry at byte 0
million-entries 1 more than 1000000 entries
far-links 1 too many links and programs: their index is over 8388608 bytes
far-programs 1 too many links and programs: their index is over 8388608 bytes
far-names-of-one 1 too many links and programs: their index is over 8388608 bytes
short-links 1 too many links and programs: their index is over 8388608 bytes
padded-links 1 entry 'l0/[0-9]*': all paths together go through too many folders and links
crowded-folder 1 folders hold too many names each
zeros-behind-its-end 1 archive goes on for more than 16777216 bytes after its end mark
xz 1 xz is not taken: unpack it with 'xz -d' first
gzip-truncated 2 'gzip' failed: .*unexpected end of file
gzip-of-text 2 this is no tar archive
gzip-damaged 2 'gzip' failed: .*invalid compressed data
TABLE
is "$(ls "$work/hostile")" "$(sort <<<"${seen%$'\n'}")" "no hostile archive is left out"
rm -rf "$work/hostile"

layout() {
	local name=$1 want=$2 says=$3
	shift 3
	rm -rf "$work/layout" "$store"
	py variant "$name" "$work/layout"
	run import --name layout "$@" "$work/layout"
	is "$code" "$want" "$name${1:+ $*}: exit $want"
	like "$(answer <<<"$out")" "$says" "$name${1:+ $*}: $says"
}
layout damaged-layer 2 'layer 1: content is not that of sha256:'
layout missing-layer 2 "the folder lacks 'blobs/sha256/"
layout damaged-config 2 'has not the digest it is named by'
layout digest-is-a-path 2 'a digest is not of the form sha256:HEX'
layout index-is-no-json 2 "'index.json': "
layout other-machine 2 'the layout has no image for linux/amd64'
layout two-images 2 'holds several images: name one of them with --ref'
layout two-images 0 '"source":"oci"' --ref other
layout two-images 2 'the layout has no image third' --ref third
layout attestation 0 '"source":"oci"'
rm -rf "$store" "$work/layout"

# --- limits and failures of the host
run import --name x "$work/nothing"
is "$code $(left)" "4 0" "a path that does not exist is not found"
run import --name Bad_Name "$work/root.tar"
is "$code $(left)" "2 0" "a name out of range is invalid"
run import --name a-name-that-is-too-long "$work/root.tar"
is "$code $(left)" "2 0" "also one that is too long"
run import --name x --max-bytes 10 "$work/root.tar"
is "$code $(left)" "1 0" "content over --max-bytes is refused"
PATH=/nowhere run "$image" import --store "$store" --name x "$work/root.tar"
is "$code $(left)" "125 0" "without tar2sqfs nothing can be imported"
like "$out" "install squashfs-tools-ng" "and what to install is said"
py many 100000 "$work/many.tar"
run import --name many "$work/many.tar"
is "$code" 0 "100000 entries are imported"
is "$(rdsquashfs -d "$(blob_of many)" | wc -l)" 100100 "all of them"
rm -rf "$store"

py gigabyte "$work/gigabyte.tar"
memory=$(py peak "$image" import --store "$store" --name gigabyte "$work/gigabyte.tar")
is "$?" 0 "an archive of 1 GiB is imported"
ok $((memory > 32 * 1024)) "in $memory KiB of memory: at most 32 MiB"
rm -rf "$store"
"$image" import --store "$store" --name killed "$work/gigabyte.tar" >"$work/out" &
until grep -q '"phase":"write"' "$work/out"; do sleep 0.02; done
helper=$(cat "/proc/$!/task/$!/children")
kill -9 $!
wait $! 2>/dev/null
is "$(left)" 0 "an import that is killed leaves no file"
for _ in $(seq 100); do
	alive=
	for p in $helper; do [ ! -d "/proc/$p" ] || grep -q '^State:.Z' "/proc/$p/status" 2>/dev/null || alive=1; done
	[ -n "$alive" ] || break
	sleep 0.02
done
is "$alive" "" "and no helper"
rm -f "$work/gigabyte.tar"

map=
[ "$(id -u)" = 0 ] || map=-r
head -c 20000000 /dev/urandom >"$work/random"
tar -C "$work" -cf "$work/random.tar" random
mkdir "$work/small"
out=$(unshare $map -m bash -c 'mount -t tmpfs -o size=8m none "$1/small" && "$2" import --store "$1/small" --name x "$1/random.tar"
	echo "code $?"; find "$1/small" -type f | wc -l; df --output=used "$1/small" | tail -n 1' - "$work" "$image" | tail -n 4)
like "$out" "No space left on device" "a full disk is told"
like "$out" "code 125"$'\n'"0"$'\n *0' "and given back"
