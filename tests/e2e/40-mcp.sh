#!/bin/bash
# MCP of a running gateway, from the host and from inside a sandbox: its
# socket, 127.0.0.1 with a token, the door. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/tap.sh"
socket=$NACRE_STATE/gateway.sock
mcp() { nacre gateway status -o json | python3 -c 'import json,sys; print(json.loads(sys.stdin.read())["mcp"])'; }
# Lines are "ok<TAB>title": one test each.
tell() { # NAME
	local result title came=1
	while IFS=$'\t' read -r result title; do
		case $result in
		ok) ok 0 "$1: $title" ;;
		'not ok') ok 1 "$1: $title" ;;
		'#') printf '#   %s\n' "$title" ;;
		end) came=0 ;;
		*) printf '#   %s\n' "$result" ;;
		esac
	done
	ok $came "$1: the client came to its end"
}
gateway_up
root=$(tiny_image)
cp "$NACRE_BIN/nacre" "$root/bin/nacre"
cp "$NACRE_BIN/../e2e/ask" "$root/bin/ask"
nacre image import tiny "$root" >/dev/null
cat >"$work/policy.yaml" <<'END'
version: 1
filesystem_policy: {include_workdir: true, read_only: [/bin, /etc, /proc], read_write: [/tmp]}
landlock: {compatibility: best_effort}
END
nacre sandbox create --name lead --from tiny --policy "$work/policy.yaml" --quiet -- sleep 100000 >/dev/null
is "$(get lead state)" running "a sandbox runs"

# --- tokens
run nacre token create agent --expires 1h
token=$(tail -n 1 <<<"$out")
like "$token" '^nacre_[A-Za-z0-9_-]{43}$' "a token is shown when it is made"
like "$out" 'sandbox:read sandbox:write policy:read grant:read;' "and may do all but set grants"
run nacre token create agent
is "$code" 1 "a name is given once"
run nacre token create bad --scope grant:all
is "$code" 2 "an unknown scope is invalid"
run nacre token create manager --scope grant:read --scope grant:write
manager=$(tail -n 1 <<<"$out")
run nacre token list
like "$out" 'agent +uid:.*manager' "both are listed"
[[ $out == *nacre_* ]]
ok $((! $?)) "without their secrets"
grep -rqF "$token" "$NACRE_STATE"
ok $((! $?)) "which are nowhere in the state folder"

