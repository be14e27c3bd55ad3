#!/bin/bash
# A hostile agent: what it is refused, that each refusal is in the record, and
# that nobody else is touched. Its grant's program and another are the same
# bytes under two names, so that only who calls is in question.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
e2e=$NACRE_BIN/../e2e
gateway_up
root=$(tiny_image)
for name in granted other; do cp "$e2e/hostile" "$root/bin/$name"; done
cp "$e2e/ask" "$NACRE_BIN/nacre" "$root/bin/"
install -d -m 777 "$root/work"
install -m 777 "$e2e/hostile" "$root/work/granted"
nacre image import tiny "$root" >/dev/null
cat >"$work/policy.yaml" <<'END'
version: 1
filesystem_policy: {include_workdir: true, read_only: [/bin, /etc, /proc], read_write: [/tmp, /work]}
landlock: {compatibility: best_effort}
END
sum=$(sha256sum "$e2e/hostile" | cut -d' ' -f1)
# tree NAME: a root with a grant of its own.
tree() {
	nacre sandbox create --quiet --name "$1" --from tiny --memory 64 --policy "$work/policy.yaml" \
		--grant-max-depth 2 --grant-max-breadth 8 --grant-max-total 40 --grant-program /bin/granted \
		--grant-program /work/granted --grant-program "/tmp/pinned@sha256:$sum" -- sleep 100000 >/dev/null 2>&1
}
child() { nacre sandbox create --quiet --parent "$1" --name "$2" "${@:3}" >/dev/null 2>&1; }
# below ROOT NAME FIELD: of a child.
below() { nacre sandbox children "$1" -o json | python3 -c 'import json,sys
for c in json.load(sys.stdin):
    if c["name"] == sys.argv[1]: print(c[sys.argv[2]])' "$2" "$3"; }
inside() { run nacre sandbox exec "${in:-lead}" -- "$@"; }
# The same, again while programs outside of the grant have used up their rate.
outside() {
	local end=$((SECONDS + 60))
	inside "$@"
	while [[ $out == *RATE_LIMITED* && $SECONDS -lt $end ]]; do inside "$@"; done
}
# told FIELD: of the refusal in the last line that came.
told() { tail -n 1 <<<"$out" | python3 -c 'import json,sys
r = json.load(sys.stdin)["result"]
print(json.loads(r["content"][0]["text"]).get(sys.argv[1], "") if r.get("isError") else "answered")' "$1" 2>/dev/null; }
# row FIELD: of the last refusal of the lead's in the record.
row() { nacre audit list --caller "sandbox:${who:-$lead}" --limit 1 -o json | python3 -c 'import json,sys; print((json.load(sys.stdin) or [{}])[-1].get(sys.argv[1]))' "$1"; }
head_row() { nacre audit list --limit 1 -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["row"])'; }
# refused WHY TITLE COMMAND...: and recorded as that one call.
refused() {
	local why=$1 title=$2 before
	shift 2
	before=$(head_row)
	outside "$@"
	is "$(told code) $(told why)" "NOT_ALLOWED $why" "$title is refused"
	[ "$(told why)" = "$why" ] || echo "#   said:   $(told message)" >&2
	is "$(row verdict) $(row reason) $(($(row row) > before))" "refused NOT_ALLOWED 1" "and recorded"
}

tree lead
tree victim
child lead worker -- sleep 100000
child lead box --kind tool
child lead/worker leaf --kind tool
child victim kid -- sleep 100000
lead=$(get lead id) victim=$(get victim id) kid=$(below victim kid id) worker=$(below lead worker id)
inside granted ask get_sandbox '{}'
like "$out" '"name":"lead"' "the granted program calls"

# What others have, now and at the end.
facts() {
	nacre grant get victim -o json
	nacre sandbox children victim -o json
	nacre sandbox exec victim -- cat /proc/sys/kernel/random/boot_id
	nacre sandbox exec victim/kid -- cat /proc/sys/kernel/random/boot_id
	get victim vmm_pid
	below lead box state
	gateway_pid
}
facts >"$work/facts"
nacre grant get lead -o json >"$work/grant"
like "$(cat "$work/facts")" '"live".*"running".*-.*-.*running' "others run, with grant, child and machines of their own"

# --- forged headers
secret=$(nacre token create manager --scope grant:write --scope grant:read | tail -n 1)
forged=("Authorization: Bearer $secret" "X-Nacre-Program: /bin/granted" "X-Nacre-Sandbox: $victim" "X-Sandbox-Id: $victim"
	"X-Forwarded-For: 127.0.0.1" "Forwarded: for=127.0.0.1" "Sandbox: $victim" "Program: /bin/granted" "Shared: false")
inside granted ask get_sandbox '{}' "${forged[@]}"
like "$out" '"name":"lead"' "with forged headers it is still who it is"
refused program "another program with forged headers" other ask get_sandbox '{}' "${forged[@]}"
refused scope "a grant tool with a stolen token" granted ask update_grant '{"sandbox":"lead","max_total":99}' "${forged[@]}"

# --- another program
refused program "another program" other ask get_sandbox '{}'
is "$(told program)" /bin/other "which is told who it is"
is "$(row program)" "/bin/other sha256:$sum" "as the record has it"
inside sh -c 'ln -s /bin/granted /tmp/link; exec /tmp/link ask get_sandbox {}'
like "$out" '"name":"lead"' "a link to the granted program is that program"

# --- a copied or changed binary
refused program "a copy" sh -c 'cp /bin/granted /tmp/copy; exec /tmp/copy ask get_sandbox {}'
inside sh -c 'cp /bin/granted /tmp/pinned; exec /tmp/pinned ask get_sandbox {}'
like "$out" '"name":"lead"' "one that is granted by its digest calls"
refused program "that file with a byte more" sh -c 'echo >>/tmp/pinned; exec /tmp/pinned ask get_sandbox {}'
inside /work/granted ask get_sandbox '{}'
like "$out" '"name":"lead"' "a granted program where the agent may write calls"
refused program "that file with a byte more" sh -c 'echo >>/work/granted; exec /work/granted ask get_sandbox {}'
refused program "another file renamed to it" sh -c 'cp /bin/nacre /work/x; cp /bin/other /work/y; echo >>/work/y; mv /work/y /work/granted; exec /work/granted ask get_sandbox {}'
inside sh -c 'cp /bin/other /work/x; mv /work/x /work/granted; exec /work/granted ask get_sandbox {}'
like "$out" '"name":"lead"' "with its own bytes it calls again"
# behind FILE ACT: FILE connects, then ACT is done, then it asks.
behind() { printf '(until [ -s /tmp/held ]; do :; done; %s) | %s hold get_sandbox {} >/tmp/held; tail -n 1 /tmp/held; rm /tmp/held' "$2" "$1"; }
refused program "one that was replaced since it connected" sh -c "$(behind /work/granted 'cp /bin/other /work/x; mv /work/x /work/granted')"
refused program "one that was removed since" sh -c "$(behind /work/granted 'rm /work/granted')"

# --- from memory
inside other memfd /bin/granted get_sandbox '{}'
is "$out" "memfd: Operation not permitted" "a program from memory cannot be made"
outside other name /bin/granted get_sandbox '{}'
is "${out%%$'\n'*} $(told why)" "exe EPERM program" "nor can one give itself another's name"

# --- a connection handed to another program
refused program "a connection passed by SCM_RIGHTS" granted pass /bin/other get_sandbox '{}'
refused program "also when its giver has ended" sh -c 'x=$(granted leave /bin/other get_sandbox {}); echo "$x"'
refused program "one inherited by fork and exec" granted fork /bin/other get_sandbox '{}'
refused program "also when the parent has ended" sh -c 'x=$(granted orphan /bin/other get_sandbox {}); echo "$x"'
refused program "one kept over an exec of another" granted become /bin/other get_sandbox '{}'
refused program "one that another made, and then became the granted program" other become /bin/granted get_sandbox '{}'
refused program "one that another made, and passed to the granted program" other pass /bin/granted get_sandbox '{}'
refused program "the second request, when another holds it by then" granted late /bin/other get_sandbox '{}'
like "${out%%$'\n'*}" '"name":"lead"' "the first was answered"
refused program "also when the first thread of that other has ended" granted shade /bin/other get_sandbox '{}'
like "${out%%$'\n'*}" '"name":"lead"' "the first was answered there too"

# --- into a process that holds one
inside sh -c "$(behind granted 'other reach /bin/granted $(head -n 1 /tmp/held) >/tmp/reached'); cat /tmp/reached"
like "$out" '"name":"lead"' "the granted program is not disturbed"
like "$(grep -v '"result"' <<<"$out")" $'^attach EPERM\nseize EPERM\ntrace a child EPERM\nwrite memory EPERM\nopen memory E(ACCES|NOENT)\nopen descriptor E(NXIO|ACCES|NOENT)\npidfd EPERM\ntake descriptor EPERM$' \
	"by another that reaches into it: ptrace, memory, descriptors"

# --- other sandboxes
# Each tool on each name, from the worker: ancestors, siblings, other trees.
cat >"$work/names.sh" <<'END'
call() {
	until granted ask "$1" "$2" >/tmp/answer; ! grep -q RATE_LIMITED /tmp/answer; do :; done
	cat /tmp/answer
}
for id in "$@"; do
	for tool in get_sandbox stop_sandbox delete_sandbox; do call $tool "{\"id\":\"$id\"}"; done
	call exec "{\"id\":\"$id\",\"argv\":[\"true\"]}"
	call get_file "{\"id\":\"$id\",\"path\":\"/etc/passwd\"}"
done
END
nacre sandbox cp "$work/names.sh" "$(below lead worker full_name):/tmp/names.sh" >/dev/null
names=(lead "$lead" "$(below lead box id)" "$(below lead box full_name)" victim "$victim" victim/kid "$kid" ../lead)
before=$(head_row)
in=lead/worker inside sh /tmp/names.sh "${names[@]}"
count() { tr -d '\\' | grep -o '"code":"[A-Z_]*"' | sort | uniq -c | tr -s ' \n' ' '; }
is "$(count <<<"$out")" " $((5 * ${#names[@]})) \"code\":\"NOT_FOUND\" " "others' sandboxes are not found, by no name and no tool"
is "$(nacre audit list --after "$before" --caller "sandbox:$worker" --verdict refused --limit 1000 -o json | grep -o '"reason":"NOT_FOUND"' | wc -l)" \
	"$((5 * ${#names[@]}))" "and each attempt is recorded"
for tool in list_sandboxes get_grant get_policy check_policy create_sandbox; do
	case $tool in
	list_sandboxes | create_sandbox) field=parent ;;
	get_grant) field=sandbox ;;
	*) field=id ;;
	esac
	[ $tool != check_policy ] || field=parent
	in=lead/worker outside granted ask $tool "{\"$field\":\"victim\"}"
	like "$(told code)" '^(INVALID_ARGUMENT|NOT_FOUND)$' "$tool takes no '$field' there"
