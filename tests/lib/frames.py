# HTTP/2 by hand (RFC 9113), for clients that do what no library lets them do.
# SPDX: Apache-2.0
import queue
import socket
import struct
import threading

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT, STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, \
    COMPRESSION_ERROR, CONNECT_ERROR, ENHANCE_YOUR_CALM = range(12)
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = range(1, 6)
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# Statuses of HPACK's static table, as one byte each (RFC 7541, appendix A).
STATUSES = {0x88: 200, 0x89: 204, 0x8c: 400, 0x8d: 404, 0x8e: 500}


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    return struct.pack(">I", len(payload) if length is None else length)[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def number(n, prefix, first):
    """An integer of HPACK (RFC 7541 5.1)."""
    most = (1 << prefix) - 1
    if n < most:
        return bytes([first | n])
    out = [first | most]
    n -= most
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def text(s):
    s = s if isinstance(s, bytes) else s.encode()
    return number(len(s), 7, 0) + s


def field(name, value, indexed=False):
    """A literal with a name of its own; indexed: it enters the table."""
    return (b"\x40" if indexed else b"\x00") + text(name) + text(value)


def fields(pairs):
    return b"".join(field(k, v) for k, v in pairs)


def setting(name, value):
    return struct.pack(">HI", name, value)


def window(stream, n):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", n))


def reset(stream, code=CANCEL):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


class Link:
    """A connection over the socket s. A thread takes what comes, unless it is
    not read; what came is kept: code of a GOAWAY, resets, heads and ends."""

    def __init__(self, s, reads=True, settings=b""):
        self.s = s
        self.next = 1
        self.goaway = None
        self.resets = {}
        self.heads = {}
        self.bytes = {}
        self.ended = set()
        self.settings = 0
        self.closed = False
        self.sending = threading.Lock()
        self.acks = queue.SimpleQueue()
        self.came = threading.Condition()
        if reads:
            threading.Thread(target=self.read, daemon=True).start()
        self.send(PREFACE + frame(SETTINGS, payload=settings))

    def send(self, raw):
        """False: the other end does not take it any more."""
        try:
            with self.sending:
                self.s.sendall(raw)
            self.send_acks()
            return True
        except OSError:
            return False

    def send_acks(self):
        """Never within a frame; whoever is sending one does it afterwards, so
        that nobody who reads waits for him."""
        while not self.acks.empty() and self.sending.acquire(blocking=False):
            try:
                if not self.acks.empty():
                    self.s.sendall(self.acks.get())
            finally:
                self.sending.release()

    def some(self):
        try:
            return self.s.recv(65536)
        except OSError:
            return b""

    def read(self):
        got = b""
        while part := self.some():
            got += part
            with self.came:
                while len(got) >= 9 and len(got) >= 9 + int.from_bytes(got[:3], "big"):
                    n = 9 + int.from_bytes(got[:3], "big")
                    self.take(got[3], got[4], int.from_bytes(got[5:9], "big"), got[9:n])
                    got = got[n:]
                self.came.notify_all()
        with self.came:
            self.closed = True
            self.came.notify_all()

    def take(self, kind, flags, stream, payload):
        if kind == GOAWAY:
            self.goaway = int.from_bytes(payload[4:8], "big")
        elif kind == RST_STREAM:
            self.resets[stream] = int.from_bytes(payload, "big")
        elif kind == HEADERS:
            self.heads[stream] = self.heads.get(stream, b"") + payload
        elif kind == DATA:
            self.bytes[stream] = self.bytes.get(stream, b"") + payload
        elif kind == SETTINGS and not flags & ACK:
            self.settings += 1
            self.acks.put(frame(SETTINGS, ACK))
            try:
                self.send_acks()
            except OSError:
                pass  # what it said is still to be read
        if kind in (HEADERS, DATA) and flags & END_STREAM:
            self.ended.add(stream)

    def until(self, test, seconds=60):
        with self.came:
            return bool(self.came.wait_for(lambda: test() or self.closed, seconds)) and bool(test())

    def open(self, pairs, body=None, end=True):
        """A request; its stream. body None: none follows, if end."""
        stream = self.next
        self.next += 2
        raw = frame(HEADERS, END_HEADERS | (END_STREAM if body is None and end else 0), stream, fields(pairs))
        while body is not None:
            part, body = body[:16384], body[16384:] or None
            raw += frame(DATA, END_STREAM if body is None and end else 0, stream, part)
        self.send(raw)
        return stream

    def over(self, stream):
        """It has ended or was reset: its status (None: none), its code (0: none)."""
        self.until(lambda: stream in self.ended or stream in self.resets)
        head = self.heads.get(stream, b"")
        return STATUSES.get(head[0]) if head else None, self.resets.get(stream, NO_ERROR)

    def end(self):
        """It has been closed from the other side: the code that was told, or
        None when none was. False: it is still open."""
        if not self.until(lambda: self.closed):
            return False
        return self.goaway

    def close(self):
        """Also where the thread waits for it."""
        try:
            self.s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.s.close()