# --- on the host
url=$(mcp)
port=${url##*:} port=${port%%/*}
like "$url" '^http://127.0.0.1:[0-9]+/mcp$' "the status says where it is"
tell socket < <(/usr/bin/python3 "$top/tests/lib/mcp_http.py" "$socket" 2>&1)
tell port < <(/usr/bin/python3 "$top/tests/lib/mcp_http.py" "$port" "$token" 2>&1)
run nacre mcp call get_policy '{"id":"lead"}'
is "$code" 0 "mcp call prints a result"
hash=$(python3 -c 'import json,sys; print(json.loads(sys.argv[1])["policy_hash"])' "$out")
run nacre mcp call get_policy '{"id":"nobody"}'
is "$code" 4 "what is not found ends with 4"
like "$out" '"code":"NOT_FOUND".*"hint":"[^"]' "and is one JSON object with a hint"
run nacre mcp call create_sandbox '{"wait_ms":-1}'
is "$code" 2 "a bad argument ends with 2"
like "$out" '"field":"wait_ms"' "and names its field"
run nacre mcp call nope
is "$code" 2 "so does an unknown tool"
run nacre mcp call get_policy '[]'
is "$code" 2 "and arguments that are no object"
run nacre mcp call create_grant '{"sandbox":"nobody","max_depth":0,"max_breadth":1,"max_total":1,"programs":["/bin/nacre"]}'
[[ $out == *'"why":"scope"'* ]]
ok $((! $?)) "a user may set grants by the socket"

# --- peers of others
if command -v node >/dev/null; then
	npm=$(bash "$top/tests/tools/mcp-peers.sh" fetch 2>/dev/null)
	if [ -d "$npm/node_modules" ]; then
		for mode in v1 legacy auto pin; do
			TOKEN=$token tap "official SDK, $mode" node "$top/tests/e2e/mcp/gateway.mjs" "$url" "$npm" $mode lead
		done
	else
		echo "# the official SDKs cannot be fetched: $npm"
	fi
fi

# --- from inside
inside() { run nacre sandbox exec lead -- "$@"; }
# The same, again while others outside of the grant have used up the rate.
outside() {
	local end=$((SECONDS + 20))
	inside "$@"
	while [[ $out == *RATE_LIMITED* && $SECONDS -lt $end ]]; do inside "$@"; done
}
door=127.0.0.80
meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
# request FILE METHOD PARAMS HEADERS: a raw request, into the sandbox.
request() {
	local body='{"jsonrpc":"2.0","id":1,"method":"'$2'","params":{'$3$meta'}}'
	printf 'POST /mcp HTTP/1.1\r\nHost: openshell.local\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: %s\r\n%bContent-Length: %d\r\nConnection: close\r\n\r\n%s' \
		"$2" "$4" ${#body} "$body" >"$work/$1"
	nacre sandbox cp "$work/$1" "lead:/tmp/$1" >/dev/null
}
request list tools/list '' ''
inside ask $door 80 /tmp/list
like "$out" 'HTTP/1.1 200 OK.*"name":"create_sandbox"' "inside, tools are listed without a grant"
[[ $out == *'"name":"create_grant"'* ]]
ok $((! $?)) "those of a sandbox, not those of a user"
outside nacre mcp call get_grant
is "$code" 1 "a call needs a grant"
like "$out" '"code":"NOT_ALLOWED".*"why":"no_grant"' "and says so"
run nacre audit list
like "$out" 'sandbox:[0-9a-f-]+ .*grant.get .*refused +NOT_ALLOWED' "which is recorded, with the sandbox it came from"

run nacre mcp call create_grant '{"sandbox":"lead","max_depth":1,"max_breadth":2,"max_total":3,"programs":["/bin/nacre"]}'
is "$code" 0 "the user sets a grant"
inside nacre mcp call get_sandbox
like "$out" '"name":"lead".*"state":"running"' "the sandbox sees itself"
inside nacre mcp call get_policy
like "$out" "\"policy_hash\":\"$hash\"" "and its own policy"
inside nacre mcp call get_policy '{"id":"lead"}'
is "$code" 2 "which takes no name there"
inside nacre mcp call check_policy '{"policy":{"version":1,"filesystem_policy":{"read_write":["/etc"]}}}'
like "$out" '"allowed":false.*"code":"POLICY_EXCEEDS_PARENT".*"counterexample"' "a wider policy is shown its counterexample"
tell cancel < <(/usr/bin/python3 "$top/tests/lib/mcp_http.py" "$socket" '' cancel 2>&1)
of_name() { nacre sandbox list | grep -c "^$1-"; }
until_is 0 of_name gone
ok $? "a client that leaves cancels its create"
is "$(of_name seen)" 1 "others stay"
nacre mcp call delete_sandbox '{"id":"lead/seen"}' >/dev/null
is "$(nacre mcp call get_grant '{"sandbox":"lead"}' | python3 -c 'import json,sys; print(json.load(sys.stdin)["grant"]["total"]["used"])')" 1 "which gives its place back"
inside nacre mcp call create_sandbox '{"name":"box","kind":"tool","request_id":"one"}'
like "$out" '"name":"box","kind":"tool","state":"running"' "it opens a tool child"
id=$(python3 -c 'import json,sys; print(json.loads(sys.argv[1])["sandbox"]["id"])' "$out")
inside nacre mcp call create_sandbox '{"name":"box","kind":"tool","request_id":"one"}'
like "$out" "\"id\":\"$id\"" "the same request_id gives the same child"
inside nacre mcp call exec '{"id":"box","argv":["sh","-c","echo hi; exit 7"]}'
is "$code" 7 "exec hands the command's code through"
like "$out" '"exit_code":7,"stdout":"hi\\n"' "and its output"
inside nacre mcp call get_file '{"id":"box","path":"/etc/passwd","limit":4}'
like "$out" '"encoding":"utf-8","data":"root"' "it reads a file of its child"
inside nacre mcp call create_sandbox '{"kind":"tool","policy":{"version":1,"filesystem_policy":{"read_write":["/etc"]}}}'
is "$code" 1 "a wider child is refused"
like "$out" '"code":"POLICY_EXCEEDS_PARENT".*"hint":"[^"].*"counterexample"' "with counterexample and hint"
inside nacre mcp call create_grant '{"sandbox":"lead","max_depth":9,"max_breadth":9,"max_total":9,"programs":["/bin/sh"]}'
like "$out" '"code":"NOT_ALLOWED".*"why":"scope"' "an operation of users is not for sandboxes"
run nacre audit list --verb grant.create
like "$out" 'sandbox:[0-9a-f-]+ .*grant.create .*refused +NOT_ALLOWED' "and the attempt is recorded"
inside nacre mcp call get_sandbox '{"id":"other"}'
is "$code" 4 "other sandboxes are not found"

# --- not the granted program
request get tools/call '"name":"get_sandbox","arguments":{},' 'Mcp-Name: get_sandbox\r\n'
outside ask $door 80 /tmp/get
like "$out" 'NOT_ALLOWED.*why.*program.*/bin/ask' "another program is refused, and told which it is"
outside sh -c 'cp /bin/nacre /tmp/nacre && /tmp/nacre mcp call get_sandbox'
like "$out" '"why":"program"' "so is a copy of the granted one"
outside sh -c 'cp /bin/nacre /tmp/gone && exec /tmp/gone mcp call get_sandbox'
like "$out" '"why":"program"' "whatever its name"
request forge tools/call '"name":"revoke_grant","arguments":{"sandbox":"lead"},' "Mcp-Name: revoke_grant\r\nAuthorization: Bearer $manager\r\nX-Nacre-Program: /bin/nacre\r\nX-Forwarded-For: 127.0.0.1\r\n"
outside ask $door 80 /tmp/forge
like "$out" 'isError":true' "a stolen token and forged headers give nothing"
run nacre mcp call get_grant '{"sandbox":"lead"}'
like "$out" '"state":"live"' "and the grant lives"

# --- MCP only
printf 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' >"$work/h2"
printf 'POST /nacre.v1.Nacre/ListAudit HTTP/1.1\r\nHost: openshell.local\r\nContent-Type: application/grpc\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' >"$work/grpc"
printf 'POST /mcp HTTP/1.1\r\nHost: openshell.local\r\nContent-Type: application/grpc+proto\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' >"$work/grpc2"
for name in h2 grpc grpc2; do nacre sandbox cp "$work/$name" lead:/tmp/$name >/dev/null; done
inside ask $door 80 /tmp/h2
is "$out" "" "HTTP/2 is closed on"
inside ask $door 80 /tmp/grpc
like "$out" 'HTTP/1.1 404' "other paths are not there"
inside ask $door 80 /tmp/grpc2
like "$out" 'HTTP/1.1 415' "gRPC is told so"
inside ask $door 443 /tmp/h2
[ "$code" -ne 0 ]
ok $? "and no other port is open"

# --- sessions of the first era
by_socket() { curl -s --unix-socket "$socket" -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' "$@" http://localhost/mcp; }
session() { by_socket -o /dev/null -D - -d '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}' | tr -d '\r' | sed -n 's/^mcp-session-id: //Ip'; }
pings() { by_socket -o /dev/null -w '%{http_code}' -H "mcp-session-id: $1" -d '{"jsonrpc":"2.0","id":1,"method":"ping"}'; }
lives=$(session) ended=$(session)
is "$(by_socket -o /dev/null -w '%{http_code}' -H "mcp-session-id: $ended" -X DELETE)" 204 "a session is ended"
is "$(pings "$lives") $(pings "$ended")" "200 404" "and another is not"

# --- a stream to HTTP/1.0, which has no chunks: the end is the connection's
waiting() { echo '"id":"'"$1"'","argv":["sh","-c","until [ -e /tmp/'"$2"' ]; do sleep 0.1; done; echo went"]'; }
go() { nacre mcp call exec '{"id":"lead/box","argv":["touch","/tmp/'"$1"'"]}' >/dev/null; }
first() { head -n 1 "$1" | tr -d '\r'; }
by_socket -0 -N --raw -D "$work/old.head" -o "$work/old" -H "mcp-session-id: $lives" -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":{'"$(waiting lead/box one)"'}}}' &
old=$!
until_is 'HTTP/1.1 200 OK' first "$work/old.head"
go one
wait $old
like "$? $(tr -d '\r' <"$work/old.head")" '^0 .*text/event-stream.*Connection: close' "a stream to HTTP/1.0 ends with its connection"
[[ $(cat "$work/old.head" "$work/old") =~ [Cc]hunked|$'\n'0$'\r' ]]
ok $((! $?)) "and has no chunks"
is "$(sed -n 's/^data: //p' "$work/old" | tail -n 1 | python3 -c 'import json,sys; print(json.load(sys.stdin)["result"]["structuredContent"]["stdout"])')" went "but is whole"
nacre mcp call update_grant '{"sandbox":"lead","programs":["/bin/nacre","/bin/ask"]}' >/dev/null
request old tools/call '"name":"exec","arguments":{'"$(waiting box two)"'},' 'Mcp-Name: exec\r\nAccept: application/json, text/event-stream\r\n'
sed -i 's,HTTP/1.1,HTTP/1.0,' "$work/old"
nacre sandbox cp "$work/old" lead:/tmp/old >/dev/null
nacre sandbox exec lead -- ask $door 80 /tmp/old >"$work/door" &
old=$!
until_is 'HTTP/1.1 200 OK' first "$work/door"
go two
wait $old
like "$? $(tr -d '\r' <"$work/door")" '^0 .*text/event-stream.*Connection: close.*data: .*"stdout":"went' "so does one from the door"
[[ $(cat "$work/door") =~ [Cc]hunked|$'\n'0$'\r' ]]
ok $((! $?)) "without chunks too"

# --- the gateway goes and comes
pid=$(gateway_pid)
kill -9 "$pid"
tail --pid="$pid" -f /dev/null
gateway_up
is "$(mcp)" "$url" "the port is the same after a restart"
is "$(pings "$lives") $(pings "$ended")" "200 404" "the session that lived lives, the one that ended does not"
inside nacre mcp call get_sandbox '{"id":"box"}'
like "$out" '"state":"running"' "the door works again after a crash of the gateway"
inside nacre mcp call delete_sandbox '{"id":"box"}'
like "$out" "\"deleted\":\\[\"$id\"" "and deletes the child"
# An agent that calls again and again, while the gateway is gone for a moment.
nacre sandbox exec lead -- sh -c '(while :; do nacre mcp call get_sandbox; done >/tmp/told 2>&1 &)'
for _ in 1 2 3 4 5; do
	nacre gateway stop >/dev/null
	gateway_up
	inside grep -c 'the gateway cannot be reached now' /tmp/told
	[ "$code" -ne 0 ] || break
done
is "$code" 0 "while the gateway is stopped the door says so at once"
inside sh -c ': >/tmp/told; until grep -q "\"state\":\"running\"" /tmp/told; do :; done'
is "$code" 0 "and answers again when it is back"
nacre gateway stop >/dev/null
run curl -s -o /dev/null -w '%{http_code}' "$url"
is "$out" 000 "nothing listens when the gateway has stopped"
echo 'mcp: off' >"$work/off.yaml"
nacre gateway start --config "$work/off.yaml" >/dev/null
is "$(mcp)" off "mcp: off says so"
run curl -s --unix-socket "$socket" -H 'content-type: application/json' -d '{}' http://localhost/mcp
is "$out" '{"error":"mcp_disabled"}' "and is 404 with mcp_disabled on the host"
inside ask $door 80 /tmp/list
like "$out" 'HTTP/1.1 404.*mcp_disabled' "and at the door"
nacre gateway stop >/dev/null
gateway_up
run nacre token revoke agent
is "$code" 0 "a token is revoked"
run curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" -H 'content-type: application/json' -d '{}' "$url"
is "$out" 401 "and is good for nothing"
[ -n "$hash" ]
ok $? "the policy has a hash"
