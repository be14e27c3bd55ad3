#!/bin/bash
# Imports as the gateway runs them: they end with who asked for them, and what
# nothing means any more is not kept. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
py() { python3 "$top/tests/lib/images.py" "$@"; }
imports() { grep -lz "^$NACRE_STATE/images$" /proc/[0-9]*/cmdline 2>/dev/null | xargs -r grep -lz 'nacre-image$' 2>/dev/null | wc -l; }
files() { find "$NACRE_STATE/images" -type f | wc -l; }
# hold, let_go: no import can be published meanwhile.
hold() { exec {lock}<"$NACRE_STATE/images" && flock "$lock"; }
let_go() { flock -u "$lock" && exec {lock}<&-; }
gateway_up
mkdir -p "$work/one/etc" "$work/two/etc"
echo one >"$work/one/etc/content"
echo two >"$work/two/etc/content"

# --- an import ends with its caller, and with the gateway
hold
nacre image import left "$work/one" >/dev/null 2>&1 &
until_is 1 imports
ok $? "an import waits for the store"
kill -9 $!
wait $! 2>/dev/null
until_is 0 imports
ok $? "it ends when its caller goes away"
nacre image import orphan "$work/one" >/dev/null 2>&1 &
until_is 1 imports
ok $? "another waits"
nacre gateway stop >/dev/null
until_is 0 imports
ok $? "it ends with the gateway"
wait $! 2>/dev/null
let_go
is "$(files)" 0 "nothing is left of both"
gateway_up
is "$(nacre image list | tail -n +2)" "" "nor is there an image"
run nacre image import left "$work/one"
is "$code" 0 "their names are free"

# --- a list is never too long for an answer
docker() { python3 - "$work" "$@" <<'P'
import hashlib, io, json, sys, tarfile
work, name, member, size = sys.argv[1:]
layer = bytes(1024)
config = {"architecture": "amd64", "os": "linux", "config": {member: {"a": "x" * int(size)} if member == "Labels" else ["x" * int(size)]},
          "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}
with tarfile.open(f"{work}/{name}.tar", "w") as t:
    for path, data in {"c.json": json.dumps(config).encode(), "l.tar": layer,
                       "manifest.json": json.dumps([{"Config": "c.json", "RepoTags": None, "Layers": ["l.tar"]}]).encode()}.items():
        info = tarfile.TarInfo(path)
        info.size = len(data)
        t.addfile(info, io.BytesIO(data))
P
}
names() { nacre image list -o json | python3 -c 'import json,sys; print(" ".join(i["name"] for i in json.load(sys.stdin)))'; }
docker huge Cmd 1200000
run nacre image import huge "$work/huge.tar"
is "$code" 1 "a command of 1.2 MB is refused"
like "$out" "'Entrypoint' and 'Cmd' are over 262144 bytes" "by what is too long"
docker long Cmd 260000
for n in 1 2 3 4 5; do nacre image import "long-$n" "$work/long.tar" >/dev/null || echo "# long-$n"; done
is "$(names)" "left long-1 long-2 long-3 long-4 long-5" "images whose commands fill more than a message are listed"
is "$(nacre image list | wc -l)" 7 "also as a table"
is "$(nacre image list -o json | python3 -c 'import json,sys; print([len("".join(i["cmd"])) for i in json.load(sys.stdin)])')" \
	"[0, 260000, 260000, 260000, 260000, 260000]" "with their commands"
python3 -c 'import json,sys; p=sys.argv[1]; d=json.load(open(p)); d["cmd"]=["x"*1200000]; open(p,"w").write(json.dumps(d))' "$NACRE_STATE/images/names/long-3.json"
is "$(names)" "left long-1 long-2 long-3 long-4 long-5" "one of an older store is listed without its command"

# --- what cannot be deleted now is deleted later
hold
run nacre image delete long-1
is "$code" 75 "while an import is published a deletion is put off"
like "$out" "image 'long-1' goes later: an import is being published" "and says so"
let_go
until_is "left long-2 long-3 long-4 long-5" names
ok $? "it goes after that"
nacre gateway stop >/dev/null

map=
[ "$(id -u)" = 0 ] || map=-r
# Names are on a mount of their own, which can become read-only.
unshare $map -m bash -c 'mount --bind "$1" "$1" && nacre gateway start' - "$NACRE_STATE/images/names" >/dev/null
inside() { nsenter -t "$(gateway_pid)" ${map:+-U --preserve-credentials} -m "$@"; }
inside mount -o remount,bind,ro "$NACRE_STATE/images/names"
run nacre image delete long-2
is "$code" 125 "a deletion that fails is told"
like "$out" "image 'long-2' goes later: cannot delete image 'long-2': Read-only file system" "with what the host says"
is "$(names)" "left long-2 long-3 long-4 long-5" "and the image is there"
nacre image delete long-4 >/dev/null 2>&1
inside mount -o remount,bind,rw "$NACRE_STATE/images/names"
nacre image import --replace long-4 "$work/long.tar" >/dev/null
is $? 0 "meanwhile another is imported again"
until_is "left long-3 long-4 long-5" names
ok $? "it is tried again, and leaves that one alone"
nacre gateway stop >/dev/null
gateway_up

# --- what a replaced image was
blobs() { find "$NACRE_STATE/images/blobs" -name '*.sqfs' | wc -l; }
nacre image import tiny "$(tiny_image)" >/dev/null
before=$(blobs)
for n in 1 2 3; do
	echo $n >"$work/one/etc/content"
	nacre image import --replace left "$work/one" >/dev/null
done
until_is "$before" blobs
is $? 0 "a replaced image leaves no blob"
nacre sandbox create --name uses --from tiny --memory 64 -- sleep 1000 >/dev/null
echo more >"$work/tiny/etc/content"
nacre image import --replace tiny "$work/tiny" >/dev/null
nacre image import --replace left "$work/two" >/dev/null
until_is $((before + 1)) blobs
is $? 0 "that of a sandbox stays"
is "$(nacre sandbox exec uses -- cat /etc/content 2>/dev/null)" "" "with what it was"
nacre sandbox delete uses >/dev/null
until_is "$before" blobs
is $? 0 "until the sandbox is deleted"

# --- two imports of one name
hold
for n in one two; do
	(
		nacre image import both "$work/$n" >"$work/both-$n" 2>&1
		echo $? >"$work/code-$n"
	) &
done
until_is 2 imports
ok $? "two imports of one new name run"
let_go
wait
is "$(sort "$work"/code-*)" $'0\n1' "one of them gets it"
like "$(cat "$work"/both-*)" "image 'both' already exists" "the other is told"
is "$(names | tr ' ' '\n' | grep -c '^both$')" 1 "and there is one image"
