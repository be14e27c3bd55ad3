#!/bin/bash
# Processes of the agent that are hard to keep, and input that is bad. A real
# VM against guest_host; then through the gateway.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
. "$(dirname "$0")/../lib/guest.sh"
cp "$NACRE_BIN/../e2e/life" "$root/bin/life"
pack
args=$(printf 'x %.0s' $(seq 1 1022))

guest - 256 <<END
launch tmpfs pids=400 dir=/tmp ro=/ -- sleep 1000
wait ready
exec a -- life forks 5000
wait a
exec b -- sh -c 'sleep 1; ps -o stat,comm | grep -cE "^Z|life"'
wait b
exec c tty open -- life sizes 3
exec d tty open -- life sizes 1
sleep 1000
size c 132 50
sleep 300
size d 65535 65535
sleep 300
size c 0 0
size c 1 1
sleep 300
size c 0 60
wait c
wait d
exec e open -- true
wait e
exec f -- life args $args
wait f
exec g -- life args y $args
wait g
exec h open -- life deaf
sleep 500
signal h 15
signal h 99
signal h 2
sleep 300
signal h 9
wait h
exec i open tty -- sh -c 'echo \$\$ >/tmp/pid; exec sh -i'
sleep 500
cancel i
exec j -- sh -c 'p=\$(cat /tmp/pid); i=0; while [ \$i -lt 50 ] && kill -0 \$p 2>/dev/null; do sleep 0.1; i=\$((i+1)); done; kill -0 \$p 2>&1 | grep -c "o such process"'
wait j
exec k open -- life hoard 10 4500
exec l -- sh -c 'ulimit -n; ulimit -Hn; until [ \$(cut -f 1 /proc/sys/fs/file-nr) -gt 45000 ]; do sleep 0.1; done'
wait l
exec m tty -- echo served
wait m
exec o -- echo too
wait o
signal k 9
wait k
END
is "$(of a | head -n 1)" 'out 5000\x0a' "5000 double forks are all made"
is "$(of b | head -n 1)" 'out 0\x0a' "and reaped: no zombie is left"
is "$(of c | head -n 1)" 'out [80 24]\x0d\x0a[132 50]\x0d\x0a[1 1]\x0d\x0a[1 60]\x0d\x0a' "a terminal has its own size; 0 leaves what it was"
is "$(of d | head -n 1)" 'out [80 24]\x0d\x0a[65535 65535]\x0d\x0a' "the other one has another, up to 65535"
is "$(of e)" 'exited code=0 signal=0 reason= bytes=0' "input that is never closed keeps no end"
is "$(of f | head -n 1)" 'out 1024 x\x0a' "1024 arguments"
like "$(of g)" 'refused code=INVALID_ARGUMENT|exited code=125' "1025 are refused"
is "$(of h)" $'out deaf\\x0a\nexited code=137 signal=9 reason= bytes=5' "who ignores all signals ends by KILL; 99 is none"
is "$(of j | head -n 1)" 'out 1\x0a' "a client that leaves takes its shell along"
is "$(of k | head -n 1) $(of l | head -n 1)" 'out 45000\x0a out 1024\x0a1048576\x0a' "descriptors: 1024, and as many as a program asks for that has the memory"
is "$(of m | head -n 1)$(of o | head -n 1)" 'out served\x0d\x0aout too\x0a' "while 45000 are held, execs are served"

# --- the next exec's process waits within the agent's reach, with its rights
guest - 128 <<END
launch tmpfs dir=/tmp ro=/ -- sleep 1000
wait ready
exec a -- sh -c 'while :; do for p in /proc/[0-9]*; do [ \$p = /proc/1 ] || [ "\$(cat \$p/comm 2>/dev/null)" != sandbox ] || break 2; done; done; cat \$p/maps \$p/environ \$p/mem 2>&1 >/dev/null | grep -c "ermission denied"; kill -STOP \${p#/proc/} && echo stopped'
wait a
exec b -- echo goes on
wait b
END
is "$(of a | head -n 1)" 'out 3\x0astopped\x0a' "the agent can stop it, but not look into it"
is "$(of b | head -n 1)" 'out goes on\x0a' "and the next exec goes on in it"

# --- much output and nobody who reads it
guest - 192 <<END
launch tmpfs dir=/tmp ro=/ -- sleep 1000
wait ready
exec m -- grep MemAvailable /proc/meminfo
wait m
exec a stall -- life spew 1000000000
exec b stall -- life spew 1000000000
sleep 2000
exec n -- grep MemAvailable /proc/meminfo
wait n
exec c -- life spew 8000000
wait c
exec d -- echo quick
wait d
take a
sleep 1000
cancel a
cancel b
exec e -- echo after
wait e
END
kib() { of "$1" | sed -nE 's/.*: *([0-9]+) kB.*/\1/p'; }
[ $(($(kib m) - $(kib n))) -lt 4096 ]
is $? 0 "1 GB that nobody reads takes the guest under 4 MiB ($(($(kib m) - $(kib n))) KiB)"
is "$(of c)" 'exited code=0 signal=0 reason= bytes=8000000' "8 MB of another stream pass beside it"
is "$(of d | head -n 1)" 'out quick\x0a' "and an exec is served"
is "$(of e | head -n 1)" 'out after\x0a' "also when its reader has gone"
