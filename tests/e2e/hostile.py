# SPDX-License-Identifier: Apache-2.0
"""Every operation of the north API with a bearer token that is none for it.

usage: hostile.py ADDRESS TOKEN [STATUS]   prints "REFUSED ALL": how many were
answered with that status (PERMISSION_DENIED), of how many; then the others.
"""
import sys

import grpc
import nacre_v1_pb2 as nacre
import openshell_v1_pb2 as shell

channel = grpc.insecure_channel(sys.argv[1])
metadata = [("authorization", "Bearer " + sys.argv[2])]
want = getattr(grpc.StatusCode, sys.argv[3] if len(sys.argv) > 3 else "PERMISSION_DENIED")


def status(path):
    call = channel.stream_stream(path)(iter([b""]), metadata=metadata, timeout=30)
    try:
        return "answered %r" % list(call)[:1]
    except grpc.RpcError as e:
        return e.code()


methods = ["/%s/%s" % (s.full_name, m.name) for file in (nacre, shell)
           for s in file.DESCRIPTOR.services_by_name.values() for m in s.methods]
got = [(m, status(m)) for m in methods]
print(sum(s == want for _, s in got), len(got))
for m, s in got:
    if s != want:
        print(m, s)
