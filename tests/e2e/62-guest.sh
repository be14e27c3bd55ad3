#!/bin/bash
# The guest alone, in a real VM, against guest_host (the keeper's end of the
# port and the least gateway). SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
host=$NACRE_BIN/../e2e/guest_host
tsc=$(awk -F: '/cpu MHz/ { printf "%d", $2 * 1000; exit }' /proc/cpuinfo)
root=$(tiny_image)
cp "$NACRE_GUEST/nacre-guest" "$root/true"
install -d -m 755 "$root/usr/bin" "$root/work"
chmod 755 "$root"
install -m 666 /dev/null "$root/work/open"
tar -C "$root" --owner=0 --group=0 -cf "$work/root.tar" .
tar2sqfs -q -c lz4 "$work/image.sqfs" <"$work/root.tar"
blank() { rm -f "$1" && truncate -s 64M "$1" && mke2fs -q -t ext4 -E lazy_itable_init=1,lazy_journal_init=1 "$1"; }
# guest [DISK [MEMORY]] <script: $out is what the guest said, $log the rest
guest() {
	out=$(timeout 300 "$host" "$NACRE_GUEST/vmlinux" "$NACRE_GUEST/initramfs.cpio" "$work/image.sqfs" "${1:-$work/disk}" "${2:-192}" "$tsc" 2>"$work/log")
	sed 's/^/# /' "$work/log" | grep '^# #' || :
}
# of ID: what one stream gave
of() { grep -E "^(out|err|exited|done|entry|refused) $1 " <<<"$out" | sed -E "s/ $1 / /"; }
blank "$work/disk"
head -c 3000000 /dev/urandom >"$work/big"
echo 'hello file' >"$work/small"
chmod 640 "$work/small"
echo 'hello suid' >"$work/suid"
chmod 4755 "$work/suid"
touch -d '2020-01-02 03:04:05Z' "$work/small"

guest <<END
rehearse
launch -- true
wait exit
stop 0
wait stopped
END
is "$(grep -c '^woke op=2 stage=0' <<<"$out")" 1 "the rehearsal passes"
is "$(grep '^exit ' <<<"$out")" "exit code=0 signal=0 reason=" "and a launch follows it"
blank "$work/disk"

guest <<END
launch dir=/made/for/it -- sh -c 'id; pwd; echo to-err >&2; exit 3'
wait exit
exec after -- echo still here
wait after
stop 1000
wait stopped
END
is "$(grep -c '^probe .* passed' <<<"$out") $(grep -c '^probe .* failed' <<<"$out")" "16 0" "every probe of the confinement passes"
is "$(grep '^log' <<<"$out" | sort)" $'log err to-err\\x0a\nlog out uid=1000(agent) gid=1000(agent)\\x0a/made/for/it\\x0a' \
	"the main process runs as the agent, in a folder that was made for it"
is "$(grep '^exit ' <<<"$out")" "exit code=3 signal=0 reason=" "its exit code is told"
is "$(of after)" $'out still here\\x0a\nexited code=0 signal=0 reason= bytes=11' "after it has ended an exec still works"
is "$(grep -c '^stopped' <<<"$out")" 1 "a stop is answered"
e2fsck -fn "$work/disk" >"$work/fsck" 2>&1
is $? 0 "after a stop the disk is clean"
like "$(grep ^hello <<<"$out")" "digest=$(sha256sum <"$NACRE_GUEST/nacre-guest" | cut -d' ' -f1) " "the supervisor's digest is that of the build"

guest <<'END'
launch -- sh -c 'cat /made/for/it/mark 2>&1; ls -d /made/for/it; hostname; cat /etc/hosts /etc/resolv.conf'
wait exit
exec kept -- sh -c 'echo kept > /made/for/it/mark'
wait kept
stop 1000
wait stopped
END
like "$out" "/made/for/it" "files are kept over a stop"
like "$out" "127.0.0.1.*localhost.*127.0.1.1.*test" "names resolve"

