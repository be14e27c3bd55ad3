#!/bin/bash
# The gateway itself: its settings, its files, what survives its end.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"

# One that hangs, while the rest goes on: asked to stop, it is given up.
mkdir "$work/hung"
printf 'parked: 0\nprewarm: false\n' >"$work/hung/settings"
NACRE_STATE=$work/hung/state nacre gateway start --config "$work/hung/settings" >/dev/null
hung=$(cat "$work/hung/state/gateway.pid")
kill -STOP "$hung"
NACRE_STATE=$work/hung/state timeout 90 nacre gateway stop >"$work/hung/said" 2>&1 &
stopping=$!

printf 'parkd: 1\ntoken_life_s: 5\n' >"$work/bad.yaml"
run nacre gateway start --config "$work/bad.yaml"
ok $((! code)) "a settings file with faults is refused"
like "$out" "1:1: unknown key 'parkd'" "with the place of an unknown key"
like "$out" "2:15: 'token_life_s' must be 60 to 3600" "and of a value out of range"

printf 'memory_reserve_mib: 16777216\nparked: 0\n' >"$work/poor.yaml"
run nacre gateway start --config "$work/poor.yaml"
is "$code" 0 "settings are taken"
nacre image import tiny "$(tiny_image)" >/dev/null
run nacre sandbox create --name x --from tiny
is "$code" 75 "no memory on the host: try again later"
like "$out" host_memory "and says so"
is "$(nacre sandbox list)" "no sandboxes" "and leaves nothing"
nacre gateway stop >/dev/null