done
for tool in 'exec {"id":"worker/leaf","argv":["true"]}' 'get_file {"id":"worker/leaf","path":"/etc/passwd"}'; do
	outside granted ask "${tool%% *}" "${tool#* }"
	like "$(told code)" '^NOT_(ALLOWED|FOUND)$' "${tool%% *} in a grandchild is its parent's"
done
for tool in stop_sandbox delete_sandbox; do refused self "$tool of itself" granted ask $tool "{\"id\":\"$lead\"}"; done

# --- grants, by every surface
for name in lead victim "$victim"; do
	for tool in create_grant update_grant revoke_grant; do
		arguments="{\"sandbox\":\"$name\"}"
		[ $tool != update_grant ] || arguments="{\"sandbox\":\"$name\",\"max_total\":99}"
		[ $tool != create_grant ] || arguments="{\"sandbox\":\"$name\",\"max_depth\":9,\"max_breadth\":9,\"max_total\":9,\"programs\":[\"/bin/other\"]}"
		refused scope "$tool of $name" granted ask $tool "$arguments"
	done
done
is "$(row verb)" grant.revoke "by its own verb"
refused scope "list_grants" granted ask list_grants '{}'
in=lead/worker who=$worker refused scope "an agent below is no better: update_grant" granted ask update_grant '{"sandbox":"lead","max_total":99}'
for operation in CreateGrant GetGrant ListGrants UpdateGrant RevokeGrant SetMaximumPolicy CreateToken; do
	inside sh -c "printf 'POST /nacre.v1.Nacre/$operation HTTP/1.1\r\nHost: openshell.local\r\nContent-Type: application/grpc\r\nTE: trailers\r\nContent-Length: 5\r\nConnection: close\r\n\r\n\0\0\0\0\0' >/tmp/q; ask 127.0.0.80 80 /tmp/q"
	like "$out" '^HTTP/1.1 404 ' "gRPC $operation is not at the door"
