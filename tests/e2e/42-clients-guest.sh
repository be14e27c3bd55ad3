#!/bin/bash
# The clients of MCP that agents use, unchanged, inside a sandbox: each creates,
# lists, runs, reads, is refused and is cancelled by the door. All, or
# those of the arguments. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/tap.sh"
. "$top/tests/lib/npm.sh"
build=$(dirname "$(dirname "$NACRE_BIN")")
sdks=
clients=$build/npm/mcp-clients
if command -v node >/dev/null; then
	sdks=$(bash "$top/tests/tools/mcp-peers.sh" fetch)
	npm_fetch "$top/tests/data/mcp/clients" "$clients"
	case $? in
	2) ok 1 "the packages are those that are locked" ;;
	1) sdks= ;;
	esac
else
	why='node is missing: apt-get install nodejs'
fi
if [ ! -d "$sdks/node_modules" ]; then
	echo "1..0 # SKIP $why $sdks"
	trap - EXIT
	rm -rf "$work"
	exit 0
fi

# Types and maps are no part of what runs.
root=$(tiny_image)
node_into "$root"
for place in "sdks $sdks" "clients $clients"; do
	mkdir -p "$root/opt/${place%% *}"
	tar -C "${place#* }" --exclude='*.d.ts' --exclude='*.d.cts' --exclude='*.d.mts' --exclude='*.map' --exclude=.bin \
		--exclude='*conformance*' -c package.json node_modules | tar -C "$root/opt/${place%% *}" -x
done
cp "$top"/tests/e2e/mcp/{clients,peers,tap}.mjs "$root/opt/"
cat >"$work/policy.yaml" <<'END'
version: 1
filesystem_policy: {include_workdir: true, read_only: [/bin, /usr, /lib, /lib64, /opt, /etc, /proc, /dev/urandom], read_write: [/tmp, /dev/null]}
landlock: {compatibility: best_effort}
END
gateway_up
run nacre image import node "$root"
is "$code" 0 "an image with node and the clients is imported"
rm -rf "$root"
run nacre sandbox create --quiet --name lead --from node --cpus 2 --memory 512 --policy "$work/policy.yaml" \
	--grant-max-depth 1 --grant-max-breadth 1 --grant-max-total 20 --grant-program /usr/bin/node -- sleep 100000
is "$code" 0 "a sandbox starts from it, with a grant for node"
[ "$failures" -eq 0 ] || exit
patience=900 # node starts many times, translated
[ $# -gt 0 ] || set -- v1 v2-legacy v2-auto v2-pin ai langchain remote inspector-legacy inspector-auto inspector-modern
for name; do
	tap "inside, $name" nacre sandbox exec lead -- env HOME=/tmp node /opt/clients.mjs http://openshell.local/mcp /opt/sdks /opt/clients /tmp '' "$name"
done
