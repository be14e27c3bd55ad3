#!/bin/bash
# The maximum of all policies: what is inside it is created and started, what
# is not is refused with a request that shows it; the record has both hashes.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
gateway_up
root=$(tiny_image)
mkdir "$root/home/agent/w"
nacre image import tiny "$root" >/dev/null
cd "$work" || exit 1

# api FILES RULE: a policy.
api() {
	printf 'version: 1\nfilesystem_policy: %s\nlandlock: {}\nprocess: {}\nnetwork_policies:\n  api:\n' "$1"
	printf '    endpoints: [{host: api.example.com, port: 443, protocol: rest, %s}]\n' "$2"
	printf '    binaries: [{path: /usr/bin/curl}]\n'
}
api '{read_only: [/home], read_write: [/home/agent/w]}' 'rules: [{allow: {method: GET, path: "/v1/**"}}], deny_rules: [{path: "/v1/admin/**"}]' >maximum.yaml
api '{read_only: [/home], read_write: [/home/agent/w]}' 'rules: [{allow: {method: GET, path: "/v1/list"}}]' >narrow.yaml
api '{read_only: [/home/agent]}' 'rules: [{allow: {method: GET, path: "/v1/items/*"}}]' >inside.yaml
api '{read_only: [/home/agent]}' 'rules: [{allow: {method: GET, path: "/v1/**"}}]' >outside.yaml
api '{read_only: [/home, /proc/self/fd]}' 'rules: [{allow: {method: GET, path: "/v1/items/*"}}]' >unsupported.yaml
grep -v process inside.yaml >three.yaml
printf 'version: 1\nnope: 1\nport: 2\n' >invalid.yaml
# row VERB [FIELD]: of the last row of the record with that verb.
row() { nacre audit list --verb "$1" --limit 1 -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)[-1][sys.argv[1]])' "${2:-detail}"; }
hash_of() { nacre policy check -o json "$1" | python3 -c 'import json,sys; print(json.load(sys.stdin)["hash"])'; }
field() { python3 -c 'import json,sys
v = json.load(sys.stdin)
for k in sys.argv[1:]: v = v[int(k) if k.isdigit() else k]
print(v)' "$@" <<<"$out"; }

# --- no maximum
run nacre policy get-maximum
is "$code $out" "0 # no maximum was ever set" "at first there is none"
run nacre sandbox create --name lead --from tiny --policy outside.yaml
is "$code" 0 "any policy may be"
like "$out" "process: enforced: everything runs as uid 1000, gid 1000" "create says what is enforced"
like "$out" "filesystem_policy: enforced: beside what it names" "the files among it"
like "$out" "network_policies: not enforced yet: there is no network at all, so every allow is unreachable" "and that there is no network"
like "$(row sandbox.create)" "policy sha256:$(hash_of outside.yaml)" "the record has the policy's hash"
is "$(get lead policy_hash)" "$(hash_of outside.yaml)" "so has the sandbox"
is "$(get lead policy_generation)" 1 "as its first generation"
like "$(get lead policy)" '/v1/\*\*' "and the policy itself"

# --- set
run nacre policy set-maximum three.yaml
is "$code" 2 "a maximum that lacks a section is invalid"
like "$out" process "and says which"
run nacre policy set-maximum invalid.yaml
is "$code" 2 "so is one that is no policy"
like "$out" 'invalid.yaml:2:1: .*invalid.yaml:3:1: ' "with all that is wrong"
is "$(nacre policy get-maximum)" "# no maximum was ever set" "and nothing was set"
run nacre policy set-maximum maximum.yaml
is "$code $out" "0 maximum is generation 1, sha256:$(hash_of maximum.yaml)" "a whole one is taken"
like "$(row policy.set_maximum)" "generation 1, maximum sha256:$(hash_of maximum.yaml)" "and recorded"
nacre policy get-maximum >got.yaml
is "$(hash_of got.yaml)" "$(hash_of maximum.yaml)" "get-maximum prints a file that is the same policy"
run nacre policy get-maximum -o json
is "$(field is_set) $(field generation) $(field hash)" "True 1 $(hash_of maximum.yaml)" "also as JSON"

# --- another user
before=$(nacre policy get-maximum -o json)
if [ "$(id -u)" = 0 ]; then
	chmod 711 "$work" "$NACRE_STATE"
	chmod 666 "$NACRE_STATE/gateway.sock"
	cp "$NACRE_BIN/nacre" "$work/other"
	chmod 755 "$work/other"
	cp maximum.yaml "$work/theirs.yaml"
	chmod 644 "$work/theirs.yaml"
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$work/other" policy set-maximum --state "$NACRE_STATE" "$work/theirs.yaml"
	is "$code" 1 "another user of the host is refused"
	like "$out" 'not a user' "by who they are"
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$work/other" policy set-maximum --state "$NACRE_STATE" --none
	is "$code" 1 "also to lift it"
	strangers="uid:65534 refused 2 requests"
	chmod 700 "$NACRE_STATE"
fi
is "$(nacre policy get-maximum -o json)" "$before" "the maximum is as it was"

# --- create
run nacre sandbox create --name within --from tiny --policy inside.yaml
is "$code" 0 "a policy inside the maximum is created"
like "$(row sandbox.create)" "policy sha256:$(hash_of inside.yaml), maximum sha256:$(hash_of maximum.yaml) generation 1, verdict within" "the record has verdict and hashes"
run nacre sandbox create --name over --from tiny --policy outside.yaml
is "$code" 1 "one outside is refused"
is "$out" "nacre: exceeds the maximum: network
  /usr/bin/curl  GET https://api.example.com/v1/admin/ at 1.1.1.1
  child:   network_policies.api endpoint 0 allows it (rule 0)
  maximum: network_policies.api endpoint 0 denies it (deny 0: /v1/admin/**)
  hint: add deny /v1/admin/** to the child, or narrow what it allows" "with a request, both causes and a hint"
is "$(row sandbox.create verdict) $(row sandbox.create reason)" "refused POLICY_EXCEEDS_MAXIMUM" "the record has the refusal"
like "$(row sandbox.create)" "policy sha256:$(hash_of outside.yaml), maximum sha256:$(hash_of maximum.yaml) generation 1, verdict exceeds the maximum: network: /usr/bin/curl  GET https://api.example.com/v1/admin/" "its hashes and its counterexample"
run nacre sandbox create --name over --from tiny --policy unsupported.yaml
is "$code" 3 "one that cannot be judged is refused as such"
like "$out" 'kernel_path.*/proc/self/fd' "with the place"
is "$(row sandbox.create reason)" POLICY_UNSUPPORTED "and recorded so"
run nacre sandbox create --name over --from tiny --policy invalid.yaml
is "$code" 2 "one that is no policy is invalid"
run nacre sandbox create --name over --from tiny
is "$code" 1 "without a policy the working directory is granted: not in this maximum"
like "$out" 'exceeds the maximum: filesystem' "which is what it says"
is "$(nacre sandbox list | tail -n +2 | cut -d' ' -f1 | tr '\n' ' ')" "lead within " "what was refused left nothing"

# --- what became stale
until_is "lead" sh -c 'nacre sandbox list --stale | tail -n +2 | cut -d" " -f1'
ok $? "what runs and is not inside any more is listed as stale"
is "$(get lead state)" running "and runs on"
is "$(get lead stale_maximum)" True "get says it too"
like "$(row sandbox.stale)" "policy sha256:$(hash_of outside.yaml), maximum sha256:$(hash_of maximum.yaml) generation 1, verdict exceeds" "one row of the record says when and why"
is "$(nacre audit list --verb sandbox.stale -o json | grep -o '"row"' | wc -l)" 1 "and only one"

# --- start
nacre sandbox stop lead within >/dev/null
run nacre sandbox start lead
is "$code" 1 "what is outside does not start again"
like "$out" 'exceeds the maximum: network.*/v1/admin/' "with the counterexample"
is "$(row sandbox.start verdict) $(row sandbox.start reason)" "refused POLICY_EXCEEDS_MAXIMUM" "and recorded"
is "$(get lead state)" stopped "it stays stopped"
run nacre sandbox start within
is "$code" 0 "what is inside starts again"
nacre sandbox stop within >/dev/null
run nacre policy set-maximum narrow.yaml
is "$code" 0 "the maximum is narrowed"
run nacre sandbox start within
is "$code" 1 "and a stopped sandbox that was inside does not start"
until_is "lead within " sh -c 'nacre sandbox list --stale | tail -n +2 | cut -d" " -f1 | tr "\n" " "'
ok $? "both are stale now"
is "$(nacre audit list --verb sandbox.stale -o json | grep -o '"row"' | wc -l)" 2 "one row for each"

# --- policy writes
run nacre policy set within outside.yaml
is "$code" 1 "a policy write is capped too"
is "$(row policy.write reason)" POLICY_EXCEEDS_MAXIMUM "and recorded"
run nacre policy set within narrow.yaml
is "$code" 0 "a write inside is taken"
is "$(get within policy_generation) $(get within policy_hash)" "2 $(hash_of narrow.yaml)" "as the next generation"
is "$(get within stale_maximum)" False "which is not stale"
like "$(row policy.write)" "verdict within, policy generation 2" "and recorded"

# --- what a live sandbox's policy may not become
nacre policy set-maximum --none >/dev/null
nacre sandbox start within >/dev/null
sed 's,/home/agent/w\],/home],' narrow.yaml >files.yaml
run nacre policy set within files.yaml
is "$code" 75 "the files of a live sandbox cannot be changed"
like "$out" 'stop it, write the policy, start it' "and what to do"
run nacre sandbox exec within -- sh -c 'cat /etc/group >/dev/null && ls /home'
is "$code" 0 "its policy is in force, as of its start"
sed 's,process: {},process: {run_as_user: "77"},' narrow.yaml >process.yaml
nacre sandbox stop within >/dev/null
run nacre policy set within process.yaml
is "$code" 2 "nor its user, ever"
nacre policy set-maximum narrow.yaml >/dev/null

# --- another life of the gateway
nacre gateway stop >/dev/null
gateway_up
run nacre policy get-maximum -o json
is "$(field generation) $(field hash)" "4 $(hash_of narrow.yaml)" "a restart keeps the maximum"
[ -z "${strangers-}" ] ||
	like "$(row call.counted caller) $(row call.counted verdict) $(row call.counted)" "^$strangers" "and another user's requests were counted in one row"
run nacre sandbox create --name over --from tiny --policy inside.yaml
is "$code" 1 "which still caps"
until_is "lead" sh -c 'nacre sandbox list --stale | tail -n +2 | cut -d" " -f1'
ok $? "and what is outside is found, though the sweep was cut short"

# --- lifted
run nacre policy set-maximum --none
is "$code" 0 "the maximum is lifted"
until_is "no stale sandboxes" nacre sandbox list --stale
ok $? "nothing is stale without one"
run nacre sandbox start lead
is "$code" 0 "and what was outside starts"

# --- hard proofs do not hold up the rest
python3 "$top/tests/lib/hard_policy.py" hard.yaml hard-maximum.yaml
nacre policy set-maximum hard-maximum.yaml >/dev/null
run nacre sandbox create --name hard --from tiny --policy hard.yaml
is "$code" 3 "a proof that does not end is given up: not proved"
like "$out" 'network: out_of_budget' "and says so"
nacre policy set-maximum --none >/dev/null
mkdir py
protoc -I "$top/proto" --python_out=py "$top"/proto/openshell_*.proto "$top/proto/nacre_v1.proto"
while IFS=$'\t' read -r result title; do
	case $result in
	ok) ok 0 "$title" ;;
	'not ok') ok 1 "$title" ;;
	'#') printf '#   %s\n' "$title" ;;
	esac
done < <(/usr/bin/python3 "$top/tests/lib/proofs.py" "$NACRE_STATE/gateway.sock" py hard.yaml hard-maximum.yaml 2>py.log)
[ -s py.log ]
ok $((! $?)) "the client came to its end"
sed 's/^/# /' py.log | tail -n 20
echo "# longest tick of the gateway: $(nacre gateway status -o json | python3 -c 'import json,sys; print(json.load(sys.stdin).get("longest_tick_us"))') us"