done
run nacre gateway status -o json
port=$(python3 -c 'import json,sys; print(json.loads(sys.argv[1])["mcp"].split(":")[2].split("/")[0])' "$out")
for place in "127.0.0.1 $port" "10.0.2.2 $port" "127.0.0.80 $port" "192.168.0.1 $port"; do
	inside ask $place /tmp/q
	like "$code $out" '^1 .*(refused|denied)' "the gateway's own port is not at ${place% *}"
done
inside nacre grant update lead --max-total 99
ok $((code == 0)) "the command has no gateway to ask in there"
inside sh -c 'ls -d /dev/vport* /dev/virtio-ports /dev/vsock /run/*.sock 2>/dev/null | wc -l'
is "$out" 0 "nor is there another way out"
nacre grant get lead -o json | cmp -s - "$work/grant"
ok $? "the grant is as it was"

# --- launch tokens on the host's side
mkdir "$work/py"
protoc -I "$top/proto" --python_out="$work/py" "$top"/proto/openshell_*.proto "$top/proto/nacre_v1.proto"
for audience in gateway sandbox door; do
	token=$("$e2e/launch" "$NACRE_STATE/token.key" "$lead" $audience)
	before=$(head_row)
	out=$(PYTHONPATH="$work/py" timeout 120 /usr/bin/python3 "$top/tests/e2e/hostile.py" "unix:$NACRE_STATE/gateway.sock" "$token" 2>&1)
	read -r denied of <<<"$out"
	ok $((denied == of && of > 40 ? 0 : 1)) "a launch token for the $audience is PERMISSION_DENIED by all $of operations of the north API"
	[ "$denied" = "$of" ] || echo "# $out"
	is "$(nacre audit list --after "$before" --caller "sandbox:$lead" --verdict refused --limit 1000 -o json | grep -o '"reason":"NOT_ALLOWED"' | wc -l)" "$of" "each is recorded, with the sandbox that it names"
	run curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" -H 'content-type: application/json' -d '{}' "http://127.0.0.1:$port/mcp"
	is "$out" 401 "and MCP does not know it"
