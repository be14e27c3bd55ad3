#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bad_exec.py SOCKET GENERATED SANDBOX: what no exec takes, through gRPC.

Prints ok or not ok, a tab, a title.
"""
import sys

import grpc

sys.path.insert(0, sys.argv[2])
import openshell_v1_pb2 as api  # noqa: E402

channel = grpc.insecure_channel("unix:" + sys.argv[1])
INVALID = grpc.StatusCode.INVALID_ARGUMENT


def start(command, **more):
    return api.ExecSandboxRequest(sandbox_id=sys.argv[3], command=command, **more)


def talk(*inputs):
    """(status, details, stdout, exit code)"""
    call = channel.stream_stream(
        "/openshell.v1.OpenShell/ExecSandboxInteractive",
        request_serializer=lambda m: m if isinstance(m, bytes) else m.SerializeToString(),
        response_deserializer=api.ExecSandboxEvent.FromString)(iter(inputs), timeout=60)
    out, code = b"", None
    try:
        for event in call:
            out += event.out.data
            if event.WhichOneof("payload") == "exit":
                code = event.exit.exit_code
    except grpc.RpcError as e:
        return e.code(), e.details(), out, code
    return grpc.StatusCode.OK, "", out, code


def first(command, **more):
    return api.ExecSandboxInput(start=start(command, **more))


def size(cols, rows):
    return api.ExecSandboxInput(resize=api.ExecSandboxWindowResize(cols=cols, rows=rows))


def ok(truth, title, got):
    print(("ok" if truth else "not ok") + "\t" + title)
    if not truth:
        print("#\tgot: %r" % (got,))
    sys.stdout.flush()


for title, text, inputs in (
        ("no command", "command", [first([])]),
        ("an empty program", "command", [first([""])]),
        ("1025 arguments", "1024", [first(["true"] + ["x"] * 1025)]),
        ("a NUL in an argument", "NUL", [first(["echo", "a\0b"])]),
        ("a NUL in a value", "NUL", [first(["true"], environment={"A": "a\0b"})]),
        ("a name 'A=B'", "env name", [first(["true"], environment={"A=B": "1"})]),
        ("an empty name", "env name", [first(["true"], environment={"": "1"})]),
        ("a NUL in the work folder", "NUL", [first(["true"], workdir="/tmp\0/x")]),
        ("a work folder that is not absolute", "workdir", [first(["true"], workdir="tmp")]),
        ("a terminal of 65536 columns", "65535", [first(["true"], tty=True, cols=65536, rows=1)]),
        ("no start", "start", [api.ExecSandboxInput(input=b"x")])):
    got = talk(*inputs)
    ok(got[0] == INVALID and text in got[1], f"{title}: INVALID_ARGUMENT, and says why", got)

# An argument whose bytes are no text: field 2 of the request by hand.
bad = start(["echo"]).SerializeToString() + b"\x12\x02\xff\xfe"
got = talk(b"\x0a" + bytes([len(bad)]) + bad)
ok(got[0] == INVALID, "an argument that is no UTF-8 is refused", got)

for title, want, inputs in (
        ("a terminal of 0 x 0 is one of 80 x 24", b"24 80\r\n",
         [first(["stty", "size"], tty=True, cols=0, rows=0)]),
        ("a terminal of 65535 x 65535", b"[65535 65535]\r\n",
         [first(["life", "sizes", "0"], tty=True, cols=65535, rows=65535)]),
        ("a change to 0 x 0 changes nothing", b"got x 24 80\r\n",
         [first(["sh", "-c", "stty -echo; read x; echo got $x $(stty size)"], tty=True),
          size(0, 0), api.ExecSandboxInput(input=b"x\n")])):
    got = talk(*inputs)
    ok(got[0] == grpc.StatusCode.OK and got[2].endswith(want) and got[3] == 0, title, got)

got = talk(first(["sh", "-c", "cat; exit 3"]), size(10, 10), api.ExecSandboxInput(input=b"in"))
ok(got[2] == b"in" and got[3] == 3, "a size for what has no terminal does no harm", got)
got = talk(first(["cat"]), first(["echo", "second"]))
ok(got[0] != grpc.StatusCode.OK or got[2] == b"", "a second start starts nothing", got)
