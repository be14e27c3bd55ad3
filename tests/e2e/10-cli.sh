#!/bin/bash
# The life of a sandbox through the command line, in real microVMs.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
gateway_up
image=$(tiny_image)

run nacre image import tiny "$image"
is "$code" 0 "a folder is imported as an image"
run nacre image list
like "$out" 'tiny ' "image list shows it"

run nacre sandbox create --name a --from tiny --env COLOUR=blue -- sh -c 'echo started; echo $COLOUR; echo oops >&2; sleep 1000'
is "$code" 0 "a sandbox is created"
like "$out" "sandbox 'a' is ready" "create says that it is ready"

# exec
is "$(nacre sandbox exec a -- echo hello)" hello "exec prints the command's output"
is "$(nacre sandbox exec a -- sh -c 'echo out; echo err >&2' 2>/dev/null)" out "stdout comes alone"
is "$(nacre sandbox exec a -- sh -c 'echo out; echo err >&2' 2>&1 >/dev/null)" err "stderr comes alone"
is "$(printf 'one\ntwo\n' | nacre sandbox exec a -- wc -l | tr -d ' ')" 2 "stdin reaches the command, and its end"
nacre sandbox exec a -- sh -c 'exit 3' </dev/null
is $? 3 "the exit code is the command's own"
run nacre sandbox exec a -- /no/such/program
is "$code" 127 "a missing program is 127"
like "$out" "no such program" "and says so"
run nacre sandbox exec a -- /etc/passwd
is "$code" 126 "a file that cannot be executed is 126"
run nacre sandbox exec a --timeout 1 -- sleep 100
is "$code" 124 "a timeout is 124"
run nacre sandbox exec a -- sh -c 'kill -TERM $$'
is "$code" 143 "a signal is 128 and its number"
run nacre sandbox exec a --workdir /tmp -- pwd
is "$out" /tmp "exec in a given folder"
run nacre sandbox exec a --workdir /no/such -- pwd
is "$code" 125 "a missing folder is nacre's own failure"
run nacre sandbox exec a --env X=1 -- sh -c 'echo $X$COLOUR'
is "$out" 1blue "the environment is the sandbox's and the exec's"
run nacre sandbox exec a -- printf '%s|' 'a b' '' '*' '$HOME'
is "$out" 'a b||*|$HOME|' "arguments pass as they are, without a shell"
out=$(nacre sandbox exec a -- echo lost 2>&1 >/dev/full)
is "$? $out" '125 nacre: cannot write: No space left on device' "output that cannot be written is nacre's own failure, with the reason"
sum=$(head -c 3000000 /dev/urandom | tee "$work/blob" | sha256sum)
is "$(nacre sandbox exec a -- sha256sum <"$work/blob")" "$sum" "3 MB of stdin arrive unchanged"
is "$(nacre sandbox exec a -- cat <"$work/blob" | sha256sum)" "$sum" "and come back unchanged"
is "$(nacre sandbox exec a -- sh -c 'yes | head -c 5000000' | wc -c | tr -d ' ')" 5000000 "5 MB of stdout arrive whole"

# what it is
out=$(nacre sandbox exec a -- sh -c 'id -u; cat /proc/1/comm; sed -n "s/^ *\([a-z0-9]*\):.*/\1/p" /proc/net/dev; grep -c . /proc/net/route; hostname')
is "$out" $'1000\nsandbox\nlo\n1\na' "an unprivileged user, its own pids, lo only, no route, its name"
out=$(nacre sandbox exec a -- sh -c 'grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status | grep -v Seccomp | tr "\n\t" "  "')
is "$out" 'CapInh: 0000000000000000 CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 0000000000000000 CapAmb: 0000000000000000 NoNewPrivs: 1 ' "no capability in any set, no_new_privs"
out=$(nacre sandbox exec a -- sh -c 'ls /dev | sort | tr "\n" " "')
is "$out" 'fd full null ptmx pts random shm stderr stdin stdout tty urandom zero ' "/dev has these nodes and no other"
for p in /dev/vda /dev/vport0p1 /init /sandbox; do
	run nacre sandbox exec a -- test -e $p
	is "$code" 1 "there is no $p"
