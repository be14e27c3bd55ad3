#!/bin/bash
# Clients of MCP that others wrote, unchanged, against a running gateway: the
# official conformance suite in both requirement sets, and the clients that
# agents use: all, or those of the arguments. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/tap.sh"
. "$top/tests/lib/npm.sh"
data=$top/tests/data/mcp
build=$(dirname "$(dirname "$NACRE_BIN")")
sdks=$(bash "$top/tests/tools/mcp-peers.sh" fetch)
clients=$build/npm/mcp-clients
npm_fetch "$data/clients" "$clients"
case $? in
2) ok 1 "the packages are those that are locked" ;;
1) sdks= ;;
esac
if [ ! -d "$sdks/node_modules" ]; then
	echo "1..0 # SKIP $why $sdks"
	trap - EXIT
	rm -rf "$work"
	exit 0
fi

gateway_up
nacre image import tiny "$(tiny_image)" >/dev/null
cat >"$work/policy.yaml" <<'END'
version: 1
filesystem_policy: {include_workdir: true, read_only: [/bin, /etc, /proc], read_write: [/tmp]}
landlock: {compatibility: best_effort}
END
nacre sandbox create --name lead --from tiny --policy "$work/policy.yaml" --quiet \
	--grant-max-depth 1 --grant-max-breadth 4 --grant-max-total 100 --grant-program /bin/sh \
	-- sleep 100000 >/dev/null 2>&1
is "$(get lead state)" running "a sandbox with a grant runs"
TOKEN=$(nacre token create agent --expires 1h 2>/dev/null | tail -n 1)
export TOKEN
url=$(nacre gateway status -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["mcp"])')

# --- the suite brings no token: it goes in by the socket
coproc TUNNEL { exec node "$top/tests/e2e/mcp/tunnel.mjs" "$NACRE_STATE/gateway.sock"; }
tunnel=$TUNNEL_PID
read -r port <&"${TUNNEL[0]}"
suite() { # SUITE BASELINE ARGUMENT...
	local suite=$1 baseline=$data/baseline/$2
	shift 2
	(cd "$work" && timeout -k 5 120 node "$sdks/node_modules/$suite/dist/suite.mjs" server \
		--url "http://localhost:$port/mcp" --expected-failures "$baseline" -o "$work/out" "$@") >"$work/log" 2>&1
	local status=$?
	ok $status "conformance ${baseline##*/}: no unexpected failure"
	[ $status -eq 0 ] || tail -n 60 "$work/log" | sed 's/^/#   /'
}
suite @modelcontextprotocol/conformance product-0.1.16.yml
suite conformance-next product-0.2-2025-11-25.yml --requirements 2025-11-25
suite conformance-next product-0.2-2026-07-28.yml --requirements 2026-07-28
exec {TUNNEL[1]}>&-
wait "$tunnel"

# --- clients
[ $# -gt 0 ] || set -- v1 v2-legacy v2-auto v2-pin ai langchain remote inspector-legacy inspector-auto inspector-modern
for name; do
	mkdir -p "$work/home/$name"
	tap "$name" node "$top/tests/e2e/mcp/clients.mjs" "$url" "$sdks" "$clients" "$work/home/$name" lead $name
done
