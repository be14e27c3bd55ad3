#!/bin/bash
# The main process: who attaches, when, and what each gets.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
gateway_up
nacre image import tiny "$(tiny_image)" >/dev/null

# --- a main process without a terminal
nacre sandbox create --name a --from tiny -- sh -c 'echo first; echo oops >&2; while [ ! -e /tmp/go ]; do sleep 0.1; done; echo last; exit 7' >/dev/null
nacre sandbox attach a >"$work/one" 2>"$work/one.err" </dev/null &
one=$!
nacre sandbox attach a --read-only >"$work/two" 2>/dev/null &
two=$!
until_is first head -n 1 "$work/one"
until_is first head -n 1 "$work/two"
run nacre sandbox attach a
is "$code" 125 "the input is one client's at a time"
like "$out" "another client holds the input" "and says so"
nacre sandbox exec a -- touch /tmp/go
wait $one
is "$? $(tr '\n' ' ' <"$work/one")$(cat "$work/one.err")" "7 first last oops" "attach gives the output, streams apart, and the exit code"
wait $two
is "$? $(tr '\n' ' ' <"$work/two")" "7 first last " "a second one that reads only gets the same"
nacre sandbox attach a >"$work/late" 2>/dev/null </dev/null
is "$? $(tr '\n' ' ' <"$work/late")" "7 first last " "who comes late gets it too"
pid=$(gateway_pid)
kill -9 "$pid"
tail --pid="$pid" -f /dev/null
gateway_up
nacre sandbox attach a >"$work/late" 2>/dev/null </dev/null
is "$? $(tr '\n' ' ' <"$work/late")" "7 first last " "also of a gateway that was restarted"
nacre sandbox delete a >/dev/null

# --- the last MiB
nacre sandbox create --name b --from tiny -- sh -c 'i=0; while [ $i -lt 30 ]; do head -c 100000 /dev/zero | tr "\0" x; i=$((i+1)); done; echo; echo end; while [ ! -e /tmp/go ]; do sleep 0.1; done' >/dev/null
until_is end nacre sandbox logs b -n 1
nacre sandbox attach b >"$work/mib" 2>"$work/mib.err" </dev/null &
one=$!
until_is end tail -n 1 "$work/mib"
is "$(wc -c <"$work/mib" | tr -d ' ')" 1048576 "the replay is the last MiB"
like "$(cat "$work/mib.err")" "1951429 bytes before these are left out" "and says what is not there"
# a client that reads nothing holds up nobody
nacre sandbox exec b -- touch /tmp/go
wait $one
is $? 0 "it ends with the process"
nacre sandbox delete b >/dev/null

# --- a terminal: input, size, detach, attach again
nacre sandbox create --name t --from tiny --tty -- sh -c 'stty -echo; while read -r line; do [ "$line" = bye ] && exit 4; echo "got $line $(stty size)"; done' >/dev/null
cat >"$work/terminal.py" <<'PY'
import fcntl, os, pty, select, signal, struct, sys, termios
# argv: cols rows, then pairs: text to send, text to wait for
pid, fd = pty.fork()
if pid == 0:
    os.execvp("nacre", ["nacre", "sandbox", os.environ.get("VERB", "attach"), "t"])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", int(sys.argv[2]), int(sys.argv[1]), 0, 0))
seen = b""
def until(text):
    global seen
    while text not in seen:
        if not select.select([fd], [], [], 30)[0]:
            sys.exit("no %r in %r" % (text, seen))
        try:
            more = os.read(fd, 4096)
        except OSError:
            more = b""
        if not more:
            break
        seen += more
    found = text in seen
    seen = seen[seen.find(text) + len(text):] if found else b""
    return found
signal.alarm(300)
# Its own echo is off once it is attached.
while termios.tcgetattr(fd)[3] & termios.ECHO:
    select.select([], [], [], 0.02)
for send, want in zip(sys.argv[3::2], sys.argv[4::2]):
    os.write(fd, send.encode().decode("unicode_escape").encode("latin-1"))
    print("yes" if until(want.encode()) else "no")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
out=$(python3 "$work/terminal.py" 100 40 'hello\n' 'got hello 40 100' '\x10\x11' detached)
is "$? $out" $'0 yes\nyes' "a terminal takes input and has the client's size; Ctrl-P Ctrl-Q leaves"
is "$(get t state)" running "and the process goes on"
out=$(python3 "$work/terminal.py" 90 30 'again\n' 'got again 30 90' 'bye\n' '')
is "$? $out" $'4 yes\nyes' "who attaches again has it, and gets its end"
nacre sandbox delete t >/dev/null

