# A hostile client that speaks HTTP/2 by hand: MCP by the port and by the
# socket, and gRPC by the socket. Arguments are those of attack.py. SPDX: Apache-2.0
import itertools
import socket
import struct

import frames
from attack import MIB, alone, attack, bound, check, dial, end, modern, token
from frames import (ACK, COMPRESSION_ERROR, CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR, GOAWAY,
                    HEADERS, INTERNAL_ERROR, NO_ERROR, PADDED, PING, PREFACE, PRIORITY, PROTOCOL_ERROR, PUSH_PROMISE, REFUSED_STREAM, RST_STREAM, SETTINGS,
                    STREAM_CLOSED, WINDOW_UPDATE, Link, field, fields, frame, number, reset, setting, window)

# 256 answers of MCP that nobody takes, or what two connections of gRPC may
# leave: 16 MiB, twice. And some room.
bound["growth"] = 96 * MIB
CALM = {ENHANCE_YOUR_CALM, INTERNAL_ERROR}  # nghttp2 says the second of a storm of resets
MOST = 40000  # requests of a storm, far over any limit


class Place:
    def __init__(self, name, unix, head, body):
        self.name, self.unix, self.head, self.body = name, unix, head, body

    def link(self, **how):
        return Link(dial(self.unix), **how)

    def serves(self):
        """A new connection is served as ever."""
        link = self.link()
        got = link.over(link.open(self.head, self.body))
        link.close()
        return got == (200, NO_ERROR)


