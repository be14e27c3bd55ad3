#!/bin/bash
# Who answers for the agent is lost: what stands still, what goes on, what
# ends. A real VM against guest_host. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/guest.sh"
busy="sh -c 'while :; do :; done'"

# --- tokens that expire
guest - <<END
refresh 2500
launch tmpfs life=2500 dir=/tmp -- $busy
wait ready
exec open open -- sh -c 'read x; echo got \$x'
until busy
refresh off
until idle
exec no -- true
wait no
refresh on
wait refreshed
until busy
input open again
wait open
exec yes -- echo yes
wait yes
stop 100
wait stopped
END
is "$(grep '^vmm ' <<<"$out" | tr '\n' ' ')" "vmm busy vmm idle vmm busy " "tokens that expire freeze the agent, new ones thaw it"
like "$(of no)" "refused code=BUSY text=the sandbox is frozen: the tokens have expired" "what is frozen takes no exec, and says why"
like "$(of open)" "out got again" "a stream that was open goes on after the thaw"
is "$(of yes | head -n 1)" 'out yes\x0a' "and an exec is served again"
us=$(sed -nE 's/.*agent is frozen after ([0-9]+) us.*/\1/p' "$work/log" | head -n 1)
[ -n "$us" ] && [ "$us" -lt 1000000 ]
is $? 0 "the kernel confirmed the freeze within a second (${us:-no} us)"
is "$(grep -c '^stopped' <<<"$out")" 1 "a sandbox that was frozen can be stopped"

# --- tokens that are refused; a stop of what is frozen
guest - <<END
launch tmpfs dir=/tmp -- $busy
wait ready
session off
break
wait away
until idle
session on
wait session
until busy
session off
break
wait away
wait lost
END
sed -n '/agent is frozen/p' "$work/log" >"$work/frozen"
is "$(grep '^vmm ' <<<"$out" | tr '\n' ' ')" "vmm idle vmm busy " "tokens that are refused freeze the agent, a session thaws it"
is "$(grep -c 'port down' <<<"$out")" 1 "without one the machine ends"
like "$(tail -n 1 "$work/frozen")" "revoked" "for the reason that the gateway gave"

guest - <<END
refresh 2000
launch tmpfs life=2000 dir=/tmp -- sh -c 'trap "" TERM; while :; do :; done'
wait ready
until busy
refresh off
until idle
stop 300000
wait stopped
END
is "$(grep -cE '^(vmm idle|stopped)' <<<"$out")" 2 "a stop ends what is frozen without its grace"

# --- the clock is set a day ahead, and two back: what runs is not concerned,
# what ends in a while ends in that while (else an hour of tokens were over, or
# the short one would end in two days only)
guest - <<END
launch tmpfs dir=/tmp -- $busy
wait ready
exec open open -- sh -c 'read x; echo got \$x'
exec long open timeout=600000 -- sh -c 'read x; echo long \$x'
exec before -- date +%s
wait before
clock +86400
exec ahead -- sh -c 'until [ \$(date +%s) -gt \$1 ]; do sleep 0.1; done; date +%s' sh $(($(date +%s) + 80000))
wait ahead
exec short timeout=1500 -- sleep 1000
until busy
clock -86400
exec back -- sh -c 'until [ \$(date +%s) -lt \$1 ]; do sleep 0.1; done; date +%s' sh $(($(date +%s) - 80000))
wait back
wait short
exec shorter timeout=1500 -- sleep 1000
wait shorter
until busy
input long on
wait long
input open on
wait open
break
wait session
exec again -- echo again
wait again
END
is "$(grep '^vmm ' <<<"$out" | tr '\n' ' ')$(grep -c 'is frozen' "$work/log")" "vmm busy vmm busy 0" "a clock that is set ahead and back freezes nobody"
is "$(of open | head -n 1) $(of long | head -n 1)" 'out got on\x0a out long on\x0a' "nor does it end an exec, with a timeout or without"
like "$(of short) $(of shorter)" 'exited code=124.* exited code=124' "a timeout that began before or after it is over in its time"
is "$(of again | head -n 1) $(grep -c '^hello' <<<"$out")" 'out again\x0a 2' "and a tunnel that breaks comes back"

# --- a freeze that nobody confirms: who waits for a disk hears nothing, and
# this disk does not answer any more
blank "$work/disk"
qemu-storage-daemon --blockdev "driver=file,node-name=disk,filename=$work/disk" --nbd-server "addr.type=unix,addr.path=$work/nbd" \
	--export nbd,id=nbd,node-name=disk,name=disk,writable=on --pidfile "$work/nbd.pid" &