done
out=$(PYTHONPATH="$work/py" timeout 120 /usr/bin/python3 "$top/tests/e2e/hostile.py" "unix:$NACRE_STATE/gateway.sock" "${token%?????}AAAAA" UNAUTHENTICATED 2>&1)
read -r denied of <<<"$out"
ok $((denied == of && of > 40 ? 0 : 1)) "one with a broken signature is nobody's"

# --- and nobody else
flood='for i in $(seq 40); do other ask get_sandbox {}; done'
nacre sandbox exec lead -- sh -c "$flood" >"$work/flood" 2>&1
like "$(count <"$work/flood")" RATE_LIMITED "a flood by another program is limited"
inside granted ask get_sandbox '{}'
like "$out" '"name":"lead"' "the granted one is not starved by it"
facts >"$work/after"
diff "$work/facts" "$work/after" >"$work/diff"
ok $? "others are as they were: grant, children, machines, gateway"
sed 's/^/# /' "$work/diff"
in=victim inside granted ask create_sandbox '{"name":"late","kind":"tool"}'
like "$out" '"state":"running"' "and go on"
in=lead/worker inside granted ask exec '{"id":"leaf","argv":["echo","well"]}'
like "$out" 'well' "so does the rest of the tree"
is "$(nacre audit list --caller "sandbox:$victim" --verdict refused --limit 100 -o json | tr -d ' \n')" "[]" "no refusal stands against another"
# --- what that fence does not do
inside sh -c 'exec granted ask get_sandbox {}'
like "$out" '"name":"lead"' "a limit: who starts the granted program gives it its arguments"
run nacre audit verify
is "$code" 0 "the record is whole"
