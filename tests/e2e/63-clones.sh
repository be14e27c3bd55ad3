#!/bin/bash
# Two sandboxes from one template share nothing that must differ, and tell the
# right time. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
gateway_up
nacre image import tiny "$(tiny_image)" >/dev/null
nacre sandbox create --name a --from tiny -- sleep 1000 >/dev/null &
nacre sandbox create --name b --from tiny -- sleep 1000 >/dev/null &
wait
facts='head -c 32 /dev/urandom | od -An -tx1 | tr -d " \n"; echo
	cat /proc/sys/kernel/random/boot_id
	sed -n "/\[stack\]/s/-.*//p" /proc/self/maps
	sed -n "/\[vdso\]/s/-.*//p" /proc/self/maps
	cat /proc/sys/kernel/random/uuid'
a=$(nacre sandbox exec a -- sh -c "$facts")
b=$(nacre sandbox exec b -- sh -c "$facts")
n=1
for what in "the first 32 random bytes" "boot_id" "the stack's base" "the mmap base" "a uuid"; do
	x=$(sed -n ${n}p <<<"$a") y=$(sed -n ${n}p <<<"$b")
	ok "$([ -n "$x" ] && [ -n "$y" ] && [ "$x" != "$y" ]; echo $?)" "$what differs"
	n=$((n + 1))
done
is "$(get a boot_id)" "$(sed -n 2p <<<"$a")" "get shows the guest's boot_id"
is "$(get a supervisor_digest)" "$(get b supervisor_digest)" "the supervisor is the same in both"

off() { # the guest's clock against ours, in whole seconds
	local theirs ours
	theirs=$(nacre sandbox exec "$1" -- date +%s)
	ours=$(date +%s)
	echo $((ours - theirs))
}
like "$(off a)" '^(0|1)$' "the clock is within a second of the host's after a restore"
# The VMM as a whole stands still, as when a laptop sleeps.
vmm=$(get a vmm_pid)
kill -STOP "$vmm"
timeout 60 tail -f /dev/null
kill -CONT "$vmm"
like "$(off a)" '^(0|1)$' "and after the VMM was stopped for 60 s"
nacre sandbox delete a b >/dev/null