guest <<'END'
launch dir=/work ro=/ -- sleep 1000
wait ready
exec a -- nosuch
exec b -- /etc/passwd
exec c dir=/nosuch -- true
wait a
wait b
wait c
exec d in=hello -- sh -c 'read x; echo got $x; echo E >&2; exit 7'
wait d
exec e timeout=300 -- sleep 100
exec f timeout=300 -- sh -c 'trap "" TERM; while :; do sleep 1; done'
wait e
wait f
exec g open -- sleep 100
sleep 300
signal g 10
wait g
exec h -- sh -c 'sleep 30 & echo started; exit 4'
wait h
exec i -- sh -c 'dd if=/dev/zero bs=64k count=64 2>/dev/null; echo done >&2'
wait i
exec j open -- sh -c 'cat >/dev/null; echo ended'
input j text
end j
wait j
exec k tty in=hi -- sh -c 'stty size; read x; echo got:$x'
wait k
exec l open tty -- sh -c 'read x; stty size'
size l 132 50
input l go
wait l
exec m -- sh -c 'exec 0<&-; kill -9 $$'
wait m
exec n -- sh -c 'ulimit -c; umask; cat /proc/self/status | grep -E "^(Cap|NoNewPrivs|SigBlk|SigIgn)" | tr -s "\t\n" "  "'
wait n
exec o -- sh -c 'ls -l /proc/1/ /proc/1/fd 2>&1 | grep -c denied; kill -9 1 2>&1 | grep -c permitted; ls / | tr "\n" " "; ls /dev | tr "\n" " "'
wait o
exec p -- env
wait p
exec q -- sh -c 'ls -l /proc/self/fd | wc -l; cat /proc/net/dev | grep -c :; ip addr add 10.0.0.1/8 dev lo 2>&1 | grep -c permitted'
wait q
END
is "$(of a)" "exited code=127 signal=0 reason=not_found bytes=0" "a program that is not there: 127"
is "$(of b)" "exited code=126 signal=0 reason=not_executable bytes=0" "a file that is no program: 126"
is "$(of c)" "exited code=125 signal=0 reason=workdir bytes=0" "a work folder that is not there: 125, and said"
is "$(of d | sort)" $'err E\\x0a\nexited code=7 signal=0 reason= bytes=12\nout got hello\\x0a' "input, output, errors and code of an exec"
is "$(of e)" "exited code=124 signal=15 reason=timeout bytes=0" "a timeout ends with TERM: 124"
is "$(of f)" "exited code=124 signal=9 reason=timeout bytes=0" "what ignores TERM gets KILL: 124"
is "$(of g)" "exited code=138 signal=10 reason= bytes=0" "a signal of the caller arrives"
is "$(of h)" $'out started\\x0a\nexited code=4 signal=0 reason= bytes=8' "a background child that holds the pipes does not hold the end"
is "$(of i)" $'err done\\x0a\nexited code=0 signal=0 reason= bytes=4194309' "4 MiB of output come whole"
is "$(of j)" $'out ended\\x0a\nexited code=0 signal=0 reason= bytes=6' "end of input arrives"
like "$(of k)" '24 80.*got:hi' "a terminal of 24 x 80"
like "$(of l)" '50 132' "a terminal that changes its size"
is "$(of m)" "exited code=137 signal=9 reason= bytes=0" "KILL of one's own is no out-of-memory"
like "$(of n)" '^out 0.x0a0022.x0a' "no core file, a usual umask"
is "$(of n | grep -oE 'Cap(Inh|Prm|Eff|Bnd|Amb): 0{16} |NoNewPrivs: 1 |Sig(Blk|Ign): 0{16} ' | wc -l)" 8 "no capability in five sets, no new privileges, no signal blocked or ignored"
is "$(of o | head -n 1)" 'out 4\x0a1\x0abin dev etc home made proc sys tmp true usr work fd full null ptmx pts random shm stderr stdin stdout tty urandom zero ' \
	"the runtime is out of reach, / is the image, /dev is the list"
is "$(of p | head -n 1)" 'out PATH=/usr/bin:/bin\x0aHOME=/tmp\x0aLANG=C\x0a' "the environment is what was given and nothing else"

is "$(of q | head -n 1)" 'out 5\x0a1\x0a1\x0a' "it holds no descriptor of ours, sees lo alone and cannot change it"

