#!/bin/bash
# The official TypeScript SDK v1 with an ordinary node, as a package registry
# gives it: all tools from the host, and the same from inside a sandbox by the
# door. Under LD_PRELOAD the kernel still sees node: a limit, which is shown.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/tap.sh"
. "$top/tests/lib/npm.sh"
skip() {
	echo "1..0 # SKIP $1"
	trap - EXIT
	rm -rf "$work"
	exit 0
}
command -v node >/dev/null || skip 'node is missing: apt-get install nodejs'
npm=$(bash "$top/tests/tools/mcp-peers.sh" fetch 2>/dev/null)
[ -d "$npm/node_modules" ] || skip 'the official SDK cannot be fetched'

# The host's node with what it links, and the SDK with what it depends on.
root=$(tiny_image)
node_into "$root"
install -d "$root/opt/sdk"
cp -r "$npm/node_modules" "$root/opt/sdk/node_modules"
rm -rf "$root"/opt/sdk/node_modules/{.bin,conformance-next,@modelcontextprotocol/conformance}
cp "$npm/package.json" "$root/opt/sdk/"
cp "$top/tests/e2e/mcp/tools.mjs" "$top/tests/e2e/mcp/tap.mjs" "$root/opt/"
cat >"$work/policy.yaml" <<'END'
version: 1
filesystem_policy: {include_workdir: true, read_only: [/bin, /usr, /lib, /lib64, /opt, /etc, /proc], read_write: [/tmp]}
landlock: {compatibility: best_effort}
END
gateway_up
nacre image import node "$root" >/dev/null
run nacre sandbox create --quiet --name lead --from node --memory 256 --policy "$work/policy.yaml" -- sleep 100000
is "$code" 0 "a sandbox starts from an image with node"

url=$(nacre gateway status -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["mcp"])')
token=$(nacre token create sdk --scope sandbox:read --scope sandbox:write --scope policy:read --scope grant:read --scope grant:write | tail -n 1)
TOKEN=$token each "from the host" node "$top/tests/e2e/mcp/tools.mjs" "$url" "$npm" host /usr/bin/node

nacre grant create lead --max-depth 1 --max-breadth 2 --max-total 4 --program /usr/bin/node >/dev/null
each "from inside" nacre sandbox exec lead -- node /opt/tools.mjs http://openshell.local/mcp /opt/sdk sandbox
inside() { run nacre sandbox exec lead -- "$@"; }
# A program that others prepared is still that program.
probe='fetch("http://openshell.local/mcp", {method: "POST", headers: {"content-type": "application/json", "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "get_sandbox"}, body: JSON.stringify({jsonrpc: "2.0", id: 1, method: "tools/call", params: {name: "get_sandbox", arguments: {}, _meta: {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}})}).then(r => r.text()).then(console.log)'
inside node -e "$probe"
like "$out" '"name":"lead"' "a limit: arguments of anybody's make the granted program call"
echo 'int injected(void); __attribute__((constructor)) int injected(void) { return __builtin_puts("preloaded"), 0; }' >"$work/pre.c"
gcc -shared -fPIC -o "$work/pre.so" "$work/pre.c"
nacre sandbox cp "$work/pre.so" lead:/tmp/pre.so >/dev/null
inside env LD_PRELOAD=/tmp/pre.so node -e "$probe"
like "$out" 'preloaded.*"name":"lead"' "a limit: so does what LD_PRELOAD puts into it"
inside sh -c 'cp /usr/bin/node /tmp/mine; exec /tmp/mine "$@"' mine -e "$probe"
like "$out" 'NOT_ALLOWED' "a copy of node is another program"
is "$(nacre grant get lead -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["grant"]["total"]["used"])')" 2 "and all are charged alike"
