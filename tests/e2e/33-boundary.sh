#!/bin/bash
# What children are proved against: the policy that is in force in their
# parent, not the one that was written since. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
gateway_up
nacre image import tiny "$(tiny_image)" >/dev/null
cd "$work" || exit 1
row() { nacre audit list --verb "$1" --limit 1 -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)[-1][sys.argv[1]])' "${2:-detail}"; }
count() { nacre audit list --verb "$1" -o json | grep -o '"row"' | wc -l; }
create() { nacre sandbox create --quiet --parent "$1" --name "$2" "${@:3}" -- sleep 1000; }
# full NAME [PARENT]: what the whole gateway calls the child of that name.
full() { nacre sandbox children "${2:-lead}" -o json | python3 -c 'import json,sys
for c in json.load(sys.stdin):
    if c["name"] == sys.argv[1]: print(c["full_name"])' "$1"; }
stale() { nacre sandbox list --stale | tail -n +2 | cut -d' ' -f1 | sed 's/-.*//' | sort | tr '\n' ' '; }
# sees: generation written and in force, as get says.
sees() { echo "$(get "$1" policy_generation) $(get "$1" generation_in_force)"; }
hash_of() { nacre policy check -o json "$1" | python3 -c 'import json,sys; print(json.load(sys.stdin)["hash"])'; }
api() {
	printf 'version: 1\nfilesystem_policy: {read_only: [/home], read_write: [/home/agent]}\nlandlock: {}\nprocess: {}\nnetwork_policies:\n  api:\n'
	printf '    endpoints: [{host: api.example.com, port: 443, protocol: rest, %s}]\n    binaries: [{path: /usr/bin/curl}]\n' "$1"
}
api 'rules: [{allow: {method: GET, path: "/v1/**"}}]' >middle.yaml
api 'rules: [{allow: {method: GET, path: "/**"}}]' >wide.yaml
api 'rules: [{allow: {method: GET, path: "/v1/items/*"}}]' >narrow.yaml
api 'rules: [{allow: {method: GET, path: "/v1/items/one"}}]' >one.yaml
limits=(--grant-max-depth 4 --grant-max-breadth 8 --grant-max-total 100 --grant-program /bin/sh)
nacre sandbox create --quiet --name lead --from tiny --memory 64 --policy middle.yaml "${limits[@]}" -- sleep 1000 >/dev/null 2>&1
is "$(sees lead)" "1 1" "the first policy is in force"

# --- widened
run nacre policy set lead wide.yaml
is "$code" 0 "a wider policy is written to a running parent"
is "$(sees lead)" "2 1" "which runs under the old one until it starts again"
like "$(nacre sandbox get lead)" 'in force +generation 1, until it starts again' "and get says so"
run create lead early --policy wide.yaml
is "$code" 1 "a child within what is written, but over what runs, is refused"
like "$out" 'exceeds the parent: network' "by what runs"
like "$(row child.create)" "parent sha256:$(hash_of middle.yaml), verdict exceeds the parent" "whose hash is in the record"
endpoint='{"host":"api.example.com","port":443,"protocol":"rest","rules":[{"allow":{"method":"GET","path":"/**"}}]}'
run nacre mcp call check_policy '{"parent":"lead","policy":{"network_policies":{"api":{"endpoints":['"$endpoint"'],"binaries":[{"path":"/usr/bin/curl"}]}}}}'
like "$out" '"allowed":false.*POLICY_EXCEEDS_PARENT' "a proof alone says the same"
run nacre mcp call get_policy '{"id":"lead"}'
like "$out" "$(hash_of middle.yaml)" "and get_policy shows it"
run create lead heir
is "$(get "$(full heir)" policy_hash)" "$(hash_of middle.yaml)" "whoever inherits gets what runs"
run create lead calm --policy one.yaml
is "$code" 0 "and one within it is opened"
run nacre policy set "$(full calm)" wide.yaml
is "$code" 1 "a later write to a child is bound by what runs too"
like "$(row policy.write)" "parent sha256:$(hash_of middle.yaml), verdict exceeds the parent" "as the record shows"

# --- the gateway comes back
pid=$(gateway_pid)
alive() { [ -e "/proc/$pid" ] && echo yes; }
kill -9 "$pid"
until_is "" alive
gateway_up
is "$(sees lead)" "2 1" "a gateway that comes back knows what is in force"
run create lead early --policy wide.yaml
is "$code" 1 "and still proves against it"

# --- in force at last
nacre sandbox stop lead >/dev/null
is "$(sees lead)" "2 0" "without a machine nothing is in force"
nacre sandbox start lead >/dev/null
is "$(sees lead)" "2 2" "from the next start on it is in force"
run create lead early --policy wide.yaml
is "$code" 0 "so the child is opened"
is "$(stale)" "" "nobody is stale"

# --- narrowed: nothing that runs is touched
nacre sandbox start "$(full calm)" >/dev/null
nacre sandbox start "$(full heir)" >/dev/null
before=$(count sandbox.stale)
run nacre policy set lead narrow.yaml
is "$code $(sees lead)" "0 3 2" "a narrower policy is written to a running parent"
until_is "early heir " stale
ok $? "children that exceed it are listed as stale"
is "$(get "$(full early)" state) $(get "$(full heir)" state)" "running running" "and run on"
is "$(get "$(full early)" stale_boundary) $(get "$(full early)" stale_maximum) $(get "$(full calm)" stale_boundary)" "True False False" "by their boundary, not by the maximum"
like "$(nacre sandbox get "$(full early)")" "exceeds its parent's policy of now" "get says so in words"
is "$(($(count sandbox.stale) - before))" 2 "one row of the record for each"
is "$(row sandbox.stale reason)" stale_boundary "with its reason"
like "$(row sandbox.stale)" "parent sha256:$(hash_of narrow.yaml) generation 3, verdict exceeds the parent: network: /usr/bin/curl  GET" "what it was judged by, and a counterexample"
run create lead late --policy middle.yaml
is "$code" 0 "what is in force still holds for new children"
until_is "early heir late " stale
ok $? "who is born outside of what is to come is stale at once"
nacre sandbox stop "$(full late)" >/dev/null
run nacre sandbox start "$(full late)"
is "$code $(get "$(full late)" stale_boundary)" "0 True" "it starts again under what is in force, and is stale still"
run nacre policy set "$(full late)" one.yaml
is "$code" 0 "a policy of its own inside of it is written"
until_is "early heir " stale
ok $? "and it is stale no more"

# --- a stale child does not start below the narrower policy
nacre sandbox stop lead >/dev/null
nacre sandbox start lead >/dev/null
is "$(sees lead)" "3 3" "the narrower policy is in force"
run nacre sandbox start "$(full early)"
is "$code" 1 "a stale child does not start"
like "$out" 'exceeds the parent: network' "with the reason"
is "$(row sandbox.start verdict) $(row sandbox.start reason) $(get "$(full early)" state)" "refused POLICY_EXCEEDS_PARENT stopped" "is recorded, and stays as it was"
run nacre sandbox start "$(full calm)"
is "$code" 0 "one that is inside starts"
run nacre policy set "$(full early)" narrow.yaml
is "$code" 0 "its policy is narrowed"
run nacre sandbox start "$(full early)"
is "$code" 0 "and it starts"
is "$(stale)" "heir " "the other is stale as before"
nacre policy set lead middle.yaml >/dev/null
until_is "" stale
ok $? "a policy that takes it in again ends that"

# --- a write is completed as a create is
nacre sandbox delete lead >/dev/null
net() { printf 'version: 1\nnetwork_policies: {api: {endpoints: [{host: "%s", port: 443}], binaries: [{path: /usr/bin/curl}]}}\n' "$1"; }
{ net '*.example.com'; printf 'filesystem_policy: {read_only: [/home]}\nlandlock: {compatibility: best_effort}\n'; } >sky.yaml
net api.example.com >name.yaml
net www.example.com >other.yaml
printf 'version: 1\nprocess: {}\n' >none.yaml
nacre sandbox create --quiet --name sky --from tiny --memory 64 --policy sky.yaml "${limits[@]}" -- sleep 1000 >/dev/null 2>&1
create sky cloud --policy name.yaml >/dev/null 2>&1
cloud=$(full cloud sky)
hash=$(get "$cloud" policy_hash)
run nacre policy set "$cloud" name.yaml
is "$code $(get "$cloud" policy_hash) $(get "$cloud" policy_generation)" "0 $hash 1" "the file a child was created with is its policy already"
run nacre policy set "$cloud" other.yaml
is "$code $(get "$cloud" policy_generation)" "0 2" "a file with a network only is written to a running child"
like "$(get "$cloud" policy | tr "\n" " ")" 'read_only:.*/home.*best_effort.*www.example.com.*public' "its other sections are its parent's"
run nacre policy set "$cloud" none.yaml
is "$code" 0 "and one without a network"
like "$(get "$cloud" policy)" '\*.example.com' "has its parent's"

# --- a policy in JSON is the same one to be judged and to be opened
# policy KEY VALUE: of a query.
policy() { printf '{"network_policies":{"api":{"endpoints":[{"host":"api.example.com","port":443,"protocol":"rest","rules":[{"allow":{"path":"/a","query":{"%s":%s}}}]}],"binaries":[{"path":"/usr/bin/curl"}]}}}' "$1" "$2"; }
run nacre mcp call create_sandbox '{"parent":"sky","kind":"tool","name":"five","policy":'"$(policy a 5)"'}'
like "$out" 'POLICY_INVALID.*byte' "a number that is no glob opens nothing"
run nacre mcp call check_policy '{"parent":"sky","policy":'"$(policy a 5)"'}'
like "$out" 'POLICY_INVALID.*byte' "and is not judged"
run nacre mcp call check_policy '{"parent":"sky","policy":'"$(policy '\ud83d\ude00' '"5"')"'}'
like "$out" '"allowed":true' "a key in escapes is read"
