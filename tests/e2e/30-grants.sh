#!/bin/bash
# Grants: what a user lets a tree of sandboxes start, each limit exact, and
# what is refused says why and what to do. Children are real machines.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
gateway_up
nacre image import tiny "$(tiny_image)" >/dev/null
cd "$work" || exit 1
# row VERB [FIELD]: of the last row of the record with that verb.
row() { nacre audit list --verb "$1" --limit 1 -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)[-1][sys.argv[1]])' "${2:-detail}"; }
# grant NAME KEY...: of its grant.
grant() { nacre grant get "$1" -o json | python3 -c 'import json,sys
v = json.load(sys.stdin)["grant"]
for k in sys.argv[1:]: v = v[int(k) if k.isdigit() else k]
print(v)' "${@:2}"; }
total() { grant "$1" total used; }
child() { local parent=$1 name=$2; shift 2; nacre sandbox create --quiet --parent "$parent" --name "$name" "$@"; }
# states NAME: "name=state ..." of all below.
states() { nacre sandbox children "$1" -o json | python3 -c 'import json,sys; print(" ".join(sorted("%s=%s" % (c["name"], c["state"]) for c in json.load(sys.stdin))))'; }
create() { nacre sandbox create --quiet --parent "$1" --name "$2" -- sleep 1000; }

nacre sandbox create --name lead --from tiny --memory 64 -- sleep 1000 >/dev/null 2>&1

# --- no grant
run create lead worker
is "$code" 1 "without a grant there is no child"
like "$out" "have no grant" "which is what it says"
is "$(row child.create verdict) $(row child.create reason)" "refused NOT_ALLOWED" "and the record"
run nacre grant get lead
is "$code $out" "0 no grant: no child can be created" "nor anything to show"
run nacre grant update lead --max-depth 1
is "$code" 4 "none to change"

# --- what may be asked
bad() { local title=$1; shift; run nacre grant create lead "$@"; is "$code" 2 "$title"; }
bad "all limits must be given" --max-depth 1 --max-breadth 1 --program /bin/sh
bad "and a program" --max-depth 1 --max-breadth 1 --max-total 1
bad "a limit of -1" --max-depth -1 --max-breadth 1 --max-total 1 --program /bin/sh
bad "of 2^31" --max-depth 1 --max-breadth 1 --max-total 2147483648 --program /bin/sh
bad "of 17 levels" --max-depth 17 --max-breadth 1 --max-total 1 --program /bin/sh
for when in "4 h" 4H yesterday 0s 31d; do
	bad "expiry '$when'" --max-depth 1 --max-breadth 1 --max-total 1 --program /bin/sh --expires "$when"
done
bad "a program that the image lacks" --max-depth 1 --max-breadth 1 --max-total 1 --program /bin/nope
bad "a glob" --max-depth 1 --max-breadth 1 --max-total 1 --program '/bin/*'
like "$(row grant.create reason)" INVALID_ARGUMENT "is recorded as refused"

# --- set
run nacre grant create lead --max-depth 2 --max-breadth 2 --max-total 3 --program /bin/sh --expires 4h
is "$code" 0 "a grant is set"
is "$(grant lead state) $(grant lead total max) $(total lead) $(grant lead total left)" "live 3 0 3" "and shown with what is used and left"
is "$(grant lead programs 0 path) $(grant lead programs 0 resolved)" "/bin/sh /bin/busybox" "its program in both forms"
is "$(grant lead programs 0 sha256)" "$(sha256sum "$work/tiny/bin/busybox" | cut -d' ' -f1)" "with the image's digest"
like "$(row grant.create)" "depth 2, breadth 2, total 3, expires .*, programs /bin/sh" "the record has all of it"
run nacre grant create lead --max-depth 2 --max-breadth 2 --max-total 3 --program /bin/sh
is "$code" 1 "a second one is refused while it lives"
like "$out" "nacre grant update lead" "and says what to do"

# --- limits
run create lead worker
is "$code" 0 "a child is opened"
like "$out" "sandbox 'lead/worker' is running, also known as 'worker-[0-9a-f]{5}'" "under its own name and one for those who know no trees"
run create lead worker
is "$code" 1 "its name is taken among its parent's children"
is "$(row child.create reason)" ALREADY_EXISTS "as the record says"
run create lead/worker leaf
is "$code" 0 "the child opens another"
run create lead/worker/leaf deep
is "$code $(row child.create reason)" "1 LIMIT_REACHED" "depth is exact"
like "$out" "depth is used up: 2 of 2.*nacre grant update lead --max-depth" "and says who can raise it"
run child lead box --kind tool
is "$code" 0 "a tool is opened beside it"
run child lead box2 --kind tool
is "$code" 1 "breadth is exact"
like "$out" "breadth is used up: 2 of 2" "and says so"
run child lead/box inner --kind tool
is "$code" 1 "a tool opens nothing"
nacre grant update lead --max-breadth 5 >/dev/null
run child lead box2 --kind tool
is "$code" 1 "total is exact"
like "$out" "total is used up: 3 of 3" "and says so"
nacre grant update lead --max-total 4 >/dev/null
run child lead box2 --kind tool
is "$code" 0 "a raised limit holds at the next call"
is "$(total lead)" 4 "all four count"
nacre sandbox delete "$(nacre sandbox children lead -o json | python3 -c 'import json,sys; print([c["full_name"] for c in json.load(sys.stdin) if c["name"]=="box2"][0])')" >/dev/null 2>&1
is "$(total lead) $(grant lead breadth used)" "4 2" "deleting gives breadth back, not total"
nacre grant update lead --max-total 2 >/dev/null
is "$(grant lead total left) $(states lead)" "0 box=running leaf=running worker=running" "shrinking below what is in use stops nothing"

# --- a grant hangs on a root
run nacre grant create lead/worker --max-depth 1 --max-breadth 1 --max-total 1 --program /bin/sh
is "$code" 2 "a grant on a child is invalid"
like "$out" "root of a tree, which is 'lead'" "and names the root"

# --- arguments
nacre grant update lead --max-total 100 --max-breadth 100 >/dev/null
wrong() { local title=$1; shift; run nacre sandbox create --quiet --parent lead "$@"; is "$code" 2 "$title is invalid"; }
wrong "a name with a capital" --name Worker -- true
wrong "one of 14 bytes" --name aaaaaaaaaaaaaa -- true
wrong "an agent without a command" --name x
wrong "a tool with one" --name x --kind tool -- true
wrong "a kind that is none" --name x --kind robot -- true
wrong "idle_seconds of 5" --name x --kind tool --idle 5
wrong "idle_seconds of an agent" --name x --idle 60 -- true
wrong "wait_ms of 45001" --name x --wait-ms 45001 -- true
wrong "a request_id of 65 bytes" --name x --request-id "$(printf 'a%.0s' {1..65})" -- true
wrong "a reserved variable" --name x --env NACRE_X=1 -- true
wrong "257 arguments" --name x -- $(seq 257)
is "$(total lead)" 4 "none of them was charged"

# --- request ids
for i in 1 2 3 4 5 6 7 8; do
	nacre sandbox create --quiet --parent lead --name once --request-id r-1 -o json -- sleep 1000 >"once.$i" 2>&1 &
done
wait
is "$(total lead)" 5 "eight equal requests at once start one"
is "$(nacre sandbox children lead -o json | grep -o '"name":"once"' | wc -l)" 1 "of that name"
run nacre sandbox create --quiet --parent lead --name once --request-id r-1 -o json -- sleep 1000
is "$code" 0 "sent again later it gives the first result"
is "$(python3 -c 'import json,sys; print(json.loads(sys.argv[1])["state"])' "$out")" running "with the state of now"
run nacre sandbox create --quiet --parent lead --name once --request-id r-1 -- sleep 1001
is "$code" 2 "with other arguments it is invalid"
run nacre sandbox create --quiet --parent lead --name gone --request-id r-2 -- /bin/nope
is "$code" 1 "a start that fails"
run nacre sandbox create --quiet --parent lead --name gone --request-id r-2 -- sleep 1000
is "$code" 0 "leaves its id free"
is "$(total lead)" 6 "and gives its place back"

# --- revoke
run nacre grant revoke lead
is "$code $(grant lead state)" "0 revoked" "a grant is revoked"
run create lead late
is "$code $(row child.create reason)" "1 GRANT_REVOKED" "then nothing is opened"
like "$(states lead)" "worker=running" "what runs goes on"
run nacre sandbox create --quiet --parent lead --name once --request-id r-1 -- sleep 1000
is "$code" 0 "a result that was there is still told"
nacre sandbox stop "$(nacre sandbox children lead -o json | python3 -c 'import json,sys; print([c["full_name"] for c in json.load(sys.stdin) if c["name"]=="box"][0])')" >/dev/null 2>&1
run nacre sandbox start "$(nacre sandbox children lead -o json | python3 -c 'import json,sys; print([c["full_name"] for c in json.load(sys.stdin) if c["name"]=="box"][0])')"
is "$code" 1 "nor is a stopped one started again"
run nacre grant revoke lead
is "$code" 0 "revoking twice is no mistake"
run nacre grant create lead --max-depth 1 --max-breadth 9 --max-total 9 --program /bin/sh --expires 3s
is "$code" 0 "a new one replaces it"
is "$(total lead)" 4 "and begins with those that live"
until_is expired grant lead state
ok $? "it expires by the clock"
run create lead late
is "$code $(row child.create reason)" "1 GRANT_EXPIRED" "and nothing is opened"
nacre grant create lead --max-depth 1 --max-breadth 9 --max-total 9 --program /bin/sh >/dev/null
run nacre grant revoke lead --stop-children
is "$code" 0 "revoke can stop the children"
until_is "box=stopped gone=stopped leaf=stopped once=stopped worker=stopped" states lead
ok $? "all of them"
is "$(get lead state)" running "but not the root"
nacre sandbox delete lead >/dev/null 2>&1
is "$(nacre sandbox list)" "no sandboxes" "deleting the root deletes all below"
is "$(nacre grant list)" "no grants" "and its grant is not listed"

# --- 64 at once
nacre sandbox create --name wide --from tiny --memory 64 -- sleep 1000 >/dev/null 2>&1
nacre grant create wide --max-depth 1 --max-breadth 256 --max-total 5 --program /bin/sh >/dev/null
for i in $(seq 64); do
	(nacre sandbox create --quiet --parent wide --name "c$i" -- sleep 1000 >"wide.$i" 2>&1; echo $? >"wide.code.$i") &
done
wait
is "$(cat wide.code.* | sort | uniq -c | tr -s ' \n' ' ')" " 5 0 59 1 " "of 64 creates at once with a total of 5, 5 start and 59 are refused"
is "$(total wide) $(states wide | tr ' ' '\n' | grep -c running)" "5 5" "and 5 are there"
is "$(cat wide.[0-9]* | grep -c 'total is used up: 5 of 5')" 59 "each of the others is told why"
nacre sandbox delete wide >/dev/null 2>&1
