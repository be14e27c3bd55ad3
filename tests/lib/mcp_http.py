# Requests to the MCP endpoint as raw bytes, over a socket path or a port:
# mcp_http.py PLACE [TOKEN], one check a line as "ok<TAB>title", "end" at last.
# SPDX: Apache-2.0
import json
import socket
import sys
import time

place, token = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
P = "io.modelcontextprotocol/"


def connect():
    if place.startswith("/"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(place)
    else:
        s = socket.create_connection(("127.0.0.1", int(place)))
    s.settimeout(30)
    return s


def body(method="tools/call", name="get_policy", args=None, id=1):
    params = {"_meta": {P + "protocolVersion": "2026-07-28", P + "clientCapabilities": {}}}
    if method == "tools/call":
        params |= {"name": name, "arguments": args or {}}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


def request(b, more="", method="POST", path="/mcp", host="localhost", length=None, name="get_policy", rpc="tools/call"):
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    head += f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {rpc}\r\n"
    if rpc == "tools/call":
        head += f"Mcp-Name: {name}\r\n"
    if token:
        head += f"Authorization: Bearer {token}\r\n"
    head += f"Content-Length: {len(b) if length is None else length}\r\n{more}\r\n"
    return head.encode() + b


left = {}  # bytes of the next answer, by socket


def answer(s):
    got = left.pop(s, b"")
    while b"\r\n\r\n" not in got:
        part = s.recv(65536)
        if not part:
            return None, b"", got
        got += part
    head, rest = got.split(b"\r\n\r\n", 1)
    status = int(head.split()[1])
    for line in head.split(b"\r\n")[1:]:
        if line.lower().startswith(b"content-length:"):
            n = int(line.split(b":")[1])
            while len(rest) < n:
                rest += s.recv(65536)
            left[s] = rest[n:]
            rest = rest[:n]
    return status, head, rest


def closed(s):
    try:
        while True:
            if not s.recv(65536):
                return True
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def check(good, title, why=""):
    print(("ok" if good else "not ok") + "\t" + title)
    if not good:
        print("#\t" + str(why)[:300])


def code(rest):
    return json.loads(json.loads(rest)["result"]["content"][0]["text"])["code"]


s = connect()
s.sendall(request(body(args={"id": "nobody"})))
status, head, rest = answer(s)
check(status == 200 and code(rest) == "NOT_FOUND", "a call is answered", rest)
s.sendall(request(body("server/discover"), rpc="server/discover"))
status, head, rest = answer(s)
check(status == 200 and b"2026-07-28" in rest, "and the connection goes on", rest)

two = request(body(args={"id": "one"}, id=1)) + request(body(args={"id": "two"}, id=2))
s.sendall(two)
first, second = answer(s), answer(s)
check(json.loads(first[2])["id"] == 1 and json.loads(second[2])["id"] == 2, "two sent at once are answered in order", (first, second))

for n in (1, 7, 100):
    c = connect()
    r = request(body(args={"id": "nobody"}))
    for i in range(0, len(r), n):
        c.sendall(r[i : i + n])
    check(answer(c)[0] == 200, f"a request in pieces of {n} is answered")
    c.close()

cases = [
    (request(body(), path="/other"), 404, "another path is not there"),
    (request(body(), host="evil.test"), 403, "a name that is not ours is refused"),
    (request(body(), more="Origin: http://evil.test\r\n"), 403, "a page of another site is refused"),
    (request(b"", method="GET"), 405, "GET is not allowed"),
    (request(b"", length=(1 << 20) + 1), 413, "a body over 1 MiB is refused by its head"),
    (request(body(), more="X: " + "a" * 20000 + "\r\n"), 431, "a head over 16 KiB is refused"),
    (request(body(), more="Content-Length: 5\r\n"), 400, "two lengths are refused"),
    (b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/grpc\r\nContent-Length: 0\r\n\r\n", 415, "gRPC over HTTP/1.1 is told so"),
    (b"nonsense\r\n\r\n", 400, "nonsense is refused"),
]
for r, want, title in cases:
    c = connect()
    c.sendall(r)
    got = answer(c)
    check(got[0] == want, title, got)
    c.close()

c = connect()
c.sendall(request(b"x" * 10, length=100))
begun = time.monotonic()
got = answer(c)
took = time.monotonic() - begun
check(got[0] == 408 and 8 < took < 20 and closed(c), "a body that does not come ends after 10 s", (got, took))

def create(name, token):
    args = {"name": name, "kind": "tool", "parent": "lead"}
    b = json.loads(body(name="create_sandbox", args=args))
    b["params"]["_meta"]["progressToken"] = token
    return json.dumps(b).encode()


# A create tells how far it is, and one whose client leaves meanwhile is undone.
if "cancel" in sys.argv:
    c = connect()
    c.sendall(request(create("seen", 5), name="create_sandbox"))
    got = b""
    while b"\r\n0\r\n\r\n" not in got:
        part = c.recv(65536)
        if not part:
            break
        got += part
    check(b"notifications/progress" in got and b"machine is starting" in got, "a create reports progress", got)
    check(b'\\"state\\":\\"running\\"' in got, "and then its result", got)
    c = connect()
    c.sendall(request(create("gone", 6), name="create_sandbox"))
    got = b""
    while b"notifications/progress" not in got:
        got += c.recv(65536)
    c.close()

if not place.startswith("/"):
    c = connect()
    c.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    check(c.recv(9)[3:4] == b"\x04", "HTTP/2 is answered with its settings")
    token = ""
    c = connect()
    c.sendall(request(body()))
    got = answer(c)
    check(got[0] == 401 and b'Bearer realm="nacre"' in got[1], "without a token there is no answer but 401", got)
    token = "nacre_" + "A" * 43
    c = connect()
    c.sendall(request(body()))
    got = answer(c)
    check(got[0] == 401 and b"invalid_token" in got[1], "nor with another", got)
else:
    c = connect()
    c.sendall(b"PO")
    c.sendall(request(body(args={"id": "nobody"}))[2:])
    check(answer(c)[0] == 200, "a first piece of two bytes is no HTTP/2")
print("end\t")
