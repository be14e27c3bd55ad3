# A hostile client of the MCP endpoint, bounded in count and time, and two
# others whose calls must go on meanwhile: mcp_attack.py with the arguments of
# attack.py. SPDX: Apache-2.0
import functools
import json
import os
import re
import signal
import socket
import struct
import threading
import time

from attack import (MIB, alone, answer, ask, attack, bound, check, dial, end, ended, figures, files, modern, other, others, others_go_on, pid, port, request, rest, token, until)
from bombs import PING, forge, header_bombs, json_bombs, rebinding

# As many bodies as the port has places, and some room.
bound["growth"] = 128 * MIB + 64 * MIB
LINGER = struct.pack("ii", 1, 0)  # close by a reset


# --- who one is
def initialize(bearer=token, unix=False):
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}}
    return ask(request(json.dumps(body).encode(), bearer=bearer), unix)[1]["mcp-session-id"]


def in_session(session, bearer=token, method="POST", unix=False):
    return ask(request(PING if method == "POST" else b"", [f"Mcp-Session-Id: {session}"], method, bearer=bearer), unix)[0]


def sessions():
    mine, by_socket = initialize(), initialize(None, True)
    check(in_session(mine) == 200, "a session is good for its owner")
    check(in_session(mine, other) == 404, "and for no other token")
    check(in_session(mine, None, unix=True) == 404, "nor for the same user by the socket")
    check(in_session(by_socket) == 404, "nor is one of the socket good for a token")
    check(in_session(mine, other, "DELETE") == 404, "another token cannot end it")
    forged = forge(mine)
    got = {in_session(s) for s in forged}
    check(got == {404}, f"{len(forged)} forged ones are not found", got)
    check(in_session(mine) == 200, "which changes nothing for the real one")
    check(in_session(mine, method="DELETE") == 204, "its owner ends it")
    check({in_session(mine) for _ in range(20)} == {404}, "and it is replayed in vain")
    check(in_session(mine, method="DELETE") == 404, "nor ends again")
    check(ask(request(PING, bearer="nacre_" + "A" * 43))[0] == 401, "a forged token is none")


# --- what is too much
def big_bodies():
    got = ask(request(b"", length=10 * MIB))
    check(got[0] == 413 and b"-32600" in got[2], "10 MiB that are announced are refused by the head", got)
    piece = b"%x\r\n%s\r\n" % (64 << 10, b"x" * (64 << 10))
    got = ask(request(b"", ["Transfer-Encoding: chunked"], length=False) + piece * 160 + b"0\r\n\r\n")
    check(got[0] in (413, None), "10 MiB in pieces are refused on the way", got)
    got = ask(request(b"", ["Transfer-Encoding: chunked"], length=False) + b"1\r\nx\r\n" * 5000 + b"0\r\n\r\n")
    check(got[0] in (413, None), "so are 5000 pieces of a byte", got)
    for n in ("99999999999999999999", "-1", "0x10", "1e3", "10, 10"):
        got = ask(request(b"", length=n))
        check(got[0] in (400, 413), f"and a length of {n}", got)
    held = []
    for _ in range(64):
        held.append(dial())
        held[-1].sendall(request(b"", length=MIB) + b" " * (MIB - 1))
    return held


def slow(what):
    held = []
    for _ in range(100):
        held.append(dial())
        held[-1].sendall(request(b"", length=1000)[:40] if what == "head" else request(b"{", length=1000))
    marks = {k: o.mark() for k, o in others.items()}
    if figures:
        return held
    check(others_go_on(marks), f"slow {what}: others are answered before the clock runs out")
    got = {answer(s)[0] for s in held}
    check(got <= {408, None}, f"slow {what}: each is told that it took too long, or closed", got)
    check(all(ended(s) for s in held), f"slow {what}: and is closed")
    return held


def drip():
    """Heads and bodies, a byte now and then, for as long as it is let."""
    raw = request(b"{" + b" " * 4000)
    held = {}
    while True:
        while len(held) < 60:
            held[dial()] = 0
        for s in list(held):
            try:
                s.sendall(raw[held[s]:held[s] + 1])
                held[s] += 1
            except OSError:
                s.close()
                del held[s]
        time.sleep(0.01)


