# SPDX-License-Identifier: Apache-2.0
"""A keeper that is none: it says that its process is PID (0: its own) and its
sandbox SANDBOX, and fails every tunnel.

  liar.py PB_FOLDER SOCKET PID [SANDBOX]
prints "up", "tunnel" for each that it fails, "left" when its gateway leaves"""
import os
import sys
import threading
from concurrent import futures

sys.path.insert(0, sys.argv[1])
import grpc  # noqa: E402
import nacre_keeper_pb2 as pb  # noqa: E402

watched = threading.Event()
left = threading.Event()


# Who hears it may leave at once: that is seen by the end of its watch.
def status(ask, context):
    watched.wait(60)
    return pb.StatusReply(keeper_pid=int(sys.argv[3]) or os.getpid(), phase=pb.PHASE_CONNECTED, sandbox_id="".join(sys.argv[4:]))


def watch(ask, context):
    if not context.add_callback(left.set):
        left.set()
    watched.set()
    yield pb.Event(phase=pb.PHASE_CONNECTED)
    left.wait()


def tunnel(asks, context):
    print("tunnel", flush=True)
    context.abort(grpc.StatusCode.UNAVAILABLE, "not now")


methods = {
    "Status": grpc.unary_unary_rpc_method_handler(status, pb.StatusRequest.FromString, pb.StatusReply.SerializeToString),
    "Watch": grpc.unary_stream_rpc_method_handler(watch, pb.WatchRequest.FromString, pb.Event.SerializeToString),
    "Tunnel": grpc.stream_stream_rpc_method_handler(tunnel, pb.Bytes.FromString, pb.Bytes.SerializeToString),
}
server = grpc.server(futures.ThreadPoolExecutor(8))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("nacre.keeper.v1.Keeper", methods),))
server.add_insecure_port("unix:" + sys.argv[2])
server.start()
print("up", flush=True)
left.wait()
print("left", flush=True)
server.stop(0).wait()
