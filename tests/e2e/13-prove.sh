#!/bin/bash
# policy prove and diff: verdicts, exit codes, what is printed; no gateway.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"

cd "$work" || exit 1
cat >parent.yaml <<'END'
version: 1
filesystem_policy: {read_only: [/usr], read_write: [/data]}
network_policies:
  api:
    endpoints:
      - host: "*.example.com"
        port: 443
        protocol: rest
        rules: [{allow: {method: GET, path: "/v1/**"}}]
        deny_rules: [{path: "/v1/admin/**"}]
    binaries: [{path: /usr/bin/curl}]
END
cat >child.yaml <<'END'
network_policies:
  api:
    endpoints: [{host: api.example.com, port: 443, protocol: rest, rules: [{allow: {method: GET, path: "/v1/items/*"}}]}]
    binaries: [{path: /usr/bin/curl}]
END
sed 's,/v1/items/\*,/v1/**,' child.yaml >wide.yaml
printf 'version: 1\nfilesystem_policy: {read_only: [/usr/share]}\nnetwork_policies: {}\n' >files.yaml
printf 'netwrok_policies: {}\n' >invalid.yaml
cat >maximum.yaml <<'END'
version: 1
filesystem_policy: {read_only: [/usr], read_write: [/data]}
landlock: {}
process: {}
network_policies: {}
END

run nacre policy prove child.yaml parent.yaml
is "$code" 0 "a narrower child: exit 0"
is "$out" "within the parent" "and it says so"
run nacre policy prove wide.yaml parent.yaml
is "$code" 1 "a wider child: exit 1"
is "$out" "exceeds the parent: network
  /usr/bin/curl  GET https://api.example.com/v1/admin/ at 1.1.1.1
  child:  network_policies.api endpoint 0 allows it (rule 0)
  parent: network_policies.api endpoint 0 denies it (deny 0: /v1/admin/**)
  hint:   add deny /v1/admin/** to the child, or narrow what it allows" "with a request, both causes and a hint"
run nacre policy prove invalid.yaml parent.yaml
is "$code" 2 "an invalid child: exit 2"
like "$out" 'invalid.yaml:1:1: ' "and its place"
run nacre policy prove files.yaml parent.yaml
is "$code" 3 "what only an image decides: exit 3"
like "$out" 'no_image' "and says so"
run nacre policy prove --maximum maximum.yaml child.yaml parent.yaml
is "$code" 1 "a child within its parent but not the maximum: exit 1"
like "$out" '^exceeds the maximum: network' "and the link that fails is named"
run nacre policy prove --maximum parent.yaml child.yaml parent.yaml
is "$code" 2 "a maximum without all four sections: exit 2"
run nacre policy prove child.yaml
is "$code" 2 "one file only: exit 2"

# json FIELD...: a value of the last -o json output.
json() { python3 -c 'import json,sys
v = json.load(sys.stdin)
for k in sys.argv[1:]: v = v[k]
print(v)' "$@" <<<"$out"; }
run nacre policy prove -o json wide.yaml parent.yaml
is "$(json verdict) $(json link) $(json section)" "exceeds parent network" "JSON: verdict, link, section"
is "$(json witness host) $(json witness path) $(json witness method)" "api.example.com /v1/admin/ GET" "JSON: the witness"
like "$(json completed)" 'allowed_ips: \[public\]' "JSON: the child as it was completed"
run nacre policy prove -o json files.yaml parent.yaml
is "$(json verdict) $(json code) $(json place)" "unsupported no_image /usr/share" "JSON: what cannot be decided"

run nacre policy diff parent.yaml parent.yaml
is "$code $out" "0 equal" "a policy is equal to itself"
run nacre policy diff maximum.yaml parent.yaml
is "$code" 1 "other policies differ: exit 1"
like "$out" 'only parent.yaml allows' "with a request that one of them allows"

finish