done

# get
is "$(get a supervisor_digest)" "$(sha256sum <"$NACRE_GUEST/nacre-guest" | cut -d' ' -f1)" "get shows the supervisor's digest, that of the build"
is "$(get a kernel_digest)" "$(sha256sum <"$NACRE_GUEST/vmlinux" | cut -d' ' -f1)" "and the kernel's"
is "$(get a state)" running "and its state"
run nacre sandbox list -o json
is "$(printf '%s' "$out" | python3 -c 'import json,sys; print([s["name"] for s in json.load(sys.stdin)])')" "['a']" "list as JSON"

# logs
is "$(nacre sandbox logs a 2>&1 | sort)" $'blue\noops\nstarted' "logs has the main process's output"
is "$(nacre sandbox logs a 2>/dev/null)" $'started\nblue' "with stderr apart"
out=$(timeout 60 nacre sandbox logs -f a 2>/dev/null | head -n 1; echo "${PIPESTATUS[0]}")
is "$out" $'started\n141' "logs -f ends by SIGPIPE when its reader leaves, though no line comes"
out=$(nacre sandbox list 2>&1 >/dev/full)
is "$? $out" '125 nacre: cannot write the output: No space left on device' "a list that cannot be written is an error"
# 2000 lines of 4 KiB pass what is kept; as text each byte takes four, and they
# pass what one answer holds.
nacre sandbox create --name long --from tiny -- sh -c 'x=$(head -c 4090 /dev/zero | tr "\0" "\377"); n=1000; while [ $n -lt 3000 ]; do echo "$n $x"; n=$((n+1)); done; sleep 1000' >/dev/null
last() { nacre sandbox logs long -n 1 2>/dev/null | cut -c 1-4; }
until_is 2999 last
ok $? "a long log comes to its end"
nacre sandbox logs long -n 2000 >"$work/long" 2>"$work/left"
like "$(cat "$work/left")" '^[0-9]+ lines before these are left out: the answer is full$' "an answer that is full says what it leaves out"
is "$(tail -n 1 "$work/long" | cut -c 1-4)" 2999 "and has the newest lines"
out=$(timeout 60 nacre sandbox logs long 2>/dev/null | head -n 1 | cut -c 5; echo "${PIPESTATUS[0]}")
is "$out" $' \n141' "who reads one of many lines ends it by SIGPIPE"
n=$(wc -l <"$work/long")
ok $((n < 55 || n > 64)) "as many as one message holds"
is "$(cut -c 1-4 "$work/long")" "$(seq $((3000 - n)) 2999)" "without a gap"
nacre sandbox delete long >/dev/null
# A name is bytes: it need not be text.
odd=$'\xff\xfe'
mkdir "$work/odd"
echo bytes >"$work/odd/$odd"
ln -s "to$odd" "$work/odd/link"
run nacre sandbox cp "$work/odd" a:/tmp/odd
is "$code" 0 "a file whose name is no text is copied in"
is "$(nacre sandbox exec a -- sh -c 'cd /tmp/odd && cat ?? && printf "%s\n" * | od -An -tx1')" $'bytes\n 6c 69 6e 6b 0a ff fe 0a' "under its own name"
run nacre sandbox cp a:/tmp/odd "$work/odd-back"
is "$code" 0 "and out"
diff -r --no-dereference "$work/odd" "$work/odd-back" >/dev/null
ok $? "as it was, links too"

