# A hostile client of the MCP endpoint, bounded in count and time, and two
# others whose calls must go on meanwhile: mcp_attack.py with the arguments of
# attack.py. SPDX: Apache-2.0
import json
import re
import socket
import struct
import threading
import time

from attack import (MIB, answer, ask, attack, bound, check, dial, end, ended, figures, files, modern, other, others, others_go_on, port, request, rest,
                    tell, token)

# As many bodies as the port has places, and some room.
bound["growth"] = 128 * MIB + 64 * MIB


# --- who one is
def initialize(bearer=token, unix=False):
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}}
    return ask(request(json.dumps(body).encode(), bearer=bearer), unix)[1]["mcp-session-id"]


PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()


def in_session(session, bearer=token, method="POST", unix=False):
    return ask(request(PING if method == "POST" else b"", [f"Mcp-Session-Id: {session}"], method, bearer=bearer), unix)[0]


def sessions():
    mine, by_socket = initialize(), initialize(None, True)
    check(in_session(mine) == 200, "a session is good for its owner")
    check(in_session(mine, other) == 404, "and for no other token")
    check(in_session(mine, None, unix=True) == 404, "nor for the same user by the socket")
    check(in_session(by_socket) == 404, "nor is one of the socket good for a token")
    check(in_session(mine, other, "DELETE") == 404, "another token cannot end it")
    changed = [mine[:i] + ("A" if mine[i] != "A" else "B") + mine[i + 1:] for i in range(len(mine) - 1)]
    forged = [*changed, "A" * len(mine), mine[:-1], mine + "A", mine[:22], "%s", "../" * 20, "'" * 43]
    got = {in_session(s) for s in forged}
    check(got == {404}, f"{len(forged)} forged ones are not found", got)
    check(in_session(mine) == 200, "which changes nothing for the real one")
    check(in_session(mine, method="DELETE") == 204, "its owner ends it")
    check({in_session(mine) for _ in range(20)} == {404}, "and it is replayed in vain")
    check(in_session(mine, method="DELETE") == 404, "nor ends again")
    check(ask(request(PING, bearer="nacre_" + "A" * 43))[0] == 401, "a forged token is none")


def rebinding():
    hosts = ["evil.test", f"evil.test:{port}", "localhost.evil.test", "127.0.0.1.evil.test", "evil.test:localhost", "localhost@evil.test",
             "127.0.0.2", "0.0.0.0", "[::]", "localhost.", "openshell.local.evil.test"]
    got = {h: ask(request(PING, host=h))[0] for h in hosts}
    check(set(got.values()) <= {400, 403}, "hosts that are not ours are refused", got)
    origins = ["http://evil.test", "http://localhost.evil.test", "null", "", "file://", "http://localhost@evil.test", "chrome-extension://abc",
               "http://evil.test:%d" % port, "javascript:localhost", "http://localhost:80.evil.test", "http://localhost/../evil"]
    got = {o: ask(request(PING, [f"Origin: {o}"]))[0] for o in origins}
    check(set(got.values()) == {403}, "so are pages of others", got)
    got = {m: ask(request(b"", ["Origin: http://evil.test"], m))[0] for m in ("GET", "DELETE", "OPTIONS", "PUT")}
    check(set(got.values()) == {403}, "by whatever method", got)
    got = ask(request(PING, ["Origin: http://localhost", "Origin: http://evil.test"]))[0]
    check(got in (400, 403), "nor does a second origin pass behind a good one", got)
    fields = ask(request(PING, ["Origin: http://localhost:%d" % port]))
    check(fields[0] in (200, 400) and not any(f.startswith("access-control") for f in fields[1]), "our own page reads nothing across origins", fields)


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
    linger = struct.pack("ii", 1, 0)
    raw = request(modern(), rpc="tools/list")
    while True:
        for cut in (len(raw), 30, 0):
            try:
                s = dial()
                s.sendall(raw[:cut])
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                s.close()
            except OSError:
                pass


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