def sockets(unix, n=1000):
    """Each begins a request and says no more. Those that came before were
    closed for those that came later, without a word: nobody waits for time."""
    held = []
    for _ in range(n):
        s = dial(unix)
        try:
            s.sendall(b"PRI" if unix else b"POST /mcp")
        except OSError:
            pass
        held.append(s)
    check(files() < 700, f"{n} sockets take their share of descriptors, no more", files())
    if not figures:
        said = {rest(s) for s in held[:n // 2]}
        check(said == {b""}, "the first of them are closed to make room, before their time is over", said)
    return held


def idle():
    """Each asks once and stays. Whoever has most of them makes room, so that
    one connection of another token lives, though it is the longest of all."""
    lists = functools.partial(request, modern(), rpc="tools/list")
    mine = dial()
    mine.sendall(lists(bearer=other))
    check(answer(mine)[0] == 200, "a connection of another token is there first")
    held, got = [], set()
    for _ in range(200):
        held.append(dial())
        held[-1].sendall(lists())
        got.add(answer(held[-1])[0])
    check(got == {200}, "200 of one that come later are answered", got)
    mine.sendall(lists(bearer=other))
    check(answer(mine)[0] == 200, "and it is served again when they have come")
    return [mine, *held]


def churn():
    """Connections that come and go as fast as this client can."""
    while True:
        held = []
        for _ in range(50):
            try:
                held.append(dial())
                held[-1].sendall(b"POST /mcp HT")
            except OSError:
                pass
        for s in held:
            s.close()


def half_closed():
    held = []
    for raw in (request(PING), request(PING)[:60], request(PING, length=500), b""):
        for _ in range(50):
            s = dial()
            s.sendall(raw)
            s.shutdown(socket.SHUT_WR)
            held.append(s)
    check(all(ended(s) for s in held), "half-closed streams are closed from the other side")
    return held


def resets():
    raw = request(modern(), rpc="tools/list")
    while True:
        for cut in (len(raw), 30, 0):
            try:
                s = dial()
                s.sendall(raw[:cut])
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
                s.close()
            except OSError:
                pass


def stopped():
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rpartition(")")[2].split()[0] == "T"


def behind_resets():
    """What is sent just before a reset is not served, though it can be read:
    the end of a session, on a connection that is not accepted yet and on one
    that is."""
    mine = initialize()
    end_it = request(b"", [f"Mcp-Session-Id: {mine}"], "DELETE")
    kept = dial()
    kept.sendall(request(PING, [f"Mcp-Session-Id: {mine}"]))
    check(answer(kept)[0] == 200, "a connection that is kept is answered")
    for s, title in ((None, "a new connection"), (kept, "the one that is kept")):
        os.kill(pid, signal.SIGSTOP)
        try:
            until(stopped)
            s = s or dial()
            s.sendall(end_it)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
            s.close()
        finally:
            os.kill(pid, signal.SIGCONT)
        check(in_session(mine) == 200, f"{title}: what comes before its reset has no effect")
    check(ask(end_it)[0] == 204, "and without a reset it has")


def unread():
    """Requests one behind the other, and no answer is read."""
    held = []
    raw = request(modern(), rpc="tools/list") * 400
    for _ in range(100):
        s = dial()
        s.setblocking(False)
        try:
            s.send(raw)
        except BlockingIOError:
            pass
        held.append(s)
    return held


def pipelined(n=600):
    """One behind the other, read as they come: each is answered in its turn."""
    with dial() as s:
        raw = b"".join(request(modern("server/discover").replace(b'"id": 1', b'"id": %d' % i), rpc="server/discover") for i in range(n))
        sender = threading.Thread(target=s.sendall, args=(raw,))
        sender.start()
        got, ids = b"", []
        while len(ids) < n and (part := s.recv(65536)):
            got += part
            found = re.findall(rb'"jsonrpc":"2.0","id":(\d+)', got)
            ids += [int(i) for i in found]
            got = got[-40:] if not found else got[got.rindex(b'"jsonrpc":"2.0","id":' + found[-1]) + 22:]
        sender.join()
    check(ids == list(range(n)), f"{n} requests at once are answered in order", ids[-3:])


alone()
session = initialize()
for title, run in {
    "sessions": sessions, "DNS rebinding": lambda: rebinding(ask, request), "big bodies": big_bodies, "slow head": lambda: slow("head"), "slow body": lambda: slow("body"),
    "dripped requests": lambda: drip, "1000 sockets": lambda: sockets(False), "1000 unix sockets": lambda: sockets(True), "idle connections": idle, "churn": lambda: churn,
    "half-closed streams": half_closed, "requests behind resets": behind_resets, "a storm of resets": lambda: resets, "answers that nobody reads": unread,
    "pipelined requests": pipelined, "header bombs": lambda: header_bombs(ask, request),
    "JSON bombs": lambda: json_bombs(ask, request, session),
}.items():
    attack(title, run)
end()
