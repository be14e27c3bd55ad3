# What attacks on a gateway share: raw requests, what it holds, and two others
# whose calls must go on meanwhile. Arguments of each attack: SOCKET PORT PID
# TOKEN OTHER [figures]. One check a line as "ok<TAB>title", "end" at last; with
# "figures" what each call of the others took, as lines of JSON, and no checks.
# OTHERS ("SOCKET PORT TOKEN") is the gateway that they call, if it is not the
# one that is attacked. SPDX: Apache-2.0
import ctypes
import json
import multiprocessing
import os
import resource
import signal
import socket
import sys
import time

place, port, pid, token, other = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
figures = "figures" in sys.argv[6:]
others_at = os.environ.get("OTHERS", f"{place} {port} {other}").split()
P = "io.modelcontextprotocol/"
MIB = 1 << 20
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))


def dial(unix=False, timeout=60, at=(place, port)):
    s = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
    s.connect(at[0] if unix else ("127.0.0.1", int(at[1])))
    s.settimeout(timeout)
    return s


def modern(method="tools/list", **params):
    params["_meta"] = {P + "protocolVersion": "2026-07-28", P + "clientCapabilities": {}}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def request(body=b"", more=(), method="POST", path="/mcp", host="localhost", length=None, bearer=token, rpc=None, name=None):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", "Content-Type: application/json", "Accept: application/json, text/event-stream"]
    if bearer:
        lines.append(f"Authorization: Bearer {bearer}")
    if rpc:
        lines += ["MCP-Protocol-Version: 2026-07-28", f"Mcp-Method: {rpc}"]
    if name:
        lines.append(f"Mcp-Name: {name}")
    if length is not False:
        lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join([*lines, *more, "", ""]).encode() + body


def answer(s):
    """Status, fields and body of one answer; status None: closed before it."""
    got = b""
    try:
        while b"\r\n\r\n" not in got:
            part = s.recv(65536)
            if not part:
                return None, {}, got
            got += part
        head, body = got.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        fields = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
        while len(body) < int(fields.get("content-length", 0)):
            body += s.recv(65536)
    except ConnectionError:
        return None, {}, got
    return int(lines[0].split()[1]), fields, body


def ask(raw, unix=False, dial=dial):
    with dial(unix) as s:
        try:
            s.sendall(raw)
        except ConnectionError:
            pass  # it answered before all was sent
        return answer(s)


def rest(s):
    """What it says until it closes; None: it does not."""
    said = b""
    try:
        while part := s.recv(65536):
            said += part
    except ConnectionError:
        pass
    except TimeoutError:
        return None
    return said


def ended(s):
    return rest(s) is not None


def check(good, title, why=""):
    if figures:
        return
    print(("ok" if good else "not ok") + "\t" + title)
    if not good:
        print("#\t" + repr(why)[:400])


def files():
    return len(os.listdir(f"/proc/{pid}/fd"))


def peak():
    """The most memory that the gateway had so far, bytes."""
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM:"))


def until(test, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if test():
            return True
        time.sleep(0.02)
    return False


class Other:
    """Another caller, in a process of its own, which asks by call() again and
    again: whether it was answered as it should be, and what it got."""

    MOST = 100000

    def __init__(self, call):
        self.call = call
        self.good = multiprocessing.Value("q", 0)
        self.bad = multiprocessing.Value("q", 0)
        self.times = multiprocessing.Array(ctypes.c_double, self.MOST)
        self.process = multiprocessing.Process(target=self.run, daemon=True)
        self.process.start()

    def run(self):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while True:
            began = time.monotonic()
            try:
                good, got = self.call()
            except OSError as e:
                good, got = False, str(e)
            if not good and self.bad.value < 3:
                print(f"#\tanother caller got {str(got)[:200]}", flush=True)
            with self.good.get_lock():
                self.times[self.good.value % self.MOST] = time.monotonic() - began
                (self.good if good else self.bad).value += 1
            time.sleep(0.06)  # both of them stay below a user's rate

    def mark(self):
        return self.good.value, self.bad.value

    def took(self, since):
        return sorted(self.times[i] * 1e3 for i in range(since[0], self.good.value))


def reads_policy(status, body):
    return status == 200 and b'"policy_hash"' in body and b"isError" not in body


def by(unix):
    """A new connection a call by the port, or one that is kept by the socket."""
    raw = request(modern("tools/call", name="get_policy", arguments={"id": "lead"}), rpc="tools/call", name="get_policy", bearer=None if unix else others_at[2])
    kept = []

    def call():
        if unix and not kept:
            kept.append(dial(True, at=others_at))
        s = kept[0] if kept else dial(timeout=120, at=others_at)
        s.sendall(raw)
        status, _, body = answer(s)
        if not kept:
            s.close()
        return reads_policy(status, body), (status, body)

    return call


# Descriptors that it opens for itself meanwhile: a machine that is made ahead,
# the database's.
OWN = 8
others = {"port": Other(by(False)), "socket": Other(by(True))}
began_with = peak()
# What it may come to, whatever is sent; who attacks says how much.
bound = {"growth": 64 * MIB}


def others_go_on(marks, n=200 if figures else 3):
    """Both were answered n times more since, and never refused."""
    return until(lambda: all(o.good.value >= marks[k][0] + n or o.bad.value > marks[k][1] for k, o in others.items()), 120) and all(
        o.bad.value == marks[k][1] for k, o in others.items())


def attack(title, run):
    """run() does it and gives what it still holds: sockets, or a function that
    goes on with it. Others are served meanwhile; afterwards all is given back."""
    if not figures:
        print(f"#\t{title}", flush=True)
    marks = {k: o.mark() for k, o in others.items()}
    before = files()
    held = run() or []
    if callable(held):
        child = multiprocessing.Process(target=held, daemon=True)
        child.start()
    good = others_go_on(marks)
    if callable(held):
        child.terminate()
        child.join()
        held = []
    check(good, f"{title}: others are answered meanwhile", {k: (marks[k], o.mark()) for k, o in others.items()})
    for s in held:
        s.close()
    check(until(lambda: files() <= before + OWN), f"{title}: and every descriptor is given back", (before, files()))
    most = began_with + bound["growth"]
    check(peak() <= most, f"{title}: in bounded memory", (peak(), most))
    if figures:
        tell(title, marks)
    else:
        print(f"#\tpeak {peak() >> 20} MiB", flush=True)


def alone():
    """With figures: how long the others wait when nobody attacks."""
    if figures:
        marks = {k: o.mark() for k, o in others.items()}
        others_go_on(marks)
        tell("alone", marks)


def tell(title, marks):
    for k, o in others.items():
        print(json.dumps({"title": title, "who": k, "ms": o.took(marks[k])}), flush=True)


def end():
    for o in others.values():
        o.process.terminate()
    if not figures:
        print("end\t")
