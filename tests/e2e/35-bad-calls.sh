#!/bin/bash
# Bad input to the operations of grants and children: tests/data/bad/calls by
# MCP, at the door, by gRPC and by the command. Each has its code and names what
# is wrong; none is charged, none leaves anything.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
gateway_up
root=$(tiny_image)
cp "$NACRE_BIN/nacre" "$root/bin/nacre"
nacre image import tiny "$root" >/dev/null
cd "$work" || exit 1
printf 'version: 1\n#%s\n' "$(head -c 307200 /dev/zero | tr '\0' a)" >large.yaml
mkdir py
protoc -I "$top/proto" --python_out=py "$top"/proto/openshell_*.proto "$top/proto/nacre_v1.proto"
# tree NAME: a root with a grant.
tree() {
	nacre sandbox create --quiet --name "$1" --from tiny --memory 64 -- sleep 100000 >/dev/null 2>&1
	nacre grant create "$1" --max-depth 2 --max-breadth 16 --max-total 100 --program /bin/nacre >/dev/null
}
below() { nacre sandbox children lead -o json | python3 -c 'import json,sys
for c in json.load(sys.stdin):
    if c["name"] == sys.argv[1]: print(c[sys.argv[2]])' "$1" "$2"; }

tree lead
tree revoked
nacre grant revoke revoked >/dev/null
nacre sandbox create --quiet --name bare --from tiny --memory 64 -- sleep 100000 >/dev/null 2>&1
nacre sandbox create --quiet --parent lead --name worker -- sh -c 'cd /tmp; mkdir folder; mkfifo fifo
	ln -s /proc/self/environ magic; ln -s ../../../../../etc/passwd out
	ln -s /../../../build gone; truncate -s 1G big; touch done; sleep 100000' >/dev/null
nacre sandbox create --quiet --parent lead --name ended -- true >/dev/null
nacre sandbox create --quiet --parent lead --name box --kind tool --idle 86400 >/dev/null
until_is ended below ended state
ok $? "a tree to try it on"
there() { nacre mcp call get_file '{"id":"lead/worker","path":"/tmp/done"}' >/dev/null && echo yes; }
until_is yes there

facts() { nacre sandbox children lead -o json; nacre sandbox children bare -o json; nacre grant list -o json; }
facts >before
came=1
while IFS=$'\t' read -r kind title; do
	case $kind in
	ok) ok 0 "$title" ;;
	'not ok') ok 1 "$title" ;;
	end) came=0 ;;
	*) printf '# %s %s\n' "${kind#\#}" "$title" >&2 ;;
	esac
done < <(PYTHONPATH=py timeout 1200 /usr/bin/python3 "$top/tests/lib/bad_calls.py" "$top/tests/data/bad/calls" \
	"$NACRE_STATE/gateway.sock" WORKER="$(below worker id)" ENDED="$(below ended id)" \
	YESTERDAY="$(date -u -d yesterday +%Y-%m-%dT%H:%M:%SZ)" 2>&1)
ok $came "all of them were tried"
facts | cmp before -
ok $? "no child came, nothing was charged, no grant is another"

# --- input that stays open
mkfifo open
exec {held}<>open
run_open() { out=$(timeout 60 "$@" <&"$held" 2>&1); code=$?; }
run_open nacre sandbox exec lead -- true
is "$code" 0 "an exec ends though its input does not"
run_open nacre sandbox exec --timeout 1 lead -- cat
is "$code" 124 "one that waits for it is killed at its time"
exec {held}>&-
nacre sandbox exec lead -- yes 2>/dev/null | head -c 1000000 | wc -c >flood
is "$(cat flood)" 1000000 "an output flood ends with its reader"
run nacre sandbox exec lead -- echo well
is "$out" well "and nothing is worse for it"

# --- more input than the stream holds, for a program that does not come to take
# it: the answer is the end of it, and nothing stays behind.
large_exec() { python3 "$top/tests/lib/large_exec.py" "$NACRE_STATE/gateway.sock" lead/box "$@"; }
for ((i = 0; i < 70; i++)); do large_exec /no/such/program; done | sort | uniq -c >large
is "$(sed 's/ *//' large)" "70 127" "70 execs of no program, each with more input than its stream holds"
is "$(large_exec sh -c 'exec <&-; sleep 1; exit 3')" 3 "and one whose program closes its input"
is "$(large_exec sh -c 'exit $(($(wc -c) / 10000))')" 50 "another takes it all"
run timeout 60 nacre sandbox delete lead/box
is "$code" 0 "the tool goes"
run nacre sandbox exec lead -- echo well
is "$out" well "and the gateway is well"
