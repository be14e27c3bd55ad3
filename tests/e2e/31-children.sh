#!/bin/bash
# Children in a tree: policies inside the parent's, lives that hang together,
# ends that come leaves first, and crashes that lose and charge nothing.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
gateway_up
nacre image import tiny "$(tiny_image)" >/dev/null
cd "$work" || exit 1
rows() { nacre audit list --verb "$1" --limit 100 -o json; }
row() { nacre audit list --verb "$1" --limit 1 -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)[-1][sys.argv[1]])' "${2:-detail}"; }
total() { nacre grant get "$1" -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["grant"]["total"]["used"])'; }
# one ROOT NAME FIELD: of a child anywhere below.
one() { nacre sandbox children "$1" -o json | python3 -c 'import json,sys
for c in json.load(sys.stdin):
    if c["name"] == sys.argv[1]: print(c[sys.argv[2]])' "$2" "$3"; }
states() { nacre sandbox children "$1" -o json | python3 -c 'import json,sys; print(" ".join(sorted("%s=%s" % (c["name"], c["state"]) for c in json.load(sys.stdin))))'; }
create() { nacre sandbox create --quiet --parent "$1" --name "$2" "${@:3}" -- sleep 1000; }
root() { nacre sandbox create --quiet --name "$1" --from tiny --memory 64 "${@:2}" -- sleep 1000; nacre grant create "$1" --max-depth 4 --max-breadth 8 --max-total 100 --program /bin/sh; }
api() {
	printf 'filesystem_policy: {read_only: [/home], read_write: [/home/agent]}\nnetwork_policies:\n  api:\n'
	printf '    endpoints: [{host: api.example.com, port: 443, protocol: rest, %s}]\n    binaries: [{path: /usr/bin/curl}]\n' "$1"
}
(echo 'version: 1'; echo 'landlock: {}'; echo 'process: {}'; api 'rules: [{allow: {method: GET, path: "/v1/**"}}], deny_rules: [{path: "/v1/admin/**"}]') >lead.yaml
api 'rules: [{allow: {method: GET, path: "/v1/items/*"}}]' >inside.yaml
api 'rules: [{allow: {method: GET, path: "/v1/**"}}]' >wider.yaml
(echo 'version: 1'; echo 'landlock: {}'; echo 'process: {}'; api 'rules: [{allow: {method: GET, path: "/v1/list"}}]') >maximum.yaml
(echo 'version: 1'; echo 'landlock: {}'; echo 'process: {}'; cat wider.yaml) >whole.yaml
echo '{"network_policies": {}}' >none.json
printf 'nope: 1\n' >invalid.yaml
hash_of() { nacre policy check -o json "$1" | python3 -c 'import json,sys; print(json.load(sys.stdin)["hash"])'; }

# --- a grant that comes with its root
limits=(--grant-max-depth 1 --grant-max-breadth 1 --grant-max-total 1)
run nacre sandbox create --quiet --name lead --from tiny --memory 64 "${limits[@]}" --grant-program /bin/nope -- sleep 1000
is "$code $(nacre sandbox list)" "2 no sandboxes" "a grant that may not be leaves no sandbox"
run nacre sandbox create --quiet --name lead --from tiny --memory 64 --grant-max-depth 1 -- sleep 1000
is "$code $(nacre sandbox list)" "2 no sandboxes" "nor does half of one"
run nacre sandbox create --quiet --name lead --from tiny --memory 64 "${limits[@]}" --grant-program /bin/sh --grant-expires 1h -- sleep 1000
is "$code $(nacre grant get lead -o json | grep -o '"state":"live"')" '0 "state":"live"' "a sandbox and its grant are made together"
run create lead worker
is "$code" 0 "and it opens a child"
run nacre sandbox exec lead/worker -- echo below
is "$code $out" "0 below" "which commands find by its place"
is "$(nacre sandbox get lead/worker -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["name"])')" "$(one lead worker full_name)" "and get"
run nacre sandbox exec lead/nobody -- true
like "$code $out" "nobody|not found|no sandbox" "a place that is none is told"
nacre sandbox delete lead >/dev/null 2>&1

# --- policies
root lead --policy lead.yaml >/dev/null 2>&1
run create lead wide --policy wider.yaml
is "$code" 1 "a child with more than its parent is refused"
is "$out" "nacre: exceeds the parent: network
  /usr/bin/curl  GET https://api.example.com/v1/admin/ at 1.1.1.1
  child:   network_policies.api endpoint 0 allows it (rule 0)
  parent: network_policies.api endpoint 0 denies it (deny 0: /v1/admin/**)
  hint: add deny /v1/admin/** to the child, or narrow what it allows" "with a request, both causes and a hint"
is "$(row child.create verdict) $(row child.create reason)" "refused POLICY_EXCEEDS_PARENT" "the record has the refusal"
like "$(row child.create)" "parent sha256:$(hash_of lead.yaml), verdict exceeds the parent" "with hashes and counterexample"
run create lead wide --policy invalid.yaml
is "$code" 2 "a policy that is none is invalid"
is "$(total lead)" 0 "none of them was charged"
run create lead worker --policy inside.yaml
is "$code" 0 "a narrower one is opened"
run create lead/worker up --policy lead.yaml
is "$code" 1 "at the second level it is the child's own policy that bounds"
run create lead/worker leaf
is "$code" 0 "without a policy it is the parent's whole one"
is "$(one lead leaf policy_hash)" "$(one lead worker policy_hash)" "by its hash"
run create lead quiet --policy none.json
is "$code" 0 "a policy may be JSON; an empty section grants nothing"
nacre policy set-maximum maximum.yaml >/dev/null
run create lead/worker capped
is "$code" 1 "the maximum caps a child too"
like "$out" "exceeds the maximum: network" "and is named"
nacre policy set-maximum --none >/dev/null
run nacre policy set "$(one lead worker full_name)" whole.yaml
is "$code" 1 "a later write to a child is bound by its parent"
like "$out" "exceeds the parent" "which is named"

# --- what is shown
is "$(one lead leaf parent) $(one lead leaf root) $(one lead leaf depth)" "$(one lead worker id) $(get lead id) 2" "a child knows parent, root and depth"
is "$(get "$(one lead leaf full_name)" kind) $(get "$(one lead leaf full_name)" depth) $(get "$(one lead leaf full_name)" parent)" "agent 2 $(one lead worker id)" "get says so too"
like "$(nacre sandbox children lead)" $'lead .*\n  worker .*\n    leaf ' "children are shown as a tree"
is "$(nacre sandbox lineage lead -o json | python3 -c 'import json,sys; print(" ".join("%s/%d" % (r["name"], r["depth"]) for r in json.load(sys.stdin)))')" "lead/0 worker/1 leaf/2 quiet/1" "lineage has all of the tree"

# --- lives
run nacre sandbox create --quiet --parent lead --name short -- sh -c 'exit 7'
until_is "ended" one lead short state
ok $? "an agent's machine ends with its main process"
is "$(one lead short exit_code)" 7 "its exit code is kept"
run nacre sandbox start "$(one lead short full_name)"
is "$code" 75 "and it does not start again"
run nacre sandbox create --quiet --parent lead --name fail -- /bin/nope
is "$code" 1 "a command that is not there fails the start"
is "$(one lead fail state)" "" "and leaves nothing"
nacre sandbox stop "$(one lead leaf full_name)" >/dev/null 2>&1
is "$(one lead leaf state)" stopped "a child is stopped"
before=$(total lead)
run nacre sandbox start "$(one lead leaf full_name)"
is "$code $(one lead leaf state) $(total lead)" "0 running $before" "and started again, at no cost"
run nacre sandbox create --quiet --parent lead --name box --kind tool --idle 10
is "$code" 0 "a tool is opened"
run nacre sandbox exec "$(one lead box full_name)" -- echo hello
is "$out" hello "and runs commands"
until_is stopped one lead box state
ok $? "unused for its idle_seconds it is stopped"
is "$(one lead box reason)" "idle" "and says why"
run nacre sandbox create --quiet --parent lead --name later --wait-ms 0 -o json -- sleep 1000
like "$out" '"state":"(reserved|starting)"' "a create that does not wait says how far it is"
until_is running one lead later state
ok $? "and it comes to run"

is "$(one lead box depth 2>&1 | tail -n 1) $(nacre sandbox lineage lead | awk '$1 == "box" {print $2}')" "KeyError: 'depth' -" "a tool has no depth"
like "$(nacre sandbox get "$(one lead box full_name)")" "place +tool below $(get lead id)" "nor does get say one"

# --- the cascade
nacre sandbox stop "$(one lead worker full_name)" >/dev/null 2>&1
is "$(one lead worker state) $(one lead leaf state)" "stopped stopped" "stopping a child stops what is below it"
like "$(rows sandbox.stopped | python3 -c 'import json,sys; print(" ".join(r["sandbox"].split("-")[0] for r in json.load(sys.stdin)[-2:]))')" "leaf worker" "leaves first"
run nacre sandbox start "$(one lead leaf full_name)"
is "$code" 75 "below a stopped parent nothing starts"
run nacre sandbox start "$(one lead worker full_name)"
is "$code $(one lead leaf state)" "0 stopped" "starting a parent starts no child"
nacre sandbox start "$(one lead leaf full_name)" >/dev/null 2>&1
id=$(get lead id)
run nacre sandbox delete lead
is "$code" 0 "the root is deleted"
is "$(nacre sandbox list)" "no sandboxes" "with all below"
is "$(rows sandbox.deleted | python3 -c 'import json,sys
r = [x["sandbox"].split("-")[0] for x in json.load(sys.stdin)]
r = [x for x in r if x in ("leaf", "worker", "lead")]
print(" ".join(r[-3:]))')" "leaf worker lead" "leaves first"
is "$(nacre sandbox lineage "$id" -o json | python3 -c 'import json,sys; print(all(r["ended_ms"] for r in json.load(sys.stdin)))')" True "its lineage stays"
is "$(nacre sandbox lineage lead -o json 2>"$work/said" | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["id"])')" "$id" "and is found by its name, the newest of it"
is "$(cat "$work/said")" "nacre: no sandbox 'lead' is there: the newest deleted one" "which is said"
run nacre sandbox lineage nobody
is "$code" 4 "a name that none ever had is not found"

# --- the grace
nacre sandbox create --quiet --name slow --from tiny --memory 64 -- sh -c 'trap "sleep 6; echo saved >/tmp/saved; exit 0" TERM; touch /tmp/armed; while :; do sleep 1; done' >/dev/null 2>&1
until_is 0 sh -c 'nacre sandbox exec slow -- test -e /tmp/armed; echo $?'
nacre sandbox stop slow >/dev/null 2>&1
nacre sandbox start slow >/dev/null 2>&1
is "$(nacre sandbox exec slow -- cat /tmp/saved)" saved "a main process that needs its time to end has it"
nacre sandbox delete slow >/dev/null 2>&1

# --- ends that nobody asked for
run nacre sandbox lineage lead
is "$code" 0 "a deleted root's lineage is there until another has its name"
nacre sandbox create --quiet --name lead --from tiny --memory 64 -- sh -c 'until [ -e /tmp/end ]; do sleep 0.1; done' >/dev/null 2>&1
nacre grant create lead --max-depth 4 --max-breadth 8 --max-total 100 --program /bin/sh >/dev/null
is "$(nacre sandbox lineage lead -o json 2>&1 | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["id"])')" "$(get lead id)" "then it is that one's"
create lead worker >/dev/null 2>&1
create lead/worker leaf >/dev/null 2>&1
nacre sandbox exec lead -- touch /tmp/end
until_is "leaf=stopped worker=stopped" states lead
ok $? "a root's children stop with its main process"
is "$(get lead state)" ended "its own machine stays"
run create lead more
is "$code" 75 "and opens nothing any more"
nacre sandbox delete lead >/dev/null 2>&1
root lead >/dev/null 2>&1
create lead worker >/dev/null 2>&1
create lead/worker leaf >/dev/null 2>&1
kill -9 "$(nacre sandbox get "$(one lead worker full_name)" -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["keeper_pid"])')"
until_is "leaf=stopped worker=stopped" states lead
ok $? "a machine that is lost takes what is below along"
nacre sandbox delete lead >/dev/null 2>&1

# --- crashes
root lead >/dev/null 2>&1
# crash POINT COMMAND...: the gateway dies at that point, and comes back.
crash() {
	nacre gateway stop >/dev/null
	NACRE_CRASH_AT=$1 nacre gateway start >/dev/null 2>&1
	"${@:2}" >/dev/null 2>&1
	until_is "" gateway_alive
	nacre gateway start >/dev/null
}
gateway_alive() { kill -0 "$(gateway_pid)" 2>/dev/null && echo yes; }
n=0
for point in before_commit after_reserve after_leave after_row after_keeper after_session after_first_instruction; do
	n=$((n + 1))
	crash $point nacre sandbox create --quiet --parent lead --name "k$n" --request-id "k-$n" -- sleep 1000
	nacre sandbox create --quiet --parent lead --name "k$n" --request-id "k-$n" -- sleep 1000 >/dev/null 2>&1
	until_is running one lead "k$n" state
	ok $? "killed $point: the child runs in the end"
	is "$(total lead) $(nacre sandbox children lead -o json | grep -o "\"name\":\"k$n\"" | wc -l)" "$n 1" "once, and charged once"
done
create lead/k1 a >/dev/null 2>&1
create lead/k1/a b >/dev/null 2>&1
crash during_cascade nacre sandbox delete lead
until_is "no sandboxes" nacre sandbox list
ok $? "killed in the middle of a cascade, it goes on to the end"
is "$(rows sandbox.deleted | python3 -c 'import json,sys
r = [x["sandbox"].split("-")[0] for x in json.load(sys.stdin)]
r = [x for x in r if x in ("a", "b", "k1", "lead")]
print(" ".join(r[-4:]))')" "b a k1 lead" "leaves first"