# --- a shell of one's own beside the main process
nacre sandbox create --name t --from tiny -- sleep 100000 >/dev/null
# Each line is typed at a prompt: the shell flushes what comes before it.
out=$(VERB=connect python3 "$work/terminal.py" 100 40 '' '$ ' 'stty size\n' '40 100' \
	'' '$ ' 'sh -c "echo run\\$((40+2)); exec sleep 1000"\n' run42 '\x03' '^C' '' '$ ' 'echo st$?\n' st130 \
	'' '$ ' 'sh -c "echo run\\$((50+2)); exec cat"\n' run52 'up\n' $'up\r\nup' '\x1a' Stopped \
	'' '$ ' 'exec sh -c "exit 5"\n' '' 2>&1)
is "$? $out" "5 $(printf 'yes\n%.0s' {1..13})" "connect gives a shell: size, interrupt, jobs, its exit code"
out=$(VERB=connect python3 "$work/terminal.py" 100 40 '' '$ ' 'sh -c "echo run\\$((40+2)); exec sleep 5000"\n' run42 '\x10\x11' 'the shell was ended')
is "$? $out" $'0 yes\nyes\nyes' "Ctrl-P Ctrl-Q leaves it"
until_is 0 nacre sandbox exec t -- sh -c 'ps | grep -c "[5]000"'
is $? 0 "and what it ran is gone"
out=$(VERB=connect python3 "$work/terminal.py" 100 40 '' '$ ' 'sh -c "stty raw -echo; echo run\\$((40+2)); dd bs=1 count=5 2>/dev/null | od -An -tx1; exit 6"; exit $?\n' run42 \
	'\x10' '' 'a' '' '\x10\x10b' '10 61 10 10 62')
is "$? $out" $'6 yes\nyes\nyes\nyes\nyes' "a Ctrl-P that no Ctrl-Q follows is typed"
cat >"$work/ended.py" <<'PY'
import os, pty, select, signal, sys, termios
# argv: a signal's name. How nacre ends by it, and how it leaves the terminal.
sig = getattr(signal, sys.argv[1])
signal.alarm(300)
pid, fd = pty.fork()
if pid == 0:
    os.execvp("nacre", ["nacre", "sandbox", "connect", "t"])
before = termios.tcgetattr(pty.openpty()[1])
seen = b""
while b"$ " not in seen:
    seen += os.read(fd, 4096)
raw = termios.tcgetattr(fd) != before
os.kill(pid, sig)
status = os.waitpid(pid, 0)[1]
print(raw, os.WIFSIGNALED(status) and os.WTERMSIG(status) == sig, termios.tcgetattr(fd) == before)
PY
for sig in SIGTERM SIGHUP SIGINT SIGQUIT; do
	is "$(ulimit -c 0; python3 "$work/ended.py" $sig)" "True True True" "$sig ends connect and leaves the terminal as it was"
done

# --- what runs
nacre sandbox exec t -- sh -c 'exec sleep 4321' &
one=$!
field() { nacre sandbox top t -o json | python3 -c 'import json,sys
top = json.load(sys.stdin)
rows = [r for r in top["processes"] if r["command"] == sys.argv[1]]
print(len(rows), *((r["parent"], r["uid"], r["threads"], r["memory_bytes"] > 0) for r in rows[:1]), *(sorted(top)))' "$1"; }
until_is "1 (1, $(nacre sandbox exec t -- id -u), 1, True) cpu_us left_out memory_bytes memory_limit pids pids_limit processes" field 'sleep 4321'
is $? 0 "top tells a process: parent, user, threads, memory"
like "$(nacre sandbox top t)" $'^pids [0-9]+ of [0-9]+, memory [0-9.]+ [KM]iB of [0-9]+ MiB, cpu .*\nPID .*sleep 4321' "and a table of them"
nacre sandbox exec t -- sh -c 'i=0; while [ $i -lt 250 ]; do sleep 4321 & i=$((i+1)); done; wait' &
two=$!
more() { nacre sandbox top t -o json | python3 -c 'import json,sys; t = json.load(sys.stdin); print(len(t["processes"]), t["left_out"] >= 50)'; }
until_is "200 True" more
is $? 0 "of many, those that worked most, and how many there are besides"
nacre sandbox stop t >/dev/null
wait $one $two
run nacre sandbox top t
is "$code" 75 "of a sandbox that does not run, none"
nacre sandbox delete t >/dev/null
