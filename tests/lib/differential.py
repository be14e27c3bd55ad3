#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same command in a sandbox and under bwrap on the host.

    differential.py TABLE SANDBOX ROOT    one line a case: same or differs,
                                          a tab, its name; then what differs

ROOT is the folder that the sandbox's image was made from. TABLE is described
at its head.
"""
import fcntl
import os
import pty
import random
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

DEADLINE = 60
BASE = {
    "HOME": "/sandbox", "USER": "sandbox", "LOGNAME": "sandbox", "SHELL": "/bin/sh",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "OPENSHELL_SANDBOX": "1",
}


class Case:
    """One row: what is run, and how it is fed."""

    def __init__(self, name):
        self.name = name
        self.argv = []
        self.env = {}
        self.dir = None
        self.input = b""       # then the end
        self.kind = "pipe"     # what stdin is: pipe, file, open
        self.size = None       # a terminal of columns x rows
        self.steps = []        # (wait or send or size, value)
        self.status = None     # what it must be, both times
        self.shut = None       # bytes that are read before stdout is closed


def unescape(text):
    return text.encode().decode("unicode_escape").encode("latin-1")


def read_table(path):
    cases = []
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        word, _, rest = line.strip().partition(" ")
        if word == "case":
            cases.append(Case(rest))
            continue
        case = cases[-1]
        if word == "run":
            case.argv = shlex.split(rest)
        elif word == "args":
            case.argv += ["x"] * int(rest)
        elif word == "long":
            case.argv += ["y" * int(rest)]
        elif word == "env":
            name, _, value = rest.partition("=")
            case.env[name] = unescape(value).decode("utf-8")
        elif word == "dir":
            case.dir = rest
        elif word == "in":
            case.input = unescape(rest)
        elif word == "bytes":
            case.input = random.Random(1).randbytes(int(rest))
        elif word == "status":
            case.status = int(rest)
        elif word == "stdin":
            case.kind = rest
        elif word == "shut":
            case.shut = int(rest)
        elif word == "tty":
            case.size = tuple(int(n) for n in rest.split("x"))
        elif word in ("wait", "send", "size"):
            case.steps.append((word, unescape(rest)))
        else:
            sys.exit(f"{path}:{number}: unknown word '{word}'")
    return cases


def ours(case, sandbox, _root):
    command = ["nacre", "sandbox", "exec"]
    if case.size:
        command.append("-t")
    if case.dir:
        command += ["--workdir", case.dir]
    for name, value in case.env.items():
        command += ["--env", f"{name}={value}"]
    return command + [sandbox, "--"] + case.argv


def theirs(case, _sandbox, root):
    command = ["bwrap", "--unshare-all", "--uid", "1000", "--gid", "1000", "--ro-bind", root, "/",
               "--tmpfs", "/sandbox", "--tmpfs", "/tmp", "--proc", "/proc",
               "--dev", "/dev", "--chdir", case.dir or "/sandbox", "--clearenv"]
    env = dict(BASE, TERM="xterm-256color" if case.size else "dumb")
    env.update(case.env)
    for name, value in env.items():
        command += ["--setenv", name, value]
    return command + ["--"] + case.argv


def status_of(code):
    return 128 - code if code < 0 else code


def feed(case, pipe):
    try:
        pipe.write(case.input)
        pipe.close()
    except BrokenPipeError:
        pass


def with_pipes(case, command):
    """(stdout, stderr, status)"""
    plain = None
    if case.kind == "file":
        plain = stdin = tempfile.TemporaryFile()
        stdin.write(case.input)
        stdin.seek(0)
    else:
        stdin = subprocess.PIPE
    child = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if case.kind == "pipe":
        threading.Thread(target=feed, args=(case, child.stdin), daemon=True).start()
    killer = threading.Timer(DEADLINE, child.kill)
    killer.start()
    err = []
    errors = threading.Thread(target=lambda: err.append(child.stderr.read()))
    errors.start()
    if case.shut is None:
        out = child.stdout.read()
    else:
        out = child.stdout.read(case.shut)
        child.stdout.close()
    code = child.wait()
    errors.join()
    killer.cancel()
    return out, err[0], status_of(code)


def resize(fd, cols, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def with_terminal(case, command):
    pid, fd = pty.fork()
    if pid == 0:
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)
        os.closerange(3, 1024)
        resize(0, *case.size)
        os.execvp(command[0], command)
    end = time.monotonic() + DEADLINE
    out = b""
    seen = 0
    steps = list(case.steps)
    while True:
        while steps:
            word, value = steps[0]
            if word == "wait":
                at = out.find(value, seen)
                if at < 0:
                    break
                seen = at + len(value)
            elif word == "send":
                os.write(fd, value)
            else:
                resize(fd, *(int(n) for n in value.split(b"x")))
                os.kill(pid, signal.SIGWINCH)
            steps.pop(0)
        if not select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
            os.kill(pid, signal.SIGKILL)
            out += b"[nothing came within the deadline, still %d steps]" % len(steps)
            break
        try:
            chunk = os.read(fd, 65536)
        except OSError:
            break
        if not chunk:
            break
        out += chunk
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fd)
    # A busybox shell asks where the cursor is unless there is input already.
    out = out.replace(b"\x1b[6n", b"")
    # A job's process id is a matter of who came before.
    return re.sub(rb"\[1\] \d+", b"[1] PID", out), b"", status_of(status)


def run(case, command):
    return (with_terminal if case.size else with_pipes)(case, command)


def short(data):
    text = repr(data)
    return text if len(text) < 900 else text[:450] + " ... " + text[-450:]


def main():
    # As a shell's background, nohup or perf have them ignored. Python's own two
    # are the child's again as it is.
    for s in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(s) == signal.SIG_IGN:
            signal.signal(s, signal.SIG_DFL)
    table, sandbox, root = sys.argv[1:]
    only = os.environ.get("ONLY")
    for case in read_table(table):
        if only and only not in case.name:
            continue
        got = run(case, ours(case, sandbox, root))
        want = run(case, theirs(case, sandbox, root))
        same = got == want and case.status in (None, want[2])
        print("same" if same else "differs", case.name, sep="\t", flush=True)
        if case.status not in (None, want[2]):
            print(f"#\tstatus: {want[2]}, not {case.status}; {short(got[0] + got[1])}")
        if got != want:
            for what, a, b in zip(("stdout", "stderr", "status"), got, want):
                if a != b:
                    print(f"#\t{what}: sandbox {short(a)}")
                    print(f"#\t{what}: bwrap   {short(b)}")


if __name__ == "__main__":
    main()