many() { for i in $(seq "$1" "$2"); do echo "$3$i${4:+ $4}"; done; }
guest "$work/disk" 256 <<END
launch pids=200 -- sleep 1000
wait ready
$(many 1 64 'exec p' "-- sh -c 'sleep 1; true'")
exec more -- true
$(many 1 64 'wait p')
exec a -- sh -c 'i=0; while [ \$i -lt 300 ]; do (true &); i=\$((i+1)); done; sleep 1; ps | wc -l'
wait a
END
is "$(grep -c '^exited p.* code=0 ' <<<"$out")" 64 "64 execs at once all end well"
like "$(of more)" "refused code=LIMIT_REACHED" "the 65th is refused"
like "$(of a)" "out [567].x0a" "300 double forks leave nothing behind"

yes | head -c 300000000 >"$work/much"
guest - <<END
launch tmpfs memory=60000000 pids=20 dir=/work -- sleep 1000
wait ready
exec a -- sh -c 'i=0; while [ \$i -lt 40 ]; do sleep 5 & i=\$((i+1)); done 2>&1 | grep -c "can.t fork"'
wait a
exec b -- sh -c '(sleep 1000 & sleep 1001) & tail -c 80m /dev/zero; echo survived'
wait b
exec c -- sh -c 'ps | grep -c "[s]leep 100"; kill -9 \$\$'
wait c
exec d -- sh -c 'dd if=/dev/zero of=/dev/shm/x bs=1M count=100; echo survived'
wait d
put g /dev/shm/y '' $work/much
wait g
put e /tmp/y '' $work/much
wait e
exec f -- sh -c 'rm /dev/shm/x; echo alive'
wait f
stop 200
wait stopped
END
like "$(of a)" 'out 1' "pids.max holds"
like "$(of e)" "done code=LIMIT_REACHED .*memory is full: [0-9]+ of 57 MiB" "a put into memory leaves the machine some"
is "$(of f | head -n 1)" 'out alive\x0a' "and the sandbox lives"
is "$(of b)" 'exited code=137 signal=9 reason=oom bytes=0' "memory.max: an exec ends, as out of memory"
is "$(of c)" $'out 1\\x0a\nexited code=137 signal=9 reason= bytes=2' "with all that it started, and nothing else does"
is "$(of d)" 'exited code=137 signal=9 reason=oom bytes=0' "memory files count as the agent's memory"
is "$(grep '^exit ' <<<"$out")" 'exit code=143 signal=15 reason=' "and the main process lives on"

guest <<END
launch dir=/tmp -- sleep 1000
wait ready
put a /tmp/new '' $work/small
wait a
exec b -- sh -c 'cat /tmp/new; stat -c "%a %u %g %Y" /tmp/new'
wait b
put c /tmp small $work/small
put d /tmp big $work/big
wait c
wait d
exec e -- sh -c 'cd /tmp; ls; sha256sum big; ln -s /etc/passwd link; mkdir -p d/e; echo 1 >d/e/f; mkfifo d/fifo; ln -s ../../../../../../etc/hosts d/out'
wait e
put r /work/open '' $work/suid
wait r
exec s -- stat -c '%n %a %u %s' /work/open
wait s
put t /tmp/mine '' $work/suid
wait t
exec u -- stat -c '%n %a %u %s' /tmp/mine
wait u
get f /tmp/d
wait f
get g /tmp/big > $work/back
wait g
get h /nosuch
get i /proc/self/environ
get j /dev/null
get k /tmp/link
get l relative
put m /etc/x '' $work/small
put n /tmp/link '' $work/small
put o /proc/1/x '' $work/small
put p /dev/null '' $work/small
put q /tmp/../tmp/d/fifo '' $work/small
wait h
wait i
wait j
wait k
wait m
wait n
wait o
wait p
wait q
END
is "$(of a)" "done code= bytes=11 entries=1 text=" "a file is put"
is "$(of b | head -n 1)" 'out hello file\x0a640 1000 1000 1577934245\x0a' "it keeps mode and time and is the agent's"
is "$(of r) $(of s | head -n 1)" "done code= bytes=11 entries=1 text= out /work/open 666 0 11\\x0a" "a file that is another's keeps its mode"
is "$(of u | head -n 1)" "out /tmp/mine 4755 1000 11\\x0a" "one's own has the mode it came with"
like "$(of e)" "big.x0ad?.*new.x0asmall" "into a folder it goes under its name"
like "$(of e)" "$(sha256sum <"$work/big" | cut -d' ' -f1)" "3 MB arrive whole"
is "$(of f | sed 's/ mode=.* link/ link/' | sort)" 'done code= bytes=2 entries=4 text=
entry kind=0 link= path=e/f
entry kind=1 link= path=
entry kind=1 link= path=e
entry kind=2 link=../../../../../../etc/hosts path=out
out 1\x0a' "a folder is got with its links, without pipes"
cmp -s "$work/big" "$work/back"
is $? 0 "3 MB come back whole"
is "$(of h)" "done code=NOT_FOUND bytes=0 entries=0 text=cannot read '/nosuch': No such file or directory" "what is not there is named"
like "$(of i)" "done code=INVALID_ARGUMENT .*'/proc/self/environ' is no plain file" "the runtime's own /proc is refused"
like "$(of j)" "done code=INVALID_ARGUMENT" "a device is refused"
like "$(of k)" "out root:x" "a link leads where the agent could go"
like "$(of l)" "refused code=INVALID_ARGUMENT" "a relative path is refused"
like "$(of m)" "done code=NOT_ALLOWED .*Permission denied" "where the agent may not write, a put may not"
like "$(of n)" "done code=INVALID_ARGUMENT .*Symbolic link" "a put never writes through a link"
like "$(of o)" "done code=INVALID_ARGUMENT" "nor into /proc"
like "$(of p)" "done code=INVALID_ARGUMENT" "nor into a device"
like "$(of q)" "done code=(INVALID_ARGUMENT|SYSTEM)" "nor into a pipe"