def mcp(bearer=None):
    head = [(":method", "POST"), (":scheme", "http"), (":path", "/mcp"), (":authority", "localhost"), ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"), ("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")]
    return head + ([("authorization", "Bearer " + bearer)] if bearer else [])


HEALTH = [(":method", "POST"), (":scheme", "http"), (":path", "/openshell.v1.OpenShell/Health"), (":authority", "localhost"),
          ("content-type", "application/grpc"), ("te", "trailers")]
PORT, SOCKET = Place("port", False, mcp(token), modern()), Place("socket", True, mcp(), modern())
GRPC = Place("gRPC", True, HEALTH, bytes(5))


def told(link, want, title):
    """The connection is ended, with one of these codes."""
    got = link.end()
    check(got in want, title, got)
    link.close()


def stops(link, pieces):
    """They are not taken to the last."""
    return any(not link.send(raw) for raw in pieces)


# --- streams that are begun, and no more
def storm(p, bad):
    """Requests, each with what ends it."""
    block = fields(p.head)
    streams = range(1, 2 * MOST, 2)
    for at in range(0, MOST, 100):
        yield b"".join(frame(HEADERS, END_HEADERS, s, block) + bad(s) for s in streams[at:at + 100])


def rapid_reset(p):
    for title, bad in {"resets": reset, "streams that must be reset": lambda s: window(s, (1 << 31) - 1)}.items():
        link = p.link()
        check(stops(link, storm(p, bad)), f"a storm of {title} is cut off")
        told(link, CALM, f"a storm of {title}: and is told so")


def open_streams(p):
    link = p.link()
    link.until(lambda: link.settings > 0)
    streams = [link.open(p.head, end=False) for _ in range(1200)]
    if p is GRPC:
        told(link, {PROTOCOL_ERROR}, "more calls than were offered end the connection")
        return []
    check(link.until(lambda: len(link.resets) >= 1072), "streams over the limit are refused", len(link.resets))
    codes = set(link.resets.values())
    check(codes == {REFUSED_STREAM}, "each by its code, so that it may be sent again", codes)
    first = min(set(streams) - set(link.resets))
    link.send(frame(DATA, END_STREAM, first, p.body))
    check(link.over(first) == (200, NO_ERROR), "those below it are served", link.over(first))
    return [link]


def many_links(p):
    """Each begins in its way and says no more."""
    block = fields(p.head)
    ways = [PREFACE[:9], PREFACE, PREFACE + frame(SETTINGS)[:5], PREFACE + frame(SETTINGS), PREFACE + frame(SETTINGS) + frame(HEADERS, 0, 1, block),
            PREFACE + frame(SETTINGS) + frame(HEADERS, END_HEADERS, 1, block)[:40], PREFACE + frame(SETTINGS) + frame(HEADERS, END_HEADERS, 1, block),
            PREFACE + frame(SETTINGS) + frame(DATA, 0, 1, b"", length=16384)]
    held = []
    for way in ways * 12:
        s = dial(p.unix)
        s.sendall(way)
        held.append(s)
    for s in held[::2]:
        s.shutdown(socket.SHUT_WR)
    return held


# --- header blocks
def continuations(p):
    for title, part in {"of 16 KiB": field("x", "a" * 16000), "of no byte": b"", "of a byte each": b"\x40"}.items():
        raw = frame(CONTINUATION, 0, 1, part)
        link = p.link()
        link.send(frame(HEADERS, 0, 1, fields(p.head)))
        check(stops(link, itertools.repeat(raw * (1 + 65536 // len(raw)), 200)), f"continuations {title} without end are cut off")
        told(link, CALM | {COMPRESSION_ERROR, PROTOCOL_ERROR}, f"continuations {title}: and told so")


def hpack(p):
    # One field of 4000 bytes enters the table, and is named 3000 times.
    link = p.link()
    link.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, fields(p.head) + field("x", "a" * 4000, indexed=True) + number(62, 7, 0x80) * 3000))
    check(link.over(1) == (None, ENHANCE_YOUR_CALM), "12 MB of fields in 8 KB are refused", link.over(1))
    link.next = 3
    check(link.over(link.open(p.head, p.body)) == (200, NO_ERROR), "and its connection goes on")
    link.close()
    for title, block in {
        "an index that is none": number(0, 7, 0x80), "one past the table": number(4000, 7, 0x80), "a number without end": b"\xff" * 41,
        "a larger table than was offered": number(1 << 20, 5, 0x20) + fields(p.head), "a length past the block": b"\x00" + number(1 << 20, 7, 0) + b"aa",
        "a Huffman code that is none": b"\x00\x84\xff\xff\xff\xff\x01a",
    }.items():
        link = p.link()
        link.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, block))
        told(link, {COMPRESSION_ERROR}, f"{title} is a COMPRESSION_ERROR")


# --- frames that cost nothing to send
def floods(p):
    for title, raw in {
        "PING": frame(PING, 0, 0, bytes(8)), "SETTINGS": frame(SETTINGS),
        "SETTINGS that change": frame(SETTINGS, 0, 0, setting(frames.INITIAL_WINDOW_SIZE, 1) + setting(frames.INITIAL_WINDOW_SIZE, 65535)),
    }.items():
        link = p.link(reads=False)
        check(stops(link, itertools.repeat(raw * (65536 // len(raw)), 400)), f"a flood of {title} is cut off, when its answers are not taken")
        link.close()
    held = []
    for title, raw in {
        "PRIORITY": frame(PRIORITY, 0, 1, struct.pack(">IB", 3, 1)), "unknown frames": frame(99, 0, 0, bytes(8)), "empty DATA": frame(DATA, 0, 1),
        "padding": frame(DATA, PADDED, 1, b"\xff" + bytes(255)), "an unknown setting": frame(SETTINGS, 0, 0, setting(0x99, 1)),
        "windows that grow by one": window(0, 1),
    }.items():
        link = p.link()
        link.open(p.head, end=False)
        stops(link, itertools.repeat(raw * (65536 // len(raw)), 16))
        check(p.serves(), f"a flood of {title} leaves others served")
        held.append(link)
    return held


# --- frames that are wrong
def malformed(p):
    begun = frame(HEADERS, END_HEADERS, 1, fields(p.head))
    whole = frame(HEADERS, END_HEADERS | END_STREAM, 1, fields(p.head))
    for title, (raw, want) in {
        "a frame over 16 KiB": (begun + frame(DATA, 0, 1, bytes(16385)), FRAME_SIZE_ERROR), "a PING of 7 bytes": (frame(PING, 0, 0, bytes(7)), FRAME_SIZE_ERROR),
        "settings of 5 bytes": (frame(SETTINGS, 0, 0, bytes(5)), FRAME_SIZE_ERROR), "an answer to settings with some": (frame(SETTINGS, ACK, 0, bytes(6)), FRAME_SIZE_ERROR),
        "a reset of 3 bytes": (begun + frame(RST_STREAM, 0, 1, bytes(3)), FRAME_SIZE_ERROR), "a window of 5 bytes": (frame(WINDOW_UPDATE, 0, 0, bytes(5)), FRAME_SIZE_ERROR),
        "a window over 2^31": (frame(SETTINGS, 0, 0, setting(frames.INITIAL_WINDOW_SIZE, 1 << 31)), FLOW_CONTROL_ERROR),
        "one that grows over it": (window(0, (1 << 31) - 1), FLOW_CONTROL_ERROR), "one that grows by nothing": (window(0, 0), PROTOCOL_ERROR),
        "frames over 16 MiB": (frame(SETTINGS, 0, 0, setting(frames.MAX_FRAME_SIZE, 1 << 24)), PROTOCOL_ERROR), "a push": (frame(SETTINGS, 0, 0, setting(frames.ENABLE_PUSH, 2)), PROTOCOL_ERROR),
        "a promise of one": (begun + frame(PUSH_PROMISE, END_HEADERS, 1, struct.pack(">I", 2) + fields(p.head)), PROTOCOL_ERROR),
        "an even stream": (frame(HEADERS, END_HEADERS, 2, fields(p.head)), PROTOCOL_ERROR), "stream 0": (frame(HEADERS, END_HEADERS, 0, fields(p.head)), PROTOCOL_ERROR),
        "settings of a stream": (begun + frame(SETTINGS, 0, 1), PROTOCOL_ERROR), "a PING of one": (begun + frame(PING, 0, 1, bytes(8)), PROTOCOL_ERROR),
        "bytes of no stream": (frame(DATA, 0, 0, b"x"), PROTOCOL_ERROR), "of one that is not open": (frame(DATA, 0, 5, b"x"), PROTOCOL_ERROR),
        "of one that has ended": (whole + frame(DATA, 0, 1, b"x"), STREAM_CLOSED), "a reset of one that is not open": (reset(5), PROTOCOL_ERROR),
        "a continuation of nothing": (frame(CONTINUATION, END_HEADERS, 1, b""), PROTOCOL_ERROR),
        "a frame amid a block": (frame(HEADERS, 0, 1, fields(p.head)) + frame(PING, 0, 0, bytes(8)), PROTOCOL_ERROR),
        "a block of two streams": (frame(HEADERS, 0, 1, fields(p.head)) + frame(CONTINUATION, END_HEADERS, 3, b""), PROTOCOL_ERROR),
        "padding over the frame": (begun + frame(DATA, PADDED, 1, b"\xff"), PROTOCOL_ERROR),
        "40 settings in one": (frame(SETTINGS, 0, 0, setting(frames.INITIAL_WINDOW_SIZE, 1) * 40), ENHANCE_YOUR_CALM),
        "a goodbye of 4 bytes": (frame(GOAWAY, 0, 0, bytes(4)), FRAME_SIZE_ERROR),
    }.items():
        link = p.link()
        link.send(raw)
        told(link, {want}, f"{title} is refused")
    for title, more in {"a name in capitals": [("X", "a")], "a pseudo field that is none": [(":x", "a")], "a field of connections": [("connection", "close")],
                        "a second path": [(":path", "/")], "a line in a value": [("x", "a\r\nb")], "a NUL": [("x", "a\0b")], "another te": [("te", "gzip")]}.items():
        link = p.link()
        got = link.over(link.open(p.head + more, p.body))
        check(got in ((None, PROTOCOL_ERROR), (400, NO_ERROR)), f"{title} is refused", got)
        link.close()


# --- windows
def windows(p):
    """Answers that may not be sent: no window, and one of a byte."""
    held = []
    for size in (0, 1):
        for _ in range(8):
            link = p.link(settings=setting(frames.INITIAL_WINDOW_SIZE, size))
            for _ in range(100):
                link.open(p.head, p.body)
            held.append(link)
    return held


def without_token(p):
    """As many refusals that may not be sent as connections have streams for."""
    held = []
    for _ in range(8):
        link = p.link(settings=setting(frames.INITIAL_WINDOW_SIZE, 0))
        streams = [link.open(mcp(), p.body) for _ in range(120)]
        check(link.until(lambda: len(link.heads) + len(link.resets) >= len(streams)), "all that bring no token are answered")
        held.append(link)
    for other in (PORT, SOCKET):
        check(other.serves(), f"those who are let in have their places, at the {other.name}")
    return held


# --- messages of gRPC
# The name grpc-status as the gateway writes it, and a literal behind it.
STATUS = b"\x88\x9a\xca\xc8\xb2\x124\xda\x8f"


def status(link, stream):
    link.until(lambda: stream in link.ended or stream in link.resets)
    head = link.heads.get(stream, b"")
    at = head.find(STATUS) + len(STATUS)
    return int(head[at + 1:at + 1 + head[at]]) if STATUS in head else None


def messages(p):
    for title, (body, want) in {
        "one of 2 MiB": (b"\0\0\x20\0\0" + bytes(1000), 8), "one of 4 GiB": (b"\0\xff\xff\xff\xff" + bytes(1000), 8), "a compressed one": (b"\1\0\0\0\1a", 12),
        "a flag that is none": (b"\2\0\0\0\0", 12), "half of one": (b"\0\0\0\0\5a", 13), "a head that is cut": (b"\0\0", 13), "no protobuf": (b"\0\0\0\0\1\xff", 3),
        "two": (bytes(10), 3), "none": (b"", 3), "10000 empty ones": (bytes(50000), 3),
    }.items():
        link = p.link()
        got = status(link, link.open(p.head, body))
        check(got == want, f"{title} is refused with {want}", got)
        link.close()
    for title, more in {"another coding": ("grpc-encoding", "gzip", 12), "a time that is none": ("grpc-timeout", "1x", 3), "a time of 20 digits": ("grpc-timeout", "9" * 20 + "S", 3),
                        "a token of nobody": ("authorization", "Bearer x", 16)}.items():
        link = p.link()
        got = status(link, link.open(p.head + [more[:2]], p.body))
        check(got == more[2], f"{title} is refused with {more[2]}", got)
        link.close()


def half_messages(p):
    """As many calls as a connection may have, each with some of a message of
    1 MiB: 40 MB of them."""
    held = []
    for _ in range(2):
        link = p.link()
        streams = [link.open(p.head, end=False) for _ in range(256)]
        part = b"\0\0\x0f\xff\xff"
        for _ in range(10):
            link.send(b"".join(frame(DATA, 0, s, part + bytes(16000)) for s in streams))
            part = b""
        check(link.until(lambda: len(link.ended) > 0) and status(link, next(iter(link.heads))) == 8, "messages that are not whole are refused with 8, past what one may leave", list(link.heads.items())[:1])
        held.append(link)
    check(p.serves(), "while another connection is served")
    return held


def idle_calls(p):
    """As many as there are, and no word in them: those who call tools have
    their own places."""
    held = [p.link() for _ in range(4)]
    for link in held:
        for _ in range(250):
            link.open(p.head, end=False)
    link = p.link()
    got = status(link, link.open(p.head, p.body))
    check(got == 14, "one more is told that there are too many", got)
    return [*held, link]


alone()
for p in (PORT, SOCKET, GRPC):
    for run in (rapid_reset, open_streams, many_links, continuations, hpack, floods, malformed, windows):
        attack(f"{p.name}: {run.__name__}", lambda: run(p))
attack("port: without_token", lambda: without_token(PORT))
for run in (messages, half_messages, idle_calls):
    attack(f"gRPC: {run.__name__}", lambda: run(GRPC))
end()
