#!/bin/bash
# Two users of one gateway: what one has, the other does not find.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
if [ "$(id -u)" != 0 ]; then
	echo "not root: no second user to be" >&2
	ok 1 "this test runs as root"
	exit 1
fi
# The gateway is 65534's, with its programs where that user can read them; root
# is a user of it too. A token's user is no admin.
chmod 711 "$work"
cp -r "$NACRE_BIN" "$work/bin"
cp -r "$NACRE_GUEST" "$work/guest"
chmod -R go+rX "$work/bin" "$work/guest"
export NACRE_BIN="$work/bin" NACRE_GUEST="$work/guest" PATH="$work/bin:$PATH" HOME="$work/home"
mkdir -m 700 "$NACRE_STATE" "$HOME"
chown 65534:65534 "$NACRE_STATE" "$HOME"
other() { (cd / && setpriv --reuid "${UID_OF:-65534}" --regid 65534 --clear-groups "$@"); }
other nacre gateway start >/dev/null || { cat "$NACRE_STATE/gateway.log" >&2; exit 1; }
nacre image import tiny "$(tiny_image)" >/dev/null
limits=(--grant-max-depth 2 --grant-max-breadth 4 --grant-max-total 8 --grant-program /bin/sh)
nacre sandbox create --quiet --name roots --from tiny --memory 64 "${limits[@]}" -- sleep 1000 >/dev/null 2>&1
nacre sandbox create --quiet --parent roots --name kid --kind tool >/dev/null 2>&1
other nacre sandbox create --quiet --name others --from tiny --memory 64 "${limits[@]}" -- sleep 1000 >/dev/null 2>&1
id=$(get roots id)
kid=$(nacre sandbox children roots -o json | python3 -c 'import json,sys; print([c["id"] for c in json.load(sys.stdin) if c["name"] == "kid"][0])')
is "$(nacre grant get roots -o json | grep -o '"user":"[^"]*"') $(nacre grant get others -o json | grep -o '"user":"[^"]*"')" '"user":"uid:0" "user":"uid:65534"' "each root is its maker's"
token=$(other nacre token create all --scope sandbox:read --scope sandbox:write --scope policy:read --scope grant:read --scope grant:write 2>/dev/null | tail -n 1)
like "$token" '^nacre_' "the other user has a token, with every scope"
url=$(nacre gateway status -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["mcp"])')
# tool NAME ARGUMENTS: as that token's user; prints the code of a refusal, or
# what the result says.
tool() {
	curl -s -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
		-H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H "Mcp-Name: $1" \
		-d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name":"'"$1"'","arguments":'"$2"'}}' "$url" | sed 's/^data: //' | python3 -c 'import json,sys
text = [l for l in sys.stdin.read().splitlines() if l.startswith("{")][-1]
r = json.loads(text)
if "error" in r: print("error", r["error"])
else:
    said = json.loads(r["result"]["content"][0]["text"])
    print(said.get("code") if r["result"].get("isError") else json.dumps(said))'
}
like "$(tool get_sandbox '{"id":"others"}')" '"name": "others"' "it finds its own"
like "$(tool list_sandboxes '{}')" '"others"' "and lists it"
unlike() { [[ ! $1 =~ $2 ]]; ok $? "$3"; }
unlike "$(tool list_sandboxes '{}')" 'roots|kid' "nothing of root's is listed"
unlike "$(tool list_grants '{}')" "$id" "nor is its grant"
for which in roots "$id" roots/kid "$kid"; do
	for call in get_sandbox get_policy stop_sandbox delete_sandbox; do
		is "$(tool $call '{"id":"'"$which"'"}')" NOT_FOUND "$call does not find ${which/*-*/an id}"
	done
	is "$(tool get_file '{"id":"'"$which"'","path":"/etc/passwd"}')" NOT_FOUND "get_file neither"
	is "$(tool create_sandbox '{"parent":"'"$which"'","command":["true"]}')" NOT_FOUND "create_sandbox neither"
	is "$(tool check_policy '{"parent":"'"$which"'","policy":{"network_policies":{}}}')" NOT_FOUND "check_policy neither"
	is "$(tool get_grant '{"sandbox":"'"$which"'"}')" NOT_FOUND "get_grant neither"
	is "$(tool update_grant '{"sandbox":"'"$which"'","max_total":9}')" NOT_FOUND "update_grant neither"
	is "$(tool revoke_grant '{"sandbox":"'"$which"'"}')" NOT_FOUND "revoke_grant neither"
	is "$(tool create_grant '{"sandbox":"'"$which"'","max_depth":1,"max_breadth":1,"max_total":1,"programs":["/bin/sh"]}')" NOT_FOUND "create_grant neither"
done
is "$(get roots state) $(nacre grant get roots -o json | grep -o '"state":"live"')" 'running "state":"live"' "all of it is as it was"
is "$(nacre grant get roots -o json | python3 -c 'import json,sys; g = json.load(sys.stdin)["grant"]; print(g["total"]["max"], g["total"]["used"])')" "8 1" "its limits too"

# --- who is no user at all
chmod 711 "$NACRE_STATE"
chmod 666 "$NACRE_STATE/gateway.sock"
UID_OF=65533
run other nacre sandbox list
is "$code" 1 "a third uid is no user of this gateway"
like "$out" 'not a user' "and told so"
run other nacre sandbox lineage roots
is "$code" 1 "not even of names"
UID_OF=65534
chmod 700 "$NACRE_STATE"
