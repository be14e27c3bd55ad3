#!/bin/bash
# A hostile program inside a sandbox (tests/lib/door_attack.py), at the door:
# what it sends is refused by name, memory and descriptors stay bounded, and
# callers on the host and at another door are answered all the while. With the
# word figures: how long those waited, instead (make bench-attack).
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/tap.sh"
root=$(tiny_image)
cp "$NACRE_BIN/../e2e/wires" "$root/bin/wires"
cp "$NACRE_BIN/nacre" "$root/bin/nacre"
cat >"$work/policy.yaml" <<'END'
version: 1
filesystem_policy: {include_workdir: true, read_only: [/bin, /etc, /proc], read_write: [/tmp]}
landlock: {compatibility: best_effort}
END
begin_attacked() {
	local name
	gateway_up
	nacre image import tiny "$root" >/dev/null
	for name in lead calm; do
		nacre sandbox create --name $name --from tiny --policy "$work/policy.yaml" --quiet -- sleep 100000 >/dev/null
		nacre grant create $name --max-depth 1 --max-breadth 1 --max-total 1 --program /bin/wires --program /bin/nacre >/dev/null
	done
}
begin_attacked
for name in lead calm; do
	is "$(get $name state)" running "the sandbox $name runs"
done
[ "$failures" -eq 0 ] || exit
export LEAD="nacre sandbox exec lead -- wires 127.0.0.80 80" CALM="nacre sandbox exec calm -- wires 127.0.0.80 80"
attack door_attack "$@"
run nacre sandbox exec lead -- nacre mcp call get_sandbox
like "$out" '"name":"lead"' "the granted program calls as before"