# cp
mkdir -p "$work/tree/sub"
echo one >"$work/tree/one"
head -c 1000000 /dev/urandom >"$work/tree/sub/big"
ln -s one "$work/tree/link"
chmod 750 "$work/tree/sub"
run nacre sandbox cp "$work/tree" a:/tmp/tree
is "$code" 0 "a folder is copied in"
out=$(nacre sandbox exec a -- sh -c 'cd /tmp/tree && cat one && readlink link && stat -c "%a %u" sub && sha256sum <sub/big')
is "$out" "$(cd "$work/tree" && cat one && readlink link && echo 750 1000 && sha256sum <sub/big)" "with contents, links, modes, for the agent's user"
run nacre sandbox cp a:/tmp/tree "$work/back"
is "$code" 0 "and copied out"
is "$(diff -r --no-dereference "$work/tree" "$work/back" && echo same)" same "the same tree"
echo two >"$work/two"
run nacre sandbox cp "$work/two" a:/tmp
is "$(nacre sandbox exec a -- cat /tmp/two)" two "a file copied to a folder keeps its name"
run nacre sandbox cp a:/tmp/two /dev/full
is "$code" 125 "a copy to a full disk fails"
like "$out" 'No space left on device' "and says why"
run nacre sandbox cp a:/no/such "$work/none"
is "$code" 4 "a missing file is not found"
ok "$([ ! -e "$work/none" ]; echo $?)" "and leaves nothing"

# out of memory: the command's own end, not the sandbox's
nacre sandbox create --name small --from tiny --memory 64 -- sleep 1000 >/dev/null
run nacre sandbox exec small -- sh -c 'yes | sort >/dev/null'
is "$code" 137 "out of memory is 137"
like "$out" 'oom' "and oom is said"
is "$(get small state)" running "the main process lives on"
is "$(nacre sandbox exec small -- echo alive)" alive "and commands still run"
nacre sandbox delete small >/dev/null

# stop and start
run nacre sandbox stop a
is "$code" 0 "stop"
run nacre sandbox exec a -- true
is "$code" 125 "exec in a stopped sandbox is refused"
like "$out" "start" "and says what to do"
run nacre sandbox start a
is "$code" 0 "start"
is "$(nacre sandbox exec a -- cat /tmp/tree/one)" one "files are kept over stop and start"

# names and repeats
run nacre sandbox create --name a --from tiny
is "$code" 1 "a second sandbox of that name is refused"
like "$out" 'exists' "by name"
run nacre sandbox create --name done --from tiny -- sh -c 'echo bye; exit 7'
is "$code" 0 "a sandbox whose command ends at once"
run nacre sandbox exec done -- echo still
is "$out" still "stays for its user"
until_is 7 get done exit_code
ok $? "and keeps the exit code"
nacre sandbox stop done >/dev/null
is "$? $(get done state)" "0 stopped" "stop waits for the machine also when the main process had ended"
run nacre sandbox start done
is "$code" 0 "and it starts again"
run nacre sandbox create --name att --from tiny --attach -- sh -c 'echo seen; exit 9'
is "$code" 9 "create --attach ends with the command's code"
like "$out" 'seen' "and shows its output"

# what others do while somebody is attached
for verb in stop delete; do
	: >"$work/attached"
	nacre sandbox create --name "$verb" --from tiny --attach -- sh -c 'echo up; exec sleep 1000' >"$work/attached" 2>"$work/attached.err" &
	attached=$!
	until_is up cat "$work/attached"
	nacre sandbox "$verb" "$verb" >/dev/null
	wait "$attached"
	is "$?" 125 "create --attach has no exit code of its own after a $verb by others"
	like "$(cat "$work/attached.err")" "sandbox was $verb" "and says what came instead"
done

run nacre sandbox delete a done att stop
is "$code" 0 "delete"
run nacre sandbox list
is "$out" 'no sandboxes' "nothing is left in the list"
run nacre sandbox delete a
is "$code" 4 "deleting it again is not found"
is "$(find "$NACRE_STATE/sandboxes" -mindepth 1 2>/dev/null | wc -l)" 0 "nor on the disk"

# the record
run nacre audit list --limit 1000
for verb in image.import sandbox.create sandbox.exec sandbox.put sandbox.get_files sandbox.stop sandbox.start sandbox.delete; do
	like "$out" "$verb" "the audit has $verb"
done
like "$out" 'refused' "and refusals"
like "$out" 'tr "\\\\n\\\\t" "  "' "what a command had that is not printable is escaped once"
run nacre image delete tiny
is "$code" 0 "the image is deleted"