# --- what is malformed
def header_bombs():
    cases = {
        "a field of 1 MiB": (["X: " + "a" * MIB], {431}),
        "a name of 20 KiB": (["a" * 20000 + ": b"], {431}),
        "1000 fields": ([f"X-{i}: b" for i in range(1000)], {400, 431}),
        "a folded field": (["X: a", " b"], {400}),
        "a bare CR": (["X: a\rb"], {400}),
        "a NUL": (["X: a\0b"], {400}),
        "a blank before the colon": (["X : a"], {400}),
        "two hosts": (["Host: localhost"], {400}),
        "two lengths": (["Content-Length: 1"], {400}),
        "a length beside a coding": (["Transfer-Encoding: chunked"], {400}),
        "a coding that is none of ours": (["Transfer-Encoding: gzip, chunked"], {400, 501}),
        "two sessions": (["Mcp-Session-Id: a", "Mcp-Session-Id: b"], {400, 404}),
        "an expectation that is none": (["Expect: 200-maybe"], {400, 417}),
    }
    for title, (more, want) in cases.items():
        got = ask(request(PING, more))
        check(got[0] in want, f"{title} is refused", got)
    for title, raw in {"a long target": b"POST /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", "a long method": b"A" * 100 + b" /mcp HTTP/1.1\r\nHost: a\r\n\r\n",
                       "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), "noise": bytes(range(256)) * 64, "lines and no head": b"\r\n" * 5000,
                       "HTTP/3.0": b"POST /mcp HTTP/3.0\r\nHost: localhost\r\n\r\n"}.items():
        got = ask(raw)
        check(got[0] in (400, 414, 431, 501, 505), f"{title} is refused", got)


def json_bombs():
    head = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":'
    cases = {
        "500000 arrays in each other": (b"[" * 500000, -32600),
        "500000 that are closed": (b"[" * 250000 + b"]" * 250000, -32600),
        "100 objects in each other": (b'{"a":' * 100 + b"1" + b"}" * 100, -32600),
        "a deep parameter": (head + b"[" * 70 + b"]" * 70 + b"}}", -32600),
        "200000 members": (b"{" + b",".join(b'"%d":1' % i for i in range(80000)) + b"}", -32600),
        "a million numbers": (head + b"[" + b",".join([b"1"] * 400000) + b"]}}", -32600),
        "51 messages at once": (b"[" + b",".join([PING] * 51) + b"]", -32600),
        "a method that is there twice": (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', -32600),
        "one that is so by an escape": (b'{"jsonrpc":"2.0","id":1,"method":"ping","\\u006dethod":"tools/call"}', -32600),
        "a member twice, deep inside": (head + b'{"a":1,"a":2}}}', -32600),
        "a byte that is no UTF-8": (head + b'"\xff"}}', -32700),
        "an overlong slash": (head + b'"\xc0\xaf"}}', -32700),
        "half of a surrogate": (head + b'"\xed\xa0\x80"}}', -32700),
        "one by its escape": (head + b'"\\ud800"}}', -32700),
        "UTF-16": ('{"jsonrpc":"2.0"}'.encode("utf-16"), -32700),
        "a NUL behind it": (PING + b"\0{}", -32700),
        "two values": (PING + PING, -32700),
        "a number without end": (head + b"1" * 900000 + b"}", -32700),
        "an id of 10 KiB": (b'{"jsonrpc":"2.0","method":"ping","id":"' + b"a" * 10240 + b'"}', -32600),
    }
    for title, (body, want) in cases.items():
        status, _, got = ask(request(body, ["Mcp-Session-Id: " + session]))
        check(status == 400 and json.loads(got)["error"]["code"] == want and "id" not in json.loads(got), f"{title} is refused with {want}", (status, got))


if figures:
    marks = {k: o.mark() for k, o in others.items()}
    others_go_on(marks)
    tell("alone", marks)
session = initialize()
for title, run in {
    "sessions": sessions, "DNS rebinding": rebinding, "big bodies": big_bodies, "slow head": lambda: slow("head"), "slow body": lambda: slow("body"),
    "dripped requests": lambda: drip, "1000 sockets": lambda: sockets(False), "1000 unix sockets": lambda: sockets(True), "churn": lambda: churn,
    "half-closed streams": half_closed, "a storm of resets": lambda: resets, "answers that nobody reads": unread,
    "pipelined requests": pipelined, "header bombs": header_bombs,
    "JSON bombs": json_bombs,
}.items():
    attack(title, run)
end()