guest <<'END'
launch -- sh -c 'i=0; while [ $i -lt 30 ]; do echo tick $i; i=$((i+1)); sleep 0.1; done; exit 5'
wait ready
exec a open -- sh -c 'sleep 2; echo through > /tmp/through'
sleep 500
break
wait session
break
sleep 3000
wait exit
exec b -- cat /tmp/through
wait b
stop 200
wait stopped
END
is "$(grep -c '^hello epoch=[123] ' <<<"$out") $(grep -c 'bad epoch' <<<"$out")" "3 0" "a lost tunnel comes back with a higher epoch"
is "$(grep -c 'log gap' <<<"$out")" 0 "no output of the main process is lost on the way"
is "$(grep '^log' <<<"$out" | sed 's/^log out //' | tr -d '\n' | sed 's/\\x0a/\n/g' | sort -u | grep -c tick)" 30 "and all of it is there"
is "$(grep '^exit ' <<<"$out" | sort -u)" "exit code=5 signal=0 reason=" "its end is told after the reconnect"
is "$(of b | head -n 1)" 'out through\x0a' "an exec whose stream was lost runs on"

guest <<'END'
launch life=2500 -- sleep 1000
wait ready
sleep 2500
exec a -- echo under new tokens
wait a
hangup
END
is "$(grep -c '^refreshed' <<<"$out") $(grep -c 'no token' <<<"$out")" "1 0" "tokens are refreshed before two thirds of their life"
is "$(of a | head -n 1)" 'out under new tokens\x0a' "the sandbox serves under the new token"
is "$(tail -n 1 <<<"$out")" "machine ended" "a machine whose port is lost ends"
e2fsck -fn "$work/disk" >"$work/fsck" 2>&1
is $? 0 "and leaves its disk clean"

printf 'not a squashfs' >"$work/bad.sqfs"
truncate -s 1M "$work/bad.sqfs"
mv "$work/image.sqfs" "$work/good.sqfs"
cp "$work/bad.sqfs" "$work/image.sqfs"
guest <<'END'
launch -- true
wait ready
stop 0
wait stopped
END
like "$out" "failed stage=mount code=SYSTEM reason=cannot mount the image" "an image that is none fails at mount"
mv "$work/good.sqfs" "$work/image.sqfs"
truncate -s 0 "$work/disk" && truncate -s 64M "$work/disk"
guest <<'END'
launch -- true
wait ready
END
like "$out" "failed stage=mount .*the disk holds no file system" "a disk without a file system is not used as memory"
guest - <<'END'
launch tmpfs -- /nosuch
wait ready
END
like "$out" "failed stage=exec code=NOT_FOUND reason=cannot execute '/nosuch'" "a main program that is not there fails the launch"
