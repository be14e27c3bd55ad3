#!/bin/bash
# What breaks while something is on its way: keeper, VMM and gateway in the
# midst of a start, an exec and a stop; a VMM that stands still; a client that
# stops reading; and execs that are asked for badly.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
root=$(tiny_image)
cp "$NACRE_BIN/../e2e/life" "$root/bin/life"
gateway_up
nacre image import tiny "$root" >/dev/null
create() { nacre sandbox create --name "$1" --from tiny --memory 64 "${@:2}" >/dev/null 2>&1; }
gone() { timeout 20 tail --pid="$1" -f /dev/null; }
settled() {
	local state end=$((SECONDS + 20))
	while [ $SECONDS -lt $end ]; do
		state=$(get "$1" state)
		case $state in starting | stopping) ;; *) break ;; esac
	done
	echo "$state"
}
# soon FILE TEXT: until the file has it
soon() {
	local end=$((SECONDS + 20))
	while [ $SECONDS -lt $end ]; do
		grep -q "$2" "$1" 2>/dev/null && return 0
	done
	return 1
}
kib() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status"; }

# --- keeper and VMM in the midst of an exec and of a stop
for victim in keeper vmm; do
	create v -- sleep 1000
	nacre sandbox exec v -- sh -c 'echo began; exec sleep 1000' >"$work/during" 2>&1 &
	client=$!
	soon "$work/during" began
	kill -9 "$(get v ${victim}_pid)"
	wait $client
	is $? 125 "$victim dies during an exec: the client ends with 125"
	like "$(tail -n 1 "$work/during")" '^nacre: .' "$victim dies during an exec: and is told"
	until_is stopped get v state
	is $? 0 "$victim dies during an exec: the sandbox is stopped"
	run nacre sandbox exec v -- true
	like "$code $out" '^125 .*not (ready|running)' "$victim dies during an exec: no other one is taken"

	run nacre sandbox start v
	is "$code" 0 "and it starts again"
	nacre sandbox exec v -- sh -c 'echo kept >/tmp/kept; sync'
	pid=$(get v ${victim}_pid)
	keeper=$(get v keeper_pid)
	kill -STOP "$(get v vmm_pid)"
	nacre sandbox stop v >/dev/null 2>&1 &
	client=$!
	until_is stopping get v state
	kill -9 "$pid"
	[ $victim = vmm ] || kill -CONT "$(get v vmm_pid)" 2>/dev/null
	gone "$keeper"
	wait $client
	is "$(settled v)" stopped "$victim dies during a stop: the sandbox is stopped"
	run nacre sandbox start v
	is "$code $(nacre sandbox exec v -- cat /tmp/kept)" "0 kept" "$victim dies during a stop: it starts again, with its files"
	nacre sandbox delete v >/dev/null
done

# --- in the midst of a start, and of a delete
for victim in keeper vmm; do
	create w -- sleep 1000 &
	client=$!
	end=$((SECONDS + 20))
	while pid=$(get w ${victim}_pid) && [ "${pid:-0}" = 0 ] && [ $SECONDS -lt $end ]; do :; done
	kill -9 "$pid"
	wait $client
	like "$(settled w)" '^(failed|stopped|running|)$' "$victim dies during a start: the row is settled"
	nacre sandbox delete w >/dev/null 2>&1
	run nacre sandbox list
	is "$out" "no sandboxes" "$victim dies during a start: nothing is left after a delete"
	create w -- sleep 1000
	pid=$(get w ${victim}_pid)
	kill -STOP "$(get w vmm_pid)"
	nacre sandbox delete w >/dev/null 2>&1 &
	client=$!
	kill -9 "$pid"
	wait $client
	until_is "no sandboxes" nacre sandbox list
	ok $? "$victim dies during a delete: it is deleted"
done

