# SPDX-License-Identifier: Apache-2.0
"""A stock gRPC client against the gateway. Prints test|STATUS|TITLE lines."""
import queue, sys
import grpc
import nacre_v1_pb2 as nacre
import openshell_v1_pb2 as shell

channel = grpc.insecure_channel(sys.argv[1])
SHELL, NACRE = "/openshell.v1.OpenShell/", "/nacre.v1.Nacre/"


def test(passed, title):
    print("test|%d|%s" % (0 if passed else 1, title), flush=True)


def unary(path, request, answer):
    return channel.unary_unary(path, request_serializer=lambda m: m.SerializeToString(),
                               response_deserializer=answer.FromString)(request, timeout=60)


def stream(path, requests, answer, client_streams=False):
    make = channel.stream_stream if client_streams else channel.unary_stream
    return make(path, request_serializer=lambda m: m.SerializeToString(),
                response_deserializer=answer.FromString)(requests, timeout=60)


def refused(code, path, request, answer, title, details=""):
    try:
        unary(path, request, answer)
        test(False, title)
    except grpc.RpcError as e:
        test(e.code() == code and details in e.details(), title)
        return e


health = unary(SHELL + "Health", shell.HealthRequest(), shell.HealthResponse)
test(health.status == 1 and health.version, "Health says healthy, and the version")
spec = shell.SandboxSpec(template=shell.SandboxTemplate(image="tiny"), command=["sh", "-c", "echo up; sleep 1000"], environment={"A": "1"})
made = unary(SHELL + "CreateSandbox", shell.CreateSandboxRequest(name="g", spec=spec, labels={"team": "x"}), shell.SandboxResponse).sandbox
test(made.status.phase in (1, 8) and made.metadata.name == "g" and made.metadata.resource_version >= 1,
     "CreateSandbox answers at once, provisioning")
phases = []
for event in stream(SHELL + "WatchSandbox", shell.WatchSandboxRequest(id=made.metadata.id, follow_status=True), shell.SandboxStreamEvent):
    if event.WhichOneof("payload") == "sandbox":
        phases.append(event.sandbox.status.phase)
        if event.sandbox.status.phase in (2, 3):
            break
test(phases and phases[-1] == 2, "WatchSandbox tells when it is ready")
got = unary(SHELL + "GetSandbox", shell.GetSandboxRequest(name="g"), shell.SandboxResponse).sandbox
test(got.metadata.id == made.metadata.id and got.metadata.labels["team"] == "x", "GetSandbox by name, with labels")
test([s.metadata.name for s in unary(SHELL + "ListSandboxes", shell.ListSandboxesRequest(), shell.ListSandboxesResponse).sandboxes] == ["g"],
     "ListSandboxes")
out = err = b""
code = None
for e in stream(SHELL + "ExecSandbox", shell.ExecSandboxRequest(sandbox_id=made.metadata.id, command=["sh", "-c", "cat; echo $A$B; echo e >&2; exit 5"],
                                                                 environment={"B": "2"}, input=b"in:"), shell.ExecSandboxEvent):
    kind = e.WhichOneof("payload")
    out += e.out.data if kind == "out" else b""
    err += e.err.data if kind == "err" else b""
    code = e.exit.exit_code if kind == "exit" else code
test((out, err, code) == (b"in:12\n", b"e\n", 5), "ExecSandbox: stdin given, streams apart, exit last")
asks = queue.Queue()
asks.put(shell.ExecSandboxInput(start=shell.ExecSandboxRequest(sandbox_id=made.metadata.id, command=["cat"])))
call = stream(SHELL + "ExecSandboxInteractive", iter(asks.get, None), shell.ExecSandboxEvent, True)
asks.put(shell.ExecSandboxInput(input=b"first"))
first = next(call)
asks.put(shell.ExecSandboxInput(input=b"second"))
second = next(call)
asks.put(None)
rest = list(call)
test(first.out.data == b"first" and second.out.data == b"second" and rest[-1].exit.exit_code == 0,
     "ExecSandboxInteractive: bytes come back one by one, half-close ends it")
logs = unary(SHELL + "GetSandboxLogs", shell.GetSandboxLogsRequest(sandbox_id=made.metadata.id), shell.GetSandboxLogsResponse)
test([l.message for l in logs.logs] == ["up"], "GetSandboxLogs has the main process's line")
code = grpc.StatusCode
refused(code.ALREADY_EXISTS, SHELL + "CreateSandbox", shell.CreateSandboxRequest(name="g", spec=spec), shell.SandboxResponse, "a taken name is ALREADY_EXISTS")
refused(code.NOT_FOUND, SHELL + "GetSandbox", shell.GetSandboxRequest(name="no"), shell.SandboxResponse, "an unknown name is NOT_FOUND")
refused(code.INVALID_ARGUMENT, SHELL + "CreateSandbox", shell.CreateSandboxRequest(name="No", spec=spec), shell.SandboxResponse, "a bad name is INVALID_ARGUMENT", "name")
for method in ("ForwardTcp", "CreateSshSession", "UpdateConfig", "CreateProvider", "ConnectSupervisor"):
    refused(code.UNIMPLEMENTED, SHELL + method, shell.HealthRequest(), shell.HealthResponse, method + " is UNIMPLEMENTED", method)
e = refused(code.NOT_FOUND, NACRE + "DescribeSandbox", nacre.DescribeSandboxRequest(name="no"), nacre.SandboxDetails, "nacre.v1 refuses alike")
detail = dict(e.trailing_metadata() or ()).get("grpc-status-details-bin", b"") if e else b""
test(b"NOT_FOUND" in detail, "with the refusal in grpc-status-details-bin")
stopped = unary(SHELL + "StopSandbox", shell.StopSandboxRequest(name="g"), shell.SandboxResponse).sandbox
test(stopped.status.phase in (6, 7), "StopSandbox answers stopping")
gone = unary(SHELL + "DeleteSandbox", shell.DeleteSandboxRequest(name="g"), shell.DeleteSandboxResponse)
test(gone.deleted, "DeleteSandbox")
