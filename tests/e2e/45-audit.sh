#!/bin/bash
# The record: who touches it is found, it is followed, exported and pruned.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"

db=$NACRE_STATE/gateway.db
# sql STATEMENTS: a strange hand on the database of a stopped gateway.
sql() { python3 -c 'import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.executescript(sys.argv[2]); d.commit()' "$db" "$1"; }
field() { nacre audit verify -o json "${@:2}" | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
# acts N: so many refusals, each a row.
acts() {
	local i
	for ((i = 0; i < $1; i++)); do nacre sandbox stop "nobody-$i" >/dev/null 2>&1; done
}
gateway_down() { nacre gateway stop >/dev/null; }
# struck TITLE WANTED STATEMENTS: found, and gone when it is put right.
keep() { cp "$db" "$work/kept.db"; }
struck() {
	gateway_down
	keep
	sql "$3"
	gateway_up
	run nacre audit verify
	is "$code" 1 "$1: the record is broken"
	like "$out" "$2" "and the row and what happened to it are named"
	gateway_down
	cp "$work/kept.db" "$db"
	gateway_up
	run nacre audit verify
	is "$code" 0 "and it is whole when put right"
}

printf 'parked: 0\nprewarm: false\n' >"$work/plain.yaml"
gateway_up() { nacre gateway start --config "$work/plain.yaml" >/dev/null || { cat "$NACRE_STATE/gateway.log" >&2; exit 1; }; }
printf 'audit_days: 0\naudit_mib: 2097152\n' >"$work/bad.yaml"
run nacre gateway start --config "$work/bad.yaml"
like "$out" "'audit_days' must be 1 to 36500.*'audit_mib' must be 1 to 1048576" "settings of retention have bounds"
gateway_up
acts 12
run nacre audit verify
is "$code" 0 "a record is whole"
like "$out" 'whole +rows 1 to 13' "from the first row to the last"
like "$out" 'the last \(start\) at row 1,' "signed when the gateway started"
pin=$(field pin)
like "$(nacre gateway status)" "audit key   $pin" "the key is shown, also by the status"
like "$(cat "$NACRE_STATE/gateway.log")" "audit checkpoint \(start\): row 1, head [0-9a-f]{64}, key $pin" "the checkpoint is in the log"
head=$(field head)
acts 3
run nacre audit verify --head "$head"
is "$code" 0 "a hash kept elsewhere is in the chain"
run nacre audit verify --key "$pin"
is "$code" 0 "the key's pin may be said"
run nacre audit verify --key "${pin//[0-9]/0}"
is "$code" 1 "another key signed nothing of it"
like "$out" "row 1 forged" "and its checkpoint counts as forged"
run nacre audit verify --head 12xy
is "$code" 2 "what is no hash is refused"
run nacre audit verify --head "${head//[0-9]/0}"
is "$code" 1 "a hash that no row has is missed"
like "$out" "row 18 cut" "as a tail that was cut"

struck "an edited row" "row 5 changed" "update audit set detail = 'nothing' where row = 5"
struck "an edited verdict" "row 5 changed" "update audit set verdict = 'ok' where row = 5"
struck "a removed row" "row 5 missing" "delete from audit where row = 5"
struck "a removed row, those behind it numbered anew" "row 5 missing" \
	"delete from audit where row = 5; update audit set row = -row where row > 5; update audit set row = -row - 1 where row < 0"
struck "an inserted row" "row 6 inserted" \
	"update audit set row = -row where row > 5; update audit set row = 1 - row where row < 0;
	insert into audit select 6, time_ms, caller, program, parent, root, 'forged', sandbox_id, sandbox, request_id, verdict, reason, detail, hash from audit where row = 5"
struck "a row before the first" "row 0 inserted" \
	"insert into audit select 0, time_ms, caller, program, parent, root, verb, sandbox_id, sandbox, request_id, verdict, reason, detail, hash from audit where row = 5"
struck "a forged checkpoint" "forged" "update checkpoints set hash = zeroblob(32) where seq = 1"

acts 6
gateway_down
keep
last=$(python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("select max(row) from audit").fetchone()[0])' "$db")
sql "delete from audit where row > $((last - 4))"
gateway_up
run nacre audit verify
is "$code" 1 "a cut tail is found by the checkpoint at the gateway's end"
like "$out" "row $((last - 2)) cut" "whatever was written behind it"
like "$(cat "$NACRE_STATE/gateway.log")" "the record is not as the last checkpoint left it" "and the gateway says so when it starts"
acts 6
run nacre audit verify
like "$out" "row $last rewritten" "rows that came in their place do not hide it"
gateway_down
cp "$work/kept.db" "$db"
gateway_up
head=$(field head)
gateway_down
sql "delete from audit where row > $last - 3; delete from checkpoints where row > $last - 3"
gateway_up
run nacre audit verify
is "$code" 0 "with the checkpoints cut too the chain alone looks whole"
run nacre audit verify --head "$head"
is "$code" 1 "but not against a hash kept elsewhere"
gateway_down
cp "$work/kept.db" "$db"
gateway_up

# a crash in the middle
acts 5
kill -9 "$(gateway_pid)"
timeout 20 tail --pid="$(gateway_pid)" -f /dev/null
gateway_up
run nacre audit verify
is "$code" 0 "after a crash the record is whole"
like "$out" "start" "and signed by the next gateway"

# follow
head_row() { nacre audit list --limit 1 -o json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["row"])'; }
# rows FILE: their numbers, in the order in which they came.
rows() { python3 -c 'import json, sys; print(*(json.loads(l)["row"] for l in open(sys.argv[1])))' "$1"; }
last_of() { rows "$1" | tr ' ' '\n' | tail -n 1; }
from=$(head_row)
timeout 120 nacre audit follow --after "$from" --json >"$work/all" &
all=$!
timeout 120 nacre audit follow --after "$from" --json --sandbox nobody-1 --verdict refused >"$work/some" &
some=$!
acts 3
until_is "$((from + 3))" last_of "$work/all"
ok $? "rows are told as they come"
gateway_down
gateway_up
acts 3
to=$(head_row)
until_is "$to" last_of "$work/all"
ok $? "a follower goes on with the next gateway"
is "$(rows "$work/all")" "$(seq -s ' ' $((from + 1)) "$to")" "none is missed and none comes twice"
like "$(cat "$work/all")" '"gateway.stop".*"gateway.start"' "the end and the start among them"
kill -9 "$(gateway_pid)"
timeout 20 tail --pid="$(gateway_pid)" -f /dev/null
gateway_up
acts 2
to=$(head_row)
until_is "$to" last_of "$work/all"
ok $? "also when the gateway was killed"
until_is 3 sh -c "wc -l <'$work/some'"
ok $? "a filtered follower sees what it asked for"
is "$(python3 -c 'import json, sys; print({json.loads(l)["sandbox"] for l in open(sys.argv[1])})' "$work/some")" "{'nobody-1'}" "and nothing else"
kill "$all" "$some"
wait "$all" "$some" 2>/dev/null

# filters and pages
count() { nacre audit list "$@" -o json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))'; }
is "$(count --limit 10000)" "$to" "a list holds nothing back"
is "$(count --limit 5)" 5 "nor gives more than was asked"
is "$(count --from-start --limit 10000 --verb gateway.stop --caller gateway)" "$(nacre audit export --json | grep -c '"kind":"stop"')" "rows can be asked by verb"
is "$(count --caller gateway --verdict refused)" 0 "and by caller and verdict"
is "$(count --since 2100-01-01T00:00:00Z)" 0 "and by time"
is "$(count --until 2100-01-01T00:00:00+02:00 --limit 10000)" "$to" "before and after"
run nacre audit list --since yesterday
is "$code" 2 "what is no time is refused"

