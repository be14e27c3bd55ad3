# A hostile program inside a sandbox, at the door: door_attack.py with the
# arguments of attack.py; in $LEAD is a command that runs wires in the sandbox
# lead (of the gateway in $ATTACKED, or of ours), in $CALM one in another.
# SPDX: Apache-2.0
import functools
import json
import os
import shlex

from attack import MIB, Other, alone, answer, ask, attack, bound, check, end, ended, modern, others, others_go_on, request, token, until
from bombs import PING, forge, header_bombs, json_bombs, rebinding
from wires import Wires

# 4 MiB of bodies a machine, the calls they become, and some room.
bound["growth"] = 32 * MIB
send = functools.partial(request, bearer=None, host="openshell.local")
LIST = send(modern(), rpc="tools/list")


def calm():
    """A program of another sandbox, by its own door."""
    wires = []

    def call():
        if not wires:
            wires.append(Wires(shlex.split(os.environ["CALM"])))
        with wires[0].dial() as s:
            s.sendall(LIST)
            status, _, body = answer(s)
        return status == 200 and b'"create_sandbox"' in body, (status, body)

    return call


# Before the other one: it has none of its ends.
others["door"] = Other(calm())
door = Wires(["env", "NACRE_STATE=" + os.environ.get("ATTACKED", os.environ["NACRE_STATE"]), *shlex.split(os.environ["LEAD"])])
at_door = functools.partial(ask, dial=lambda unix: door.dial())


def free_memory():
    """Of the guest, as a program in it sees it."""
    with os.popen("nacre sandbox exec lead -- cat /proc/meminfo </dev/null") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("MemAvailable:"))


# --- who one is
def initialize(ask, request):
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}}
    return ask(request(json.dumps(body).encode()))[1]["mcp-session-id"]


def of_session(request, session, method="POST"):
    return request(PING if method == "POST" else b"", [f"Mcp-Session-Id: {session}"], method)


def sessions():
    mine, hosts = initialize(at_door, send), initialize(ask, request)
    check(at_door(of_session(send, mine))[0] == 200, "a session of the door is good there")
    check(ask(of_session(request, mine))[0] == 404, "and for no token of the host")
    check(ask(of_session(functools.partial(request, bearer=None), mine), True)[0] == 404, "nor for its user by the socket")
    check(at_door(of_session(send, hosts))[0] == 404, "nor is one of the host good at the door")
    other = Wires(shlex.split(os.environ["CALM"]))
    got = {ask(of_session(send, mine, m), dial=lambda unix: other.dial())[0] for m in ("POST", "DELETE")}
    check(got == {404}, "another sandbox neither uses nor ends it", got)
    other.close()
    got = {at_door(of_session(send, s))[0] for s in forge(mine)}
    check(got == {404}, "forged ones are not found", got)
    got = at_door(of_session(functools.partial(send, bearer=token), hosts))[0]
    check(got == 404, "a stolen token makes nobody of the host", got)
    check(at_door(of_session(send, mine, "DELETE"))[0] == 204, "its owner ends it")
    check({at_door(of_session(send, mine))[0] for _ in range(10)} == {404}, "and it is replayed in vain")


# --- what is too much
def big_bodies():
    got = at_door(send(b"", length=10 * MIB))
    check(got[0] == 413 and b"-32600" in got[2], "10 MiB that are announced are refused by the head", got)
    piece = b"%x\r\n%s\r\n" % (64 << 10, b"x" * (64 << 10))
    got = at_door(send(b"", ["Transfer-Encoding: chunked"], length=False) + piece * 160 + b"0\r\n\r\n")
    check(got[0] in (413, None), "10 MiB in pieces are refused on the way", got)
    held = [door.dial() for _ in range(24)]
    for s in held:
        s.sendall(send(b"", length=MIB) + b" " * 40000)
    return held


def slow():
    """As many as the door takes, each of which begins and says no more, a body
    more than are read at once among them: nobody waits for ever."""
    held = [door.dial() for _ in range(64)]
    for i, s in enumerate(held):
        s.sendall(send(b"{", length=1000) if i < 5 else send(b"", length=1000)[:40])
    marks = {k: o.mark() for k, o in others.items()}
    check(others_go_on(marks), "others are answered before the clock of a slow one runs out")
    got = at_door(LIST)[0]
    check(got == 200, "the next one of that sandbox has its turn when it has", got)
    got = {answer(s)[0] for s in held}
    check(got <= {408, None}, "each slow one is told that it took too long, or closed", got)
    return held


def sockets():
    """More than the door takes, in turn; none says a word."""
    held = [door.dial() for _ in range(200)]
    marks = {k: o.mark() for k, o in others.items()}
    check(others_go_on(marks), "200 connections at a door are its own sandbox's trouble")
    return held


def half_closed():
    held = []
    for raw in (send(PING), send(PING)[:60], send(PING, length=500), b""):
        for _ in range(12):
            s = door.dial()
            s.sendall(raw)
            s.shutdown(1)
            held.append(s)
    check(all(ended(s) for s in held), "half-closed streams are closed from the other side")
    return held


def resets():
    for i in range(300):
        s = door.dial()
        s.sendall(LIST[:(len(LIST), 30, 0)[i % 3]])
        s.close("r")
    got = at_door(LIST)[0]
    check(got == 200, "after a storm of resets the next one is answered", got)


def unread():
    """Answers that wait for whom they are for, and one who reads his."""
    held = [door.dial() for _ in range(40)]
    for s in held:
        s.sendall(LIST * 20)
    got = at_door(LIST)[0]
    check(got == 200, "one who reads is answered among those who do not", got)
    return held


def unread_batches():
    """A megabyte each: past what one machine's may hold they are refused."""
    lists = [{"jsonrpc": "2.0", "id": i, "method": "tools/list"} for i in range(50)]
    raw = send(json.dumps(lists).encode(), [f"Mcp-Session-Id: {session}"])
    held = [door.dial() for _ in range(60)]
    for s in held:
        s.sendall(raw)
    got = at_door(LIST)[0]
    check(got == 200, "a small answer goes through among them", got)
    return held


def other_protocols():
    for title, (raw, want) in {
        "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9), {None, 400, 505}), "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), {400, None}),
        "gRPC": (send(bytes(5), ["Content-Type: application/grpc"]).replace(b"Content-Type: application/json\r\n", b""), {415}),
        "another path": (send(PING, path="/openshell.v1.OpenShell/Health"), {404}), "CONNECT": (b"CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n\r\n", {400, 404, 405, 501}),
        "an upgrade": (send(PING, ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"]), {200, 400}),
    }.items():
        got = at_door(raw)
        check(got[0] in want and b"101" not in got[2][:20], f"{title} is not spoken at the door", got)


alone()
before = free_memory()
session = initialize(at_door, send)
for title, run in {
    "sessions": sessions, "DNS rebinding": lambda: rebinding(at_door, send), "big bodies": big_bodies, "slow heads and bodies": slow,
    "200 sockets": sockets, "half-closed streams": half_closed, "a storm of resets": resets, "answers that nobody reads": unread, "large answers that nobody reads": unread_batches,
    "other protocols": other_protocols, "header bombs": lambda: header_bombs(at_door, send), "JSON bombs": lambda: json_bombs(at_door, send, session),
}.items():
    attack(f"door: {title}", run)
got = at_door(LIST)[0]
check(got == 200, "the door is open as before", got)
check(until(lambda: free_memory() > before - 16 * MIB), "and the guest has its memory back", (before, free_memory()))
door.close()
end()
