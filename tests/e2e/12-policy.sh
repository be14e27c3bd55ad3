#!/bin/bash
# Policy files without a gateway: check says all that is wrong, explain why a
# request passes or not. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"

cat >"$work/good.yaml" <<'YAML'
version: 1
network_policies:
  gh:
    endpoints:
      - host: api.github.com
        port: 443
        protocol: rest
        access: read-only
        deny_rules: [{path: /admin/**}]
      - {host: "*.example.com", port: 443}
    binaries: [{path: /usr/bin/gh}]
YAML
cat >"$work/bad.yaml" <<'YAML'
version: 2
nope: 1
network_policies: {a: {endpoints: [{host: "*.com", port: 6443}]}}
YAML
printf '{"version":1,"nope":1}' >"$work/bad.json"

run nacre policy check "$work/good.yaml"
is "$code" 0 "a good file is valid"
like "$out" 'valid, sha256:[0-9a-f]{64}' "and has a hash"
run nacre policy check -o json "$work/good.yaml"
like "$out" '"valid":true' "also in JSON"
run nacre policy check "$work/bad.yaml"
is "$code" 2 "a bad file is invalid"
like "$out" ':1:10: version.*:2:1: unknown key .nope.*binaries.*two labels.*6443' "and every mistake is told in order"
run nacre policy check -o json "$work/bad.yaml"
is "$code" 2 "invalid in JSON too"
like "$out" '"count":5' "with their count"
run nacre policy check "$work/bad.json"
like "$out" 'byte 13: unknown key' "a JSON file has bytes for places"
run nacre policy check "$work/missing.yaml"
is "$code" 125 "a missing file is no invalid policy"

# asks CODE REGEX TITLE PROGRAM METHOD URL
asks() {
	run nacre policy explain "$work/good.yaml" -- "$4" "$5" "$6"
	is "$code" "$1" "$3: exit $1"
	like "$out" "$2" "$3: says why"
}
asks 0 'network_policies.gh endpoint 0 access read-only, line 5' "a GET" /usr/bin/gh GET https://api.github.com/user
asks 1 'no rule' "a POST" /usr/bin/gh POST https://api.github.com/user
asks 1 'endpoint 0 deny 0, line 9' "a denied path in disguise" /usr/bin/gh GET https://api.github.com/x/%2e%2e/admin/
asks 1 'program' "another program" /usr/bin/curl GET https://api.github.com/user
asks 1 'no endpoint' "another port" /usr/bin/gh GET http://api.github.com/user
asks 1 'never' "a metadata address" /usr/bin/gh GET http://169.254.169.254/
asks 0 'endpoint 1' "a wildcard" /usr/bin/gh GET https://a.example.com/
asks 2 'URL' "no URL" /usr/bin/gh GET a.example.com
run nacre policy explain --address 10.0.0.1 "$work/good.yaml" -- /usr/bin/gh GET https://a.example.com/
is "$code" 1 "a wildcard at a private address is refused"
