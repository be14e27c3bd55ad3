#!/bin/bash
# kill -9 of gateway, keeper, VMM and guest at chosen points, each twice. After
# a restart: no orphan process, no ghost row, no lost audit row; a running VM
# survives its gateway. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
gateway_up
nacre image import tiny "$(tiny_image)" >/dev/null
# An event, not a sleep: wait until a process is gone (bounded).
gone() { timeout 20 tail --pid="$1" -f /dev/null; }
status_code() { nacre gateway status >/dev/null 2>&1; echo $?; }
# Keeper processes of our state folder.
keepers() {
	local p n=0
	for p in $(grep -lx nacre-keeper /proc/[0-9]*/comm); do
		tr '\0' ' ' <"${p%comm}cmdline" | grep -q "run .*$work/" && n=$((n + 1))
	done 2>/dev/null
	echo $n
}
# Each of them belongs to a running sandbox or is a parked clone.
agree() {
	local want
	want=$(nacre gateway status -o json | python3 -c 'import json,sys; d=json.load(sys.stdin); print(d["running"]+d["parked"])') || return
	[ "$want" = "$(keepers)" ] && echo yes
}
consistent() { until_is yes agree; }

# The state once it is no longer on its way.
settled() {
	local state end=$((SECONDS + 20))
	while [ $SECONDS -lt $end ]; do
		state=$(get "$1" state)
		case $state in reserved | starting | stopping | deleting) ;; *) break ;; esac
	done
	echo "$state"
}

# --- the gateway, at each point, twice
for round in 1 2; do
	for point in after_row after_keeper after_restore after_session after_first_instruction during_exec after_stop_row before_delete_row; do
		name=c$round
		nacre gateway stop >/dev/null
		NACRE_CRASH_AT=$point nacre gateway start >/dev/null
		pid=$(gateway_pid)
		case $point in
		during_exec)
			nacre sandbox create --name $name --from tiny >/dev/null 2>&1
			nacre sandbox exec $name -- sh -c 'echo 1 >/tmp/began; sleep 3; echo 2 >/tmp/ended' >/dev/null 2>&1
			;;
		after_stop_row)
			nacre sandbox create --name $name --from tiny >/dev/null 2>&1
			nacre sandbox stop $name >/dev/null 2>&1
			;;
		before_delete_row)
			nacre sandbox create --name $name --from tiny >/dev/null 2>&1
			nacre sandbox delete $name >/dev/null 2>&1
			;;
		*) nacre sandbox create --name $name --from tiny >/dev/null 2>&1 ;;
		esac
		until_is 75 status_code && { [ -z "$pid" ] || gone "$pid"; }
		ok $? "round $round, $point: the gateway dies there"
		gateway_up
		state=$(settled $name)
		consistent
		ok $? "round $round, $point: keepers are those of running sandboxes and parked clones"
		case $point in
		during_exec)
			is "$state" running "round $round, $point: the sandbox runs on"
			until_is 2 nacre sandbox exec $name -- cat /tmp/ended
			ok $? "round $round, $point: its exec went on"
			;;
		after_first_instruction) is "$state" running "round $round, $point: the sandbox runs on" ;;
		after_stop_row) is "$state" stopped "round $round, $point: the stop is finished" ;;
		before_delete_row) is "$state" '' "round $round, $point: the delete is finished" ;;
		*) like "$state" '^(running|failed|stopped|)$' "round $round, $point: the row is settled" ;;
		esac
		like "$(nacre audit list --limit 10000)" 'sandbox.create' "round $round, $point: the audit has the create"
		nacre sandbox delete $name >/dev/null 2>&1
		run nacre sandbox list
		is "$out" "no sandboxes" "round $round, $point: no ghost row"
	done
done

# --- between an epoch and its answer: the guest holds older tokens, twice
nacre sandbox create --name e --from tiny -- sleep 1000 >/dev/null
for round in 1 2; do
	nacre gateway stop >/dev/null
	NACRE_CRASH_AT=before_resume nacre gateway start >/dev/null 2>&1
	pid=$(gateway_pid)
	until_is 75 status_code && { [ -z "$pid" ] || gone "$pid"; }
	ok $? "round $round, before_resume: the gateway dies there"
done
gateway_up
is "$(timeout 20 nacre sandbox exec e -- echo here)" here "a session whose answers were lost comes back"
is "$(settled e)" running "and its sandbox runs on"
nacre gateway stop >/dev/null
gateway_up
is "$(timeout 20 nacre sandbox exec e -- echo again)" again "and comes back again"
nacre sandbox delete e >/dev/null

# --- an image is deleted: first in the record, then its files
mkdir "$work/other"
echo other >"$work/other/file"
nacre image import other "$work/other" >/dev/null
blobs() { find "$NACRE_STATE/images/blobs" -name '*.sqfs' | wc -l; }
before=$(blobs)
nacre gateway stop >/dev/null
NACRE_CRASH_AT=before_image_unlink nacre gateway start >/dev/null
pid=$(gateway_pid)
nacre image delete other >/dev/null 2>&1
until_is 75 status_code && { [ -z "$pid" ] || gone "$pid"; }
ok $? "before_image_unlink: the gateway dies there"
is "$(blobs)" "$before" "before_image_unlink: the files are there still"
echo rest >"$NACRE_STATE/images/blobs/.rest"
gateway_up
like "$(nacre audit list --verb image.delete)" 'image.delete .*ok +other' "before_image_unlink: the record has the deletion"
ok $(nacre image list | grep -c '^other') "before_image_unlink: the next start finishes it"
is "$(blobs)" $((before - 1)) "before_image_unlink: files that nothing needs are gone"
ok "$([ -e "$NACRE_STATE/images/blobs/.rest" ]; echo $((! $?)))" "before_image_unlink: so is what a write left"
like "$(nacre image list)" 'tiny' "before_image_unlink: the other names are there"

# --- keeper, VMM, guest: the sandbox ends with a reason, and starts again
for round in 1 2; do
	for victim in keeper vmm guest; do
		nacre sandbox create --name v --from tiny -- sleep 1000 >/dev/null
		nacre sandbox exec v -- sh -c 'echo kept >/tmp/kept; sync'
		keeper=$(get v keeper_pid)
		vmm=$(get v vmm_pid)
		case $victim in
		keeper) kill -9 "$keeper" ;;
		vmm) kill -9 "$vmm" ;;
		guest) nacre sandbox console v >/dev/null; kill -9 "$vmm" ;;
		esac
		gone "$keeper" && gone "$vmm"
		ok $? "round $round: with the $victim the rest of the machine ends"
		until_is stopped get v state
		ok $? "round $round: the sandbox is stopped"
		like "$(get v reason)" . "round $round: with a reason"
		run nacre sandbox start v
		is "$code" 0 "round $round: it starts again"
		is "$(nacre sandbox exec v -- cat /tmp/kept)" kept "round $round: with its files"
		nacre sandbox delete v >/dev/null
	done
done
consistent
ok $? "at the end keepers and rows agree"
