# Sourced by demo.sh: an agent that opens others inside what its user granted.
# Each step says what must come of it; another outcome ends the demo.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# told CODE WORDS COMMAND...: show it and what it prints, check both.
told() {
	local want=$1 words=$2 code=0 at
	shift 2
	typed "$@"
	at=$(date +%s%N)
	out=$("$@" 2>&1 </dev/null) || code=$?
	printf '%s\n  (%d ms, exit code %d)\n' "$out" $((($(date +%s%N) - at) / 1000000)) "$code"
	[ "$code" -eq "$want" ] || { echo "demo: expected exit code $want"; exit 1; }
	[[ $out =~ $words ]] || { echo "demo: expected: $words"; exit 1; }
}
# lead CODE WORDS TOOL JSON: the agent calls a tool of its door.
lead() { told "$1" "$2" nacre sandbox exec lead -- nacre mcp call "$3" "$4"; }
# full NAME: how commands of the user know that sandbox of the tree.
full() { nacre sandbox children lead -o json | python3 -c 'import json, sys
print([c["full_name"] for c in json.load(sys.stdin) if c["name"] == sys.argv[1]][0])' "$1"; }

# reviews PATH: a network section, GET alone.
reviews() { printf '"network_policies":{"reviews":{"binaries":[{"path":"/usr/bin/python3.13"}],"endpoints":[{"host":"api.example.com","port":443,"protocol":"rest","rules":[{"allow":{"method":"GET","path":"%s"}}]}]}}' "$1"; }

title "a lead, and what its user grants it"
cat >"$work/lead.yaml" <<'P'
version: 1
filesystem_policy:
  include_workdir: true
network_policies:
  reviews:
    binaries: [{path: /usr/bin/python3.13}]
    endpoints:
      - {host: api.example.com, port: 443, protocol: rest, rules: [{allow: {method: GET, path: /v1/**}}]}
P
# The worker is an agent too: it opens a leaf, is refused one that could do
# more than itself, reads what the leaf made, and says when it is done.
cat >"$work/worker.sh" <<P
set -u
call() { nacre mcp call "\$@"; }
call create_sandbox '{"name":"wide","command":["true"],"policy":{$(reviews '/v1/**')}}' >/tmp/refusal && exit 1
call create_sandbox '{"name":"leaf","command":["sh","-c","expr 6 \\\\* 7 >/tmp/answer; : >/tmp/done; exec sleep 10000"],"policy":{"network_policies":{}}}' >/tmp/leaf || exit 1
until call get_file '{"id":"leaf","path":"/tmp/done"}' >/dev/null; do sleep 0.2; done
{
	call get_file '{"id":"leaf","path":"/tmp/answer"}'
	cat /tmp/refusal
} >/tmp/report
: >/tmp/done.part && mv /tmp/done.part /tmp/done
exec sleep 10000
P
cat >"$work/wait.sh" <<'P'
until nacre mcp call get_file '{"id":"worker","path":"/tmp/done"}' >/dev/null; do sleep 0.2; done
nacre mcp call get_file '{"id":"worker","path":"/tmp/report"}'
P
mkdir "$work/tree"
mv "$work/wait.sh" "$work/tree"
python3 -c 'import json, sys
print(json.dumps({"name": "worker", "command": ["sh", "-c", open(sys.argv[1]).read()],
    "policy": json.loads("{\"filesystem_policy\": {}, %s}" % sys.argv[2])}))' \
	"$work/worker.sh" "$(reviews '/v1/reviews/**')" >"$work/tree/worker.json"
cat "$work/lead.yaml"
told 0 "is ready" nacre sandbox create --quiet --name lead --from debian --memory 256 --policy "$work/lead.yaml" \
	--grant-max-depth 2 --grant-max-breadth 2 --grant-max-total 4 --grant-expires 4h \
	--grant-program /usr/local/bin/nacre -- sleep 10000
told 0 "live.*0 used of 2.*0 used of 2.*0 used of 4" nacre grant get lead

title "the lead opens a worker: never more than it has itself"
lead 1 'POLICY_EXCEEDS_PARENT.*"counterexample".*/etc' create_sandbox '{"name":"worker","command":["true"],"policy":{"filesystem_policy":{"read_write":["/etc"]}}}'
told 0 "copied" nacre sandbox cp "$work/tree" lead:/sandbox/tree
printf '\nworker.json has the policy and this task:\n\n'
sed 's/^/    /' "$work/worker.sh"
told 0 '"name":"worker".*"state":"running"' nacre sandbox exec lead -- sh -c 'nacre mcp call create_sandbox "$(cat tree/worker.json)"'
printf '\nwait.sh:\n\n'
sed 's/^/    /' "$work/tree/wait.sh"
told 0 '42.*POLICY_EXCEEDS_PARENT.*counterexample' nacre sandbox exec lead -- sh tree/wait.sh
told 0 "worker.*leaf" nacre sandbox children lead

title "a tool, and a request that is sent twice"
lead 0 '"kind":"tool","state":"running"' create_sandbox '{"name":"box","kind":"tool","request_id":"box-1"}'
first=$(grep -o '"id":"[^"]*"' <<<"$out")
lead 0 "$first" create_sandbox '{"name":"box","kind":"tool","request_id":"box-1"}'
lead 3 '"exit_code":3,"stdout":"3.13' exec '{"id":"box","argv":["python3","-c","import sys; print(sys.version.split()[0]); sys.exit(3)"]}'

title "each limit"
told 1 'LIMIT_REACHED.*depth' nacre sandbox exec "$(full leaf)" -- nacre mcp call create_sandbox '{"command":["true"]}'
lead 1 'LIMIT_REACHED.*breadth' create_sandbox '{"name":"third","kind":"tool"}'
lead 0 '"deleted"' delete_sandbox '{"id":"box"}'
lead 0 '"state":"running"' create_sandbox '{"name":"fourth","kind":"tool"}'
lead 0 '"deleted"' delete_sandbox '{"id":"fourth"}'
lead 1 'LIMIT_REACHED.*total' create_sandbox '{"name":"fifth","kind":"tool"}'
told 0 "of 5" nacre grant update lead --max-total 5
lead 0 '"state":"running"' create_sandbox '{"name":"fifth","kind":"tool"}'

title "another program, and an act of users"
told 0 'NOT_ALLOWED.*/usr/bin/busybox' nacre sandbox exec lead -- busybox wget -q -O - \
	--header 'Content-Type: application/json' --header 'MCP-Protocol-Version: 2026-07-28' \
	--header 'Mcp-Method: tools/call' --header 'Mcp-Name: list_sandboxes' --post-data \
	'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_sandboxes","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}' \
	http://openshell.local/mcp
lead 1 'NOT_ALLOWED.*"why":"scope"' update_grant '{"sandbox":"lead","max_total":4096}'

title "the grant is revoked"
told 0 "revoked" nacre grant revoke lead
lead 1 'GRANT_REVOKED' create_sandbox '{"name":"sixth","kind":"tool"}'
lead 0 '"name":"worker".*"state":"running"' get_sandbox '{"id":"worker"}'

title "how long it took, and the end: leaves first"
for name in worker leaf fifth; do
	printf '%-8s' $name
	nacre sandbox get "$(full $name)" | grep '^launch'
done
id=$(nacre sandbox get lead | awk '$1 == "id" { print $2 }')
told 0 "deleted" nacre sandbox delete lead
told 0 "worker.*leaf" nacre sandbox lineage "$id"
told 0 'leaf.*worker.*lead ' nacre audit list --verb sandbox.deleted --limit 4
told 0 'child.create.*refused' nacre audit list --verb child.create --limit 40
told 0 '^whole' nacre audit verify
