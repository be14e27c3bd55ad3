# SPDX-License-Identifier: Apache-2.0
"""gRPC as the rest of the world speaks it: python3-grpcio against rpc.

peer.py client ADDRESS [CERTIFICATE.pem]   calls the server of tests/lib/rpc_peer.h
peer.py server ADDRESS                     the same methods, for our client
Every check is printed when it fails; the exit code is their number.
"""
import concurrent.futures
import sys
import threading
import time

import grpc

PREFIX = "/nacre.test.Peer/"
MIB = 1 << 20
failed = 0


def check(good, what):
    global failed
    if not good:
        failed += 1
        print("failed:", what, file=sys.stderr, flush=True)


def expect(code, what, call):
    try:
        call()
        check(False, what + ": was answered")
    except grpc.RpcError as e:
        check(e.code() == code, "%s: %s %s" % (what, e.code(), e.details()))
        return e


def unary(channel):
    echo = channel.unary_unary(PREFIX + "Echo")
    for size in (0, 1, 5, 16384, 65536, 200000, MIB):
        check(len(echo(b"x" * size, timeout=20)) == size, "echo of %d" % size)
    futures = [echo.future(b"%d" % i) for i in range(500)]
    check(all(f.result(20) == b"%d" % i for i, f in enumerate(futures)), "500 at once")
    expect(grpc.StatusCode.RESOURCE_EXHAUSTED, "1 MiB + 1", lambda: echo(b"x" * (MIB + 1), timeout=20))
    check(echo(b"after", timeout=20) == b"after", "the connection lives on")


def statuses(channel):
    e = expect(grpc.StatusCode.INVALID_ARGUMENT, "refuse", lambda: channel.unary_unary(PREFIX + "Refuse")(b"", timeout=20))
    check(e.details() == "not 100% right: \u00e9\n", "details: %r" % e.details())
    trailers = dict(e.trailing_metadata())
    check(trailers.get("nacre-reason") == "INVALID_ARGUMENT", "reason: %r" % trailers)
    check(trailers.get("nacre-field") == "name", "field")
    check(trailers.get("grpc-status-details-bin") == b"\x00\x01\xfe\xff detail", "detail")
    for path in ("/nacre.test.Peer/None", "/a.B/C", "/"):
        expect(grpc.StatusCode.UNIMPLEMENTED, path, lambda: channel.unary_unary(path)(b"", timeout=20))
    gzip = channel.unary_unary(PREFIX + "Echo")
    expect(grpc.StatusCode.UNIMPLEMENTED, "gzip", lambda: gzip(b"x" * 5000, timeout=20, compression=grpc.Compression.Gzip))


def streams(channel):
    count = channel.unary_stream(PREFIX + "Count")
    n = 0
    for m in count(b"3000 4096", timeout=60):
        n += len(m)
        if n % (100 * 4096) == 0:
            time.sleep(0.005)  # a slow reader
    check(n == 3000 * 4096, "count got %d" % n)
    check(len(list(count(b"3 1000000", timeout=60))) == 3, "large messages")
    sink = channel.stream_unary(PREFIX + "Sink")
    check(sink(iter([b"y" * 10000] * 2000), timeout=60) == b"20000000", "sink")
    check(sink(iter([]), timeout=20) == b"0", "empty sink")


def chat(channel):
    sent = threading.Semaphore(8)

    def messages():
        for i in range(300):
            sent.acquire()
            yield b"%d:" % i + b"z" * (i * 97 % 40000)

    got = 0
    for m in channel.stream_stream(PREFIX + "Chat")(messages(), timeout=60):
        check(m.startswith(b"%d:" % got), "chat order at %d" % got)
        got += 1
        sent.release()
    check(got == 300, "chat got %d" % got)


def flood(channel):
    """Messages are sent without reading any answer: the peer must stop taking them."""
    count = [0]

    def messages():
        while count[0] < 10000:
            count[0] += 1
            yield b"f" * 16000

    call = channel.stream_stream(PREFIX + "Chat")(messages(), timeout=60)
    before = -1
    while count[0] != before:
        before = count[0]
        time.sleep(0.5)
    # both windows of grpc (4 MiB) and ours, and queues: far from 160 MB
    check(count[0] < 3000, "flood: %d messages taken" % count[0])
    echo = channel.unary_unary(PREFIX + "Echo")
    check(echo(b"other", timeout=20) == b"other", "others go on")
    call.cancel()


def endings(channel):
    sleep = channel.unary_unary(PREFIX + "Sleep")
    start = time.monotonic()
    expect(grpc.StatusCode.DEADLINE_EXCEEDED, "deadline", lambda: sleep(b"", timeout=0.3))
    check(time.monotonic() - start < 5, "deadline took long")
    f = sleep.future(b"")
    time.sleep(0.1)
    f.cancel()
    check(f.cancelled(), "cancel")
    s = channel.unary_stream(PREFIX + "Count")(b"1000000 1000")
    next(s)
    s.cancel()
    check(s.code() == grpc.StatusCode.CANCELLED, "cancel of a stream")


def client(address, certificate=None):
    options = [("grpc.max_receive_message_length", 4 * MIB), ("grpc.max_send_message_length", -1)]
    if certificate:
        with open(certificate, "rb") as f:
            credentials = grpc.ssl_channel_credentials(f.read())
        options.append(("grpc.ssl_target_name_override", "gateway.nacre"))
        channel = grpc.secure_channel(address, credentials, options)
    else:
        channel = grpc.insecure_channel(address, options)
    for part in (unary, statuses, streams, chat, flood, endings):
        start = time.monotonic()
        part(channel)
        print("# %s %.2f s" % (part.__name__, time.monotonic() - start), flush=True)
    channel.close()


def serve_sleep(request, context):
    while context.is_active():
        time.sleep(0.02)
    return b""


def serve_refuse(request, context):
    context.set_trailing_metadata((("grpc-status-details-bin", b"\x00\xff"),))
    context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not 100% right: \u00e9\n")


def serve_count(request, context):
    n, size = request.split()
    for _ in range(int(n)):
        yield b"\0" * int(size)


def serve_chat(requests, context):
    yield from requests


def serve_sink(requests, context):
    return b"%d" % sum(len(r) for r in requests)


class Peer(grpc.GenericRpcHandler):
    methods = {
        "Echo": grpc.unary_unary_rpc_method_handler(lambda r, c: r),
        "Sleep": grpc.unary_unary_rpc_method_handler(serve_sleep),
        "Refuse": grpc.unary_unary_rpc_method_handler(serve_refuse),
        "Count": grpc.unary_stream_rpc_method_handler(serve_count),
        "Sink": grpc.stream_unary_rpc_method_handler(serve_sink),
        "Chat": grpc.stream_stream_rpc_method_handler(serve_chat),
    }

    def service(self, details):
        return self.methods.get(details.method[len(PREFIX):])


def server(address):
    pool = concurrent.futures.ThreadPoolExecutor(16)
    s = grpc.server(pool, options=[("grpc.max_receive_message_length", 4 * MIB)])
    s.add_generic_rpc_handlers((Peer(),))
    s.add_insecure_port(address)
    s.start()
    print("ready", flush=True)
    sys.stdin.read()
    s.stop(0)


if __name__ == "__main__":
    {"client": client, "server": server}[sys.argv[1]](*sys.argv[2:])
    sys.exit(min(failed, 100))
