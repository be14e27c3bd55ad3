#!/bin/bash
# A hostile client of HTTP/2 (tests/lib/frame_attack.py): MCP and gRPC, frame by
# frame. What it sends is refused by name, memory and descriptors stay bounded,
# and two other callers are answered all the while.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/tap.sh"
gateway_up
nacre image import tiny "$(tiny_image)" >/dev/null
nacre sandbox create --name lead --from tiny --quiet -- sleep 100000 >/dev/null 2>"$work/why" || cat "$work/why"
is "$(get lead state)" running "a sandbox runs"
[ "$failures" -eq 0 ] || exit
url=$(nacre gateway status -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["mcp"])')
port=${url##*:} port=${port%%/*}
bad=$(nacre token create bad --expires 1h 2>/dev/null | tail -n 1)
good=$(nacre token create good --expires 1h 2>/dev/null | tail -n 1)
pid=$(gateway_pid)
attacked /usr/bin/python3 "$top/tests/lib/frame_attack.py" "$NACRE_STATE/gateway.sock" "$port" "$pid" "$bad" "$good"
is "$(gateway_pid)" "$pid" "the gateway is still the same process"
kill -0 "$pid"
ok $? "and runs"
run nacre sandbox exec lead -- echo here
is "$out" here "a command runs as before"
