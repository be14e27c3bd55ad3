#!/bin/bash
# A hostile client of HTTP/2 (tests/lib/frame_attack.py): MCP and gRPC, frame by
# frame. What it sends is refused by name, memory and descriptors stay bounded,
# and two other callers are answered all the while. With the word figures: how
# long those two waited, instead (make bench-attack).
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/tap.sh"
root=$(tiny_image)
begin_attacked() {
	gateway_up
	nacre image import tiny "$root" >/dev/null
	nacre sandbox create --name lead --from tiny --quiet -- sleep 100000 >/dev/null 2>"$work/why" || cat "$work/why"
}
begin_attacked
is "$(get lead state)" running "a sandbox runs"
[ "$failures" -eq 0 ] || exit
attack frame_attack "$@"
run nacre sandbox exec lead -- echo here
is "$out" here "a command runs as before"
