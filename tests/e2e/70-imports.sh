#!/bin/bash
# Imports as the gateway runs them: they end with who asked for them, and what
# nothing means any more is not kept. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
py() { python3 "$top/tests/lib/images.py" "$@"; }
imports() { grep -lz "^$NACRE_STATE/images$" /proc/[0-9]*/cmdline 2>/dev/null | xargs -r grep -lz 'nacre-image$' 2>/dev/null | wc -l; }
files() { find "$NACRE_STATE/images" -type f | wc -l; }
# hold, let_go: no import can be published meanwhile.
hold() { exec {lock}<"$NACRE_STATE/images" && flock "$lock"; }
let_go() { exec {lock}<&-; }
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