# --- the VMM stands still
create s -- sleep 1000
create t -- sleep 1000
mkfifo "$work/in"
nacre sandbox exec s -- sh -c 'echo began; read x; echo got $x; exit 3' <"$work/in" >"$work/still" 2>&1 &
client=$!
exec 5>"$work/in"
soon "$work/still" began
vmm=$(get s vmm_pid)
kill -STOP "$vmm"
echo 'what came meanwhile' >&5
timeout 30 tail -f /dev/null &
nap=$!
run timeout 20 nacre sandbox exec t -- echo beside
is "$out" beside "a VMM stands still: another sandbox is served"
is "$(get s state)" running "a VMM stands still: its sandbox is running yet"
run timeout 2 nacre sandbox exec s -- true
is "$code" 124 "a VMM stands still: an exec waits"
wait $nap
kill -CONT "$vmm"
wait $client
is "$? $(tail -n 1 "$work/still")" "3 got what came meanwhile" "after 30 s it goes on: so does the exec, with its input"
exec 5>&-
now=$(nacre sandbox exec s -- date +%s)
[ $(($(date +%s) - now)) -le 1 ]
is $? 0 "and the guest's clock is right"

# --- a client that stops reading a gigabyte
keeper=$(get s keeper_pid)
gateway=$(gateway_pid)
before=$(($(kib "$gateway") + $(kib "$keeper")))
nacre sandbox exec s -- life spew 1000000000 >"$work/unread" 2>/dev/null &
client=$!
end=$((SECONDS + 20))
while [ ! -s "$work/unread" ] && [ $SECONDS -lt $end ]; do :; done
kill -STOP $client
: >"$work/unread"
for i in 1 2 3 4 5; do
	run timeout 20 nacre sandbox exec s -- echo quick
	[ "$out" = quick ] || break
done
is "$out" quick "a client that does not read: other execs of the sandbox are served"
is "$(timeout 20 nacre sandbox exec s -- life spew 4000000 | wc -c)" 4000000 "a client that does not read: 4 MB of another one pass"
more=$(($(kib "$gateway") + $(kib "$keeper") - before))
[ $more -lt 4096 ]
is $? 0 "a client that does not read: gateway and keeper take under 4 MiB ($more KiB)"
{ kill -9 $client; wait $client; } 2>/dev/null
until_is 0 nacre sandbox exec s -- sh -c 'ps | grep -c "[l]ife spew"'
ok $? "a client that does not read: when it is killed its command ends"

# --- execs that are asked for badly
mkdir "$work/py"
protoc -I "$top/proto" --python_out="$work/py" "$top"/proto/openshell_*.proto "$top/proto/nacre_v1.proto"
while IFS=$'\t' read -r result title; do
	case $result in
	ok) ok 0 "$title" ;;
	'not ok') ok 1 "$title" ;;
	'#') printf '#   %s\n' "$title" ;;
	esac
done < <(/usr/bin/python3 "$top/tests/lib/bad_exec.py" "$NACRE_STATE/gateway.sock" "$work/py" "$(get s id)" 2>"$work/py.log")
is "$(cat "$work/py.log")" "" "bad input: the client met nothing strange"
run nacre sandbox exec s --workdir /nosuch -- true
like "$code $out" '^125 .*working folder' "a work folder that is not there: 125"
run nacre sandbox exec s -- /nosuch
like "$code $out" '^127 .*no such program' "a program that is not there: 127"
run nacre sandbox exec s -- /etc/passwd
like "$code $out" '^126 .*cannot be executed' "a file without the x bit: 126"
run nacre sandbox exec s --env 'A B=1' -- true
like "$code $out" '^125 .*env name' "an env name that is none: 125"
# shellcheck disable=SC2016
is "$(nacre sandbox exec s --env 'A=B=C' -- sh -c 'echo $A')" B=C "a value may hold '='"
# shellcheck disable=SC2016
run nacre sandbox exec s -- sh -c 'kill -99 $$'
is "$code" 1 "an unknown signal is the program's own failure"
