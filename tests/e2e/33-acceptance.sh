#!/bin/bash
# What was asked of grants, criterion by criterion: the words at "#" are the
# asker's, each test below is one part of them, on real machines. What stands
# here once is tried harder elsewhere: 30 limits, 31 policies and crashes, 34
# hostile agents, 40 the endpoint, 45 the record.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
gateway_up
root=$(tiny_image)
cp "$NACRE_BIN/nacre" "$NACRE_BIN/../e2e/hostile" "$root/bin/"
nacre image import tiny "$root" >/dev/null
cd "$work" || exit 1
limits=(--max-depth 2 --max-breadth 8 --max-total 20 --program /bin/nacre)
create() { nacre sandbox create --quiet --name "$1" --from tiny --memory 64 "${@:2}" -- sleep 100000 >/dev/null 2>&1; }
inside() { run nacre sandbox exec "${in:-lead}" -- "$@"; }
opens() { inside nacre mcp call create_sandbox "$1"; }
below() { nacre sandbox children lead -o json | python3 -c 'import json,sys
for c in json.load(sys.stdin):
    if c["name"] == sys.argv[1]: print(c[sys.argv[2]])' "$1" "$2"; }
used() { nacre grant get lead -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["grant"]["total"]["used"])'; }

# A sandbox started with a grant can create a child through MCP from inside the
# sandbox, with no credential inside it, and a user on the host can do the same
# through MCP, the CLI and the gRPC API; in-sandbox gRPC is not part of v1.
create lead --grant-max-depth 2 --grant-max-breadth 8 --grant-max-total 20 --grant-program /bin/nacre
lead=$(get lead id)
opens '{"name":"worker","command":["sleep","1000"]}'
like "$out" '"name":"worker","kind":"agent","state":"running"' "a sandbox with a grant creates a child by MCP from inside"
inside sh -c 'env; cat /proc/[0-9]*/environ | tr "\0" "\n"; grep -rlsE "nacre_[A-Za-z0-9_-]{40}|eyJ[A-Za-z0-9_-]{20}" /etc /home /tmp /run /dev/shm /var'
[[ $out =~ nacre_[A-Za-z0-9_-]{40}|eyJ[A-Za-z0-9_-]{20}|^/ ]]
ok $((! $?)) "no credential is inside"
run nacre mcp call create_sandbox '{"parent":"lead","name":"by-mcp","kind":"tool"}'
like "$out" '"state":"running"' "the user does the same by MCP"
run nacre sandbox create --quiet --parent lead --name by-cli --kind tool
is "$code $(below by-cli state)" "0 running" "by the CLI"
mkdir py
protoc -I "$top/proto" --python_out=py "$top"/proto/openshell_*.proto "$top/proto/nacre_v1.proto"
run env PYTHONPATH=py timeout 120 /usr/bin/python3 -c 'import sys, grpc, nacre_v1_pb2 as n
c = grpc.insecure_channel("unix:" + sys.argv[1])
print(c.unary_unary("/nacre.v1.Nacre/CreateChildSandbox", request_serializer=n.CreateChildSandboxRequest.SerializeToString, response_deserializer=n.ChildReply.FromString)(n.CreateChildSandboxRequest(parent="lead", name="by-grpc", kind="tool")).sandbox.state)' "$NACRE_STATE/gateway.sock"
is "$code $out" "0 running" "and by the gRPC API"
nacre sandbox delete by-mcp-"$(below by-mcp id | cut -c1-5)" by-cli-"$(below by-cli id | cut -c1-5)" by-grpc-"$(below by-grpc id | cut -c1-5)" >/dev/null 2>&1

# A sandbox started without a grant cannot create children; a grant attached
# later lets it.
create bare
in=bare opens '{"kind":"tool"}'
like "$out" '"code":"NOT_ALLOWED".*"why":"no_grant"' "a sandbox without a grant creates none"
nacre grant create bare "${limits[@]}" >/dev/null
in=bare opens '{"kind":"tool"}'
like "$out" '"state":"running"' "a grant that comes later lets it"

# A child policy wider than its parent's policy is refused, at every depth, with
# a counterexample; one the prover cannot check is refused; a later write that
# would widen a child past its parent is refused.
wide='"policy":{"filesystem_policy":{"read_write":["/etc"]}}'
opens "{\"kind\":\"tool\",$wide}"
like "$out" '"code":"POLICY_EXCEEDS_PARENT".*"counterexample".*/etc' "a wider policy is refused with a counterexample"
in=lead/worker opens "{\"kind\":\"tool\",$wide}"
like "$out" '"code":"POLICY_EXCEEDS_PARENT".*"counterexample".*/etc' "also at the second level"
opens '{"kind":"tool","policy":{"filesystem_policy":{"read_only":["/proc/self/fd"]}}}'
like "$out" '"code":"POLICY_UNSUPPORTED"' "one that cannot be checked is refused"
nacre mcp call get_policy '{"id":"lead/worker"}' | python3 -c 'import json,sys
p = json.load(sys.stdin)["policy"]
p["network_policies"] = {"a": {"endpoints": [{"host": "api.test", "port": 443}], "binaries": [{"path": "/bin/nacre"}]}}
print(json.dumps(p))' >wide.json
run nacre policy set "$(below worker full_name)" wide.json
is "$code" 1 "a later write that widens a child is refused"
like "$out" "exceeds the parent" "past its parent"

# Only the grant's program can call the endpoint for a tree; other programs in
# the sandbox are refused.
inside nacre mcp call get_grant
like "$out" '"granted":true' "the grant's program calls"
inside hostile ask get_grant '{}'
like "$out" 'NOT_ALLOWED.*program.*/bin/hostile' "another program is refused"

# Depth, breadth and total limits hold across the whole tree, including under
# concurrent creates and retries.
in=lead/worker opens '{"name":"leaf","command":["sleep","1000"]}'
like "$out" '"state":"running"' "a child creates one of its own"
in=lead/worker/leaf opens '{"command":["sleep","1000"]}'
like "$out" '"code":"LIMIT_REACHED".*"limit":"depth"' "depth holds across the tree"
nacre grant update lead --max-breadth 1 >/dev/null
opens '{"kind":"tool"}'
like "$out" '"code":"LIMIT_REACHED".*"limit":"breadth"' "breadth holds"
nacre grant update lead --max-breadth 8 --max-total $(($(used) + 3)) >/dev/null
for i in 1 2 3 4 5 6; do
	nacre sandbox exec lead -- nacre mcp call create_sandbox "{\"kind\":\"tool\",\"request_id\":\"l-$((i % 3))\"}" >"lead.$i" 2>&1 &
	nacre sandbox exec lead/worker -- nacre mcp call create_sandbox "{\"kind\":\"tool\",\"request_id\":\"w-$((i % 3))\"}" >"worker.$i" 2>&1 &
done
wait
is "$(cat lead.? worker.? | grep -o '"id":"[0-9a-f-]*","name"' | sort -u | wc -l)" 3 "total holds over two creators at once, each twice for each child: three start"
is "$(nacre grant get lead -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["grant"]["total"]["left"])') $(cat lead.? worker.? | grep -c '"code":"LIMIT_REACHED"\|"code":"IN_PROGRESS"\|"state":')" "0 12" "and each is answered"

# Only the user can change a grant; an agent cannot, through any surface.
nacre grant get lead -o json >before
for tool in create_grant update_grant revoke_grant list_grants; do
	inside nacre mcp call $tool '{"sandbox":"lead","max_total":99,"max_depth":9,"max_breadth":9,"programs":["/bin/sh"]}'
	like "$out" '"code":"NOT_ALLOWED".*"why":"scope"' "an agent's $tool is refused"
done
inside nacre grant update lead --max-total 99
ok $((code == 0)) "so is its command"
nacre grant get lead -o json | cmp -s - before
ok $? "the grant is as it was"
run nacre grant update lead --max-total 30
is "$code" 0 "its user changes it"

# Deleting a parent stops its descendants first.
nacre sandbox delete lead >/dev/null 2>&1
ended() { nacre audit list --verb sandbox.deleted --limit 100 -o json | python3 -c 'import json,sys
names = [r["sandbox"].split("-")[0] for r in json.load(sys.stdin)]
print(" ".join(n for n in names if n in ("leaf", "worker", "lead")))'; }
is "$(ended)" "leaf worker lead" "who deletes a parent ends those below it first"

# Every create, refusal and grant change is attributed to the caller, the parent
# and the user in the audit log.
# rows VERB VERDICT CALLER: how many, all with root and user, if any.
rows() { nacre audit list --verb "$1" --verdict "$2" --limit 1000 -o json | python3 -c 'import json,sys
caller, lead, user = sys.argv[1:]
rows = [r for r in json.load(sys.stdin) if r["caller"] == caller and r["root"] == lead]
print(len(rows), all(user in r["detail"] or r["caller"] == user for r in rows), sum(r["parent"] == lead for r in rows) > 0)' "$3" "$lead" "uid:$(id -u)"; }
like "$(rows child.create ok "sandbox:$lead")" '^[1-9][0-9]* True True$' "a create is attributed to sandbox, parent and user"
like "$(rows child.create ok "uid:$(id -u)")" '^3 True True$' "so is a user's own"
like "$(rows child.create refused "sandbox:$lead")" '^[1-9][0-9]* True' "and a refusal"
like "$(rows grant.update ok "uid:$(id -u)")" '^3 True' "and a change of the grant"
like "$(rows grant.update refused "sandbox:$lead")" '^1 True' "and one that was refused"
run nacre audit verify
is "$code" 0 "in a record that is whole"