# Machines that never come up: eight hang, and who comes after them waits.
mkdir "$work/hung"
cp "$NACRE_BIN"/* "$work/hung/"
printf '#!/bin/sh\nexec sleep 100000\n' >"$work/hung/nacre-keeper"
printf 'prewarm: false\nparked: 0\n' >"$work/hung.yaml"
"$work/hung/nacre" gateway start --config "$work/hung.yaml" >/dev/null
ask() { nacre mcp call create_sandbox '{"from":"tiny","command":["true"],"wait_ms":0}'; }
for _ in $(seq 48); do ask; done >"$work/asked"
is "$(grep -c '"state":"' "$work/asked")" 48 "48 creates of roots are taken at once"
run ask
is "$code" 75 "one more is told to try again later"
like "$out" '"code":"BUSY".*"retry_after_ms":[1-9]' "it is BUSY, and when"
run nacre sandbox create --name x --from tiny
is "$code" 75 "so is one by the command"
like "$out" "too many starts wait" "which says why"
states() { nacre mcp call list_sandboxes '{}' | grep -o '"state":"[a-z]*"' | sort | uniq -c | tr -s ' \n' ' '; }
is "$(states)" ' 40 "state":"reserved" 8 "state":"starting" ' "eight start, the others wait, and nobody else is there"
nacre sandbox delete "$(nacre sandbox list -o json | grep -o '"name":"[^"]*"' | tail -n 1 | cut -d'"' -f4)" >/dev/null
run ask
is "$code" 0 "where one that waited is deleted, one is taken"
nacre gateway stop --sandboxes >/dev/null

gateway_up
is "$(stat -c %a "$NACRE_STATE")" 700 "the state folder is the user's alone"
is "$(stat -c %a "$NACRE_STATE"/*.key | sort -u)" 600 "so are the keys"
is "$(stat -c %s "$NACRE_STATE"/*.key | sort -u)" 32 "which hold 32 bytes each"
is "$(awk '/^Max core/ { print $5 $6 }' "/proc/$(gateway_pid)/limits")" 00 "the gateway leaves no core"
is "$(awk -v inode="$(stat -c %i "$NACRE_STATE/gateway.lock")" '$6 ~ ":" inode "$" { print $2, $5 }' /proc/locks)" \
	"POSIX $(gateway_pid)" "the lock of the state folder is its own, not its children's"
run timeout 20 nacre-gateway --state "$NACRE_STATE"
like "$code $out" "^1 .*another gateway runs on the state folder" "a second one ends, and says why"
sum=$(cat "$NACRE_STATE"/*.key | sha256sum)

# a second life
nacre sandbox create --name s --from tiny -- sh -c 'n=0; while :; do n=$((n+1)); echo "line $n"; sleep 0.1; done' >/dev/null
first=$(nacre sandbox exec s -- cat /proc/1/stat | cut -d' ' -f22)
pid=$(gateway_pid)
nacre gateway stop >/dev/null
gateway_up
ok $(($(gateway_pid) == pid)) "another gateway"
is "$(cat "$NACRE_STATE"/*.key | sha256sum)" "$sum" "has the same keys"
began() { nacre sandbox exec s -- cat /proc/1/stat | cut -d' ' -f22; }
until_is "$first" began
ok $? "and the same sandbox, which ran on"
# Lines come on, none twice, none lost.
timeout 20 nacre sandbox logs s -f >"$work/lines" 2>/dev/null &
follower=$!
until [ "$(wc -l <"$work/lines")" -ge 30 ]; do :; done
kill "$follower"
wait "$follower" 2>/dev/null
is "$(head -n 30 "$work/lines")" "$(seq -f 'line %.0f' 1 30)" "its output is whole over both lives"
pid=$(gateway_pid)
kill -9 "$pid"
timeout 20 tail --pid="$pid" -f /dev/null
# A child of the dead one, not yet at its exec, may still hold its socket.
rm "$NACRE_STATE/gateway.sock"
coproc held { exec python3 -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print(flush=True); sys.stdin.read()' "$NACRE_STATE/gateway.sock"; }
read -r _ <&"${held[0]}"
run nacre gateway start
is "$code" 0 "a gateway starts where a dead one's socket still looks alive"
kill "$held_PID"
wait "$held_PID" 2>/dev/null
until_is "$first" began
nacre sandbox logs s -n 2000 >"$work/all"
is "$(cat "$work/all")" "$(seq -f 'line %.0f' 1 "$(wc -l <"$work/all")")" "also when the gateway is killed"

# the record
run nacre audit list --limit 3
is "$(printf '%s\n' "$out" | wc -l)" 4 "audit list shows the last rows"
like "$out" sandbox.exec "the newest among them"
run nacre audit list --sandbox s --verb sandbox.create -o json
is "$(printf '%s' "$out" | python3 -c 'import json,sys; r=json.load(sys.stdin); print(len(r), r[0]["verdict"], len(r[0]["hash"]))')" "1 ok 64" "and can be asked by sandbox and verb"
nacre sandbox delete s >/dev/null
nacre gateway stop >/dev/null
# The chain as src/audit/PROTOCOL.md has it, by another hand.
is "$(python3 - "$NACRE_STATE/gateway.db" <<'P'
import hashlib, sqlite3, sys
before, rows = bytes(32), 0
for r in sqlite3.connect(sys.argv[1]).execute("select * from audit order by row"):
    texts = [t.encode() for t in r[2:13]]
    fields = [b"nacre.audit.1", before, r[0].to_bytes(8, "big"), r[1].to_bytes(8, "big")] + texts
    before = hashlib.sha256(b"".join(len(f).to_bytes(8, "big") + f for f in fields)).digest()
    rows += 1
    assert before == r[13] and r[0] == rows, r
print("whole" if rows > 10 else rows)
P
)" whole "the chain of the record holds, row by row"

# An import that has much to tell comes to its end.
mkdir "$work/bin"
cp "$NACRE_BIN/nacre" "$NACRE_BIN/nacre-gateway" "$NACRE_BIN/nacre-keeper" "$work/bin"
cat >"$work/bin/nacre-image" <<I
#!/bin/sh
awk 'BEGIN { p = "x"; while (length(p) < 4096) p = p p; for (i = 0; i < 6000; i++) printf "{\\"phase\\":\\"%s\\",\\"bytes\\":%d}\\n", p, i }'
exec "$NACRE_BIN/nacre-image" "\$@"
I
chmod +x "$work/bin/nacre-image"
"$work/bin/nacre" gateway start >/dev/null
run timeout 60 nacre image import talks "$work/tiny" -o json
is "$code" 0 "an import that tells 24 MiB of progress ends well"
ok $((! $(nacre image list | grep -c '^talks'))) "and its image is there"
nacre image delete talks >/dev/null
nacre gateway stop >/dev/null

# A keeper is the process behind its socket, whatever number it gives.
protoc -I"$top/proto" --python_out="$work" "$top/proto/nacre_keeper.proto"
mkfifo "$work/said"
lie() { # ID PID [SANDBOX]: what it says comes on descriptor 8
	timeout 90 /usr/bin/python3 "$top/tests/e2e/liar.py" "$work" "$NACRE_STATE/keepers/$1.sock" "${@:2}" >"$work/said" &
	exec 8<"$work/said"
	read -r word <&8
	is "$word" up "somebody else listens on a keeper's socket"
}
# hears WORD TIMES: until it has said so.
hears() {
	local n=0
	while [ $n -lt "$2" ] && read -r -t 60 word <&8; do
		[ "$word" = "$1" ] && n=$((n + 1))
	done
	[ $n -eq "$2" ]
}
sleep 1000 &
victim=$!
lie 0a1b2c3d-0000-4000-8000-00000000beef $victim
gateway_up
hears left 1
ok $? "the gateway leaves it"
kill -0 $victim 2>/dev/null
ok $? "and does not kill whom it names"
kill $victim

# A tunnel that fails is tried for ever, ever later.
nacre sandbox create --name t --from tiny -- sleep 1000 >/dev/null
keeper=$(get t keeper_pid)
machine=$(tr '\0' '\n' <"/proc/$keeper/cmdline" | grep -A1 -x -- --id | tail -n 1)
id=$(get t id)
kill -9 "$(gateway_pid)"
kill -9 "$keeper"
timeout 20 tail --pid="$keeper" -f /dev/null
rm -f "$NACRE_STATE/keepers/$machine.sock"
lie "$machine" 0 "$id"
gateway_up
hears tunnel 10
ok $? "a tunnel that failed nine times is opened again"
exec 8<&-

wait "$stopping"
is "$?" 125 "a gateway that hangs is given up by who wants to stop it"
like "$(tail -n 1 "$work/hung/said")" 'did not speak in 30000 ms' "which says why"
kill -KILL "$hung"
timeout 20 tail --pid="$hung" -f /dev/null
