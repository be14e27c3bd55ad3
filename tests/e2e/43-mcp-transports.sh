#!/bin/bash
# MCP over every transport: the matrix over HTTP/1.1 and HTTP/2, on the socket
# and on the port, and through the door of a sandbox; then what is HTTP/2's own.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/tap.sh"
if ! command -v node >/dev/null; then
	echo '1..0 # SKIP node is missing: apt-get install nodejs'
	trap - EXIT
	rm -rf "$work"
	exit 0
fi
socket=$NACRE_STATE/gateway.sock
gateway_up
root=$(tiny_image)
cp "$NACRE_BIN/../e2e/relay" "$root/bin/relay"
nacre image import tiny "$root" >/dev/null
cat >"$work/policy.yaml" <<'END'
version: 1
filesystem_policy: {include_workdir: true, read_only: [/bin, /etc, /proc], read_write: [/tmp]}
landlock: {compatibility: best_effort}
END
nacre sandbox create --name lead --from tiny --policy "$work/policy.yaml" --quiet -- sleep 100000 >/dev/null
is "$(get lead state)" running "a sandbox runs"
nacre grant create lead --max-depth 1 --max-breadth 8 --max-total 8 --program /bin/relay >/dev/null
ok $? "with a grant"
url=$(nacre gateway status -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["mcp"])')
token=$(nacre token create matrix --expires 1h | tail -n 1)

matrix=$top/tests/e2e/mcp/matrix.mjs
tap "matrix, socket, HTTP/1.1" node "$matrix" "$url" --socket "$socket"
tap "matrix, socket, HTTP/2" node "$matrix" "$url" --socket "$socket" --http2
tap "matrix, port, HTTP/1.1" node "$matrix" "$url" "$token"
tap "matrix, port, HTTP/2" node "$matrix" "$url" "$token" --http2
tap "matrix, door, HTTP/1.1" node "$matrix" http://openshell.local/mcp --relay nacre sandbox exec lead -- relay 127.0.0.80 80

each port node "$top/tests/e2e/mcp/h2.mjs" "$url" "$token"
each socket node "$top/tests/e2e/mcp/h2.mjs" "$url" --socket "$socket"
of_name() { nacre sandbox list | grep -c "^$1-"; }
until_is 0 of_name gone
ok $? "what was cancelled is gone"
is "$(of_name stays)" 1 "a create of the first era outlives its stream"
is "$(of_name seen2)" 1 "and so does one that was answered"
is "$(nacre grant get lead -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["grant"]["total"]["used"])')" 2 "those two have a place in the grant"
kill -0 "$(gateway_pid)"
ok $? "the gateway is whole"