storage=$!
until_is there eval "[ -e '$work/nbd.pid' ] && echo there"
guest "nbd+unix:///disk?socket=$work/nbd" < <(
	cat <<-END
		launch dir=/w -- sh -c 'while :; do date +%s%N >/w/last; sync; done'
		wait ready
		until busy
		kill $storage 19
		until idle
		session off
		break
		wait away
		until idle
	END
	until_is 1 grep -c 'the disk is left' "$work/log"
	cp "$work/log" "$work/stuck"
	kill -CONT $storage
	echo wait lost
)
kill $storage
wait $storage
like "$(cat "$work/stuck")" "agent could not be frozen: revoked.*agent is awake after" "a freeze that is not confirmed within a second ends the machine"
is "$(grep -c 'the disk is left as it is' "$work/stuck")" 1 "which waits for no disk that does not answer"
is "$(grep -cE '^(port down|timeout)' <<<"$out") $(grep -c 'agent goes on' "$work/log")" "1 0" "and nothing of it goes on when the disk does"

# --- the gateway is lost, the keeper is there
guest - <<END
launch tmpfs dir=/tmp -- sleep 1000
wait ready
until idle
exec a open -- sh -c 'i=0; while [ \$i -lt 20000 ]; do i=\$((i+1)); done; echo \$i >/tmp/count; while :; do :; done'
until busy
session drop
break
until busy
session on
wait session
exec b -- sh -c 'until [ -s /tmp/count ]; do sleep 0.1; done; cat /tmp/count'
wait b
END
is "$(grep '^vmm ' <<<"$out" | tr '\n' ' ')$(of b | head -n 1)" 'vmm idle vmm busy vmm busy out 20000\x0a' "without a gateway what runs goes on"

# --- a stop while a copy that nobody reads has a file open
blank "$work/disk"
guest <<END
launch dir=/w -- sleep 1000
wait ready
exec a -- sh -c 'head -c 4000000 /dev/zero >/w/big; sync'
wait a
get g /w/big stall
wait g
exec b -- sh -c 'seq 1 20000 >/w/last; sha256sum </w/last'
wait b
stop 1000
wait stopped
END
is "$(grep -c '^stopped' <<<"$out") $(grep -c 'stays mounted' "$work/log")" "1 0" "a stop with a file open in a copy lets the disk go"
e2fsck -fn "$work/disk" >"$work/fsck" 2>&1
is $? 0 "the disk is clean"
written=$(of b | head -n 1)
guest <<END
launch dir=/w -- sleep 1000
wait ready
exec b -- sh -c 'sha256sum </w/last'
wait b
stop 1000
wait stopped
END
is "$(of b | head -n 1)" "${written:-nothing}" "and has what was written last"

# --- the port is lost
blank "$work/disk"
guest <<END
launch dir=/w -- sh -c 'while :; do date +%s%N >/w/last; done'
wait ready
sleep 500
hangup
END
is "$(tail -n 1 <<<"$out")" "machine ended" "a machine whose port is lost ends"
us=$(sed -nE 's/.*agent is frozen after ([0-9]+) us.*/\1/p' "$work/log" | head -n 1)
[ -n "$us" ] && [ "$us" -lt 1000000 ]
is $? 0 "after its agent was frozen (${us:-no} us)"
e2fsck -fn "$work/disk" >"$work/fsck" 2>&1
is $? 0 "and leaves its disk clean"

# --- the sandbox is lost: in the midst of an exec, of a stop, of its start
mkdir "$work/fragile"
cp "$NACRE_BIN/../e2e/root/nacre-guest" "$work/fragile/"
initramfs=$work/fragile.cpio
"$NACRE_BIN/../../tools/mkcpio" "$top/initramfs/files" "$work/fragile" >"$initramfs"
blank "$work/disk"
# lost_sandbox TITLE <script
lost_sandbox() {
	guest
	is "$(grep -c 'port down' <<<"$out") $(grep -cE '^(timeout|stopped)' <<<"$out")" "1 0" "$1: the machine ends"
	us=$(sed -nE 's/.*agent is frozen after ([0-9]+) us.*/\1/p' "$work/log" | head -n 1)
	[ -n "$us" ] && [ "$us" -lt 1000000 ]
	is $? 0 "$1: after the agent was frozen (${us:-no} us)"
	e2fsck -fn "$work/disk" >"$work/fsck" 2>&1
	is $? 0 "$1: its disk is clean"
}
lost_sandbox "a sandbox that dies during an exec" <<END
launch dir=/w -- sh -c 'while :; do date +%s%N >/w/last; done'
wait ready
exec a open -- sh -c 'touch /tmp/die; exec sleep 1000'
wait lost
END
guest <<END
launch dir=/w -- echo ran
wait ready
END
like "$out" 'failed stage=(confine code=LOST|sandbox .*sandbox ended)' "a sandbox that dies at its start: the launch fails and says so"
is "$(grep -cE '^(log|ready)' <<<"$out")" 0 "a sandbox that dies at its start: no agent ran"
blank "$work/disk"
lost_sandbox "a sandbox that dies during a stop" <<END
launch dir=/w -- sh -c 'trap "touch /tmp/die" TERM; touch /tmp/set; while :; do sleep 0.1; done'
wait ready
exec a -- sh -c 'until [ -e /tmp/set ]; do sleep 0.1; done'
wait a
stop 60000
wait lost
END
