# Requests that no client should send, one by one: ask(bytes) gives status,
# fields and body, request() makes the bytes for the place. SPDX: Apache-2.0
import json

from attack import MIB, check, port

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()


def forge(session):
    """Ids that are almost this one, or nothing like it."""
    changed = [session[:i] + ("A" if session[i] != "A" else "B") + session[i + 1:] for i in range(len(session) - 1)]
    return [*changed, "A" * len(session), session[:-1], session + "A", session[:22], "%s", "../" * 20, "'" * 43]


def rebinding(ask, request):
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


# --- what is malformed
def header_bombs(ask, request):
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


def json_bombs(ask, request, session):
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