# what is written of a command
nacre image import tiny "$(tiny_image)" >/dev/null
long=$(printf 'x%.0s' {1..3000})
run nacre sandbox create --name s --from tiny --env "WORD=secret-of-create" -- sh -c 'cat >/dev/null; sleep 1000'
run nacre sandbox exec s --env "KEY=secret-of-exec" -- echo secret-output "$long"
printf 'secret-content' >"$work/file"
run nacre sandbox cp "$work/file" s:/tmp/file
run nacre sandbox cp s:/tmp/file "$work/back"
is "$(cat "$work/back")" secret-content "a file goes in and out"
detail() { nacre audit list --verb "$1" -o json | python3 -c 'import json, sys; print(json.load(sys.stdin)[-1]["detail"])'; }
out=$(detail sandbox.exec)
like "$out" "echo secret-output xxx.*; env KEY" "the command of an exec is in its row, and the names of its environment"
ok $((${#out} > 1024 + 64)) "cut at 1 KiB"
out=$(detail sandbox.create)
like "$out" "command sh -c .*; env WORD" "so are those of a create"
like "$(detail sandbox.put)" "/tmp/file" "a put names its path"
like "$(detail sandbox.get_files)" "/tmp/file" "so does a get"
is "$(nacre audit export --json | grep -c 'secret-of\|secret-content')" 0 "no value, no content is in the record"
nacre sandbox delete s >/dev/null

# export
nacre audit export --json >"$work/export"
out=$("$top/tests/lib/audit_chain.py" "$pin" <"$work/export")
like "$out" "^whole 1 $(head_row) [0-9]+ $(field head)$" "an export is verified by another hand"
sed '9s/nobody/somebody/' "$work/export" >"$work/edited"
like "$("$top/tests/lib/audit_chain.py" "$pin" <"$work/edited")" "row [0-9]+ does not fit" "which finds an edited line"
sed 's/"bytes":\([0-9]\)/"bytes":1\1/' "$work/export" >"$work/edited"
like "$("$top/tests/lib/audit_chain.py" "$pin" <"$work/edited")" "is not signed by the key" "and an edited checkpoint"

# requests without identity
url=$(nacre gateway status -o json | python3 -c 'import json, sys; print(json.load(sys.stdin)["mcp"])')
before=$(head_row)
# bad VERSION: one whose token is nobody's.
bad() { curl -s -o /dev/null -w '%{http_code} ' "$1" -H 'Authorization: Bearer nobody' -X POST "$url"; }
is "$(for _ in 1 2 3 4 5; do bad --http1.1; bad --http2-prior-knowledge; done)" "$(printf '401 %.0s' {1..10})" "a bad token is refused, over either HTTP"
gateway_down
gateway_up
run nacre audit list --after "$before" --verb call.counted -o json
is "$(printf '%s' "$out" | python3 -c 'import json, sys; r = json.load(sys.stdin); print({(x["caller"], x["reason"]) for x in r}, sum(int(x["detail"].split()[0]) for x in r))')" \
	"{('127.0.0.1', 'UNAUTHENTICATED')} 10" "and counted"
if [ "$(id -u)" = 0 ]; then
	chmod 711 "$work" "$NACRE_STATE"
	chmod 777 "$NACRE_STATE/gateway.sock"
	cp "$NACRE_BIN/nacre" "$work/nacre"
	before=$(head_row)
	for _ in 1 2 3 4 5; do run setpriv --reuid=12345 --clear-groups "$work/nacre" audit list --state "$NACRE_STATE"; done
	is "$code" 1 "a stranger is refused"
	gateway_down
	gateway_up
	run nacre audit list --after "$before" --verb call.counted -o json
	is "$(printf '%s' "$out" | python3 -c 'import json, sys; print(*((r["caller"], r["reason"], r["detail"][:10]) for r in json.load(sys.stdin)))')" \
		"('uid:12345', 'UNAUTHENTICATED', '5 requests')" "and counted in one row"
fi

# what a token may not do is paid for as all calls are
token=$(nacre token create agent 2>/dev/null | tail -n 1)
url=$(nacre gateway status -o json | python3 -c 'import json, sys; print(json.load(sys.stdin)["mcp"])')
before=$(head_row)
out=$(curl -s -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -H 'Accept: application/json' \
	-H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: revoke_grant' \
	-d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name":"revoke_grant","arguments":{"sandbox":"lead"}}}' "$url?[1-1000]")
like "$out" 'NOT_ALLOWED.*RATE_LIMITED' "calls beyond a token's scope are limited"
gateway_down
gateway_up
rows=$(($(head_row) - before))
ok $((rows > 700)) "and are not a row each"
run nacre audit list --after "$before" --verb call.counted -o json
is "$(printf '%s' "$out" | python3 -c 'import json, sys; print(*{r["reason"] for r in json.load(sys.stdin)})')" "RATE_LIMITED" "but counted"

# retention
gateway_down
"$top/tests/lib/audit_fill.py" "$db" 6000 300
printf 'parked: 0\nprewarm: false\naudit_mib: 1\naudit_days: 36500\n' >"$work/plain.yaml"
gateway_up
until_is 1 count --verb audit.prune
ok $? "a record that is over its size is pruned"
first=$(field first)
ok $((first < 3000)) "the oldest rows are gone"
run nacre audit verify
is "$code" 0 "and what is left is whole"
like "$out" "rows $first to" "from the first that is there"
like "$("$top/tests/lib/audit_chain.py" "$pin" < <(nacre audit export --json))" "^whole $first " "its export too"
is "$(nacre audit list --from-start --limit 1 -o json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["row"])')" "$first" "the list begins there"
struck "a row that was pruned and comes back" "row 7 inserted" \
	"insert into audit select 7, time_ms, caller, program, parent, root, verb, sandbox_id, sandbox, request_id, verdict, reason, detail, hash from audit order by row desc limit 1"
first=$(field first)
struck "the next oldest row removed" "row $first missing" "delete from audit where row = $first"
gateway_down
printf 'parked: 0\nprewarm: false\naudit_days: 1\n' >"$work/plain.yaml"
gateway_up
first_is_late() { [ "$(field first)" -gt $((last - 60)) ] && echo yes; }
last=$(head_row)
until_is yes first_is_late
ok $? "rows that are too old are pruned"
run nacre audit verify
is "$code" 0 "and the chain goes on"
