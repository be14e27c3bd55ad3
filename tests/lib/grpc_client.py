# SPDX-License-Identifier: Apache-2.0
"""The north API through the official gRPC library, as an SDK would use it.

usage: grpc_client.py SOCKET GENERATED   (messages made by protoc --python_out)
Prints TAP lines without numbers; the shell numbers them.
"""
import sys
import threading
import time

import grpc

sys.path.insert(0, sys.argv[2])
import nacre_v1_pb2 as nacre  # noqa: E402
import openshell_v1_pb2 as api  # noqa: E402

channel = grpc.insecure_channel("unix:" + sys.argv[1])
SERVICE = "/openshell.v1.OpenShell/"


def unary(method, ask, answer, timeout=30):
    return channel.unary_unary(
        SERVICE + method,
        request_serializer=type(ask).SerializeToString,
        response_deserializer=answer.FromString)(ask, timeout=timeout)


def stream(method, ask, answer, timeout=60):
    return channel.unary_stream(
        SERVICE + method,
        request_serializer=type(ask).SerializeToString,
        response_deserializer=answer.FromString)(ask, timeout=timeout)


def ok(truth, title, got=""):
    print(("ok" if truth else "not ok") + "\t" + title)
    if not truth:
        print("#\tgot: %r" % (got,))
    sys.stdout.flush()


def refused(title, code, text, call):
    """The call fails with that status, that text and a Refusal beside it."""
    try:
        got = call()
    except grpc.RpcError as e:
        details = dict(e.trailing_metadata()).get("grpc-status-details-bin")
        told = nacre.Refusal.FromString(details) if details else None
        ok(e.code() == code and text in e.details() and told is not None
           and told.message == e.details() and told.code != "",
           title, (e.code(), e.details(), told))
        return told
    ok(False, title, got)
    return None


def create(name="", command=(), labels=None, **spec):
    ask = api.CreateSandboxRequest(name=name, labels=labels or {})
    ask.spec.template.image = "tiny"
    ask.spec.command.extend(command)
    for key, value in spec.items():
        if key == "environment":
            ask.spec.environment.update(value)
    return unary("CreateSandbox", ask, api.SandboxResponse).sandbox


def get(name):
    return unary("GetSandbox", api.GetSandboxRequest(name=name),
                 api.SandboxResponse).sandbox


def wait_ready(sandbox):
    """As the Python SDK: poll until READY."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        now = get(sandbox.metadata.name)
        if now.status.phase == api.SANDBOX_PHASE_READY:
            return now
        time.sleep(0.05)
    return now


def run(sandbox, *command, stdin=b"", **more):
    ask = api.ExecSandboxRequest(sandbox_id=sandbox.metadata.id,
                                 command=command, input=stdin, **more)
    out, err, code = b"", b"", None
    for event in stream("ExecSandbox", ask, api.ExecSandboxEvent):
        which = event.WhichOneof("payload")
        if which == "out":
            out += event.out.data
        elif which == "err":
            err += event.err.data
        else:
            code = event.exit.exit_code
    return out, err, code


health = unary("Health", api.HealthRequest(), api.HealthResponse)
ok(health.status == api.SERVICE_STATUS_HEALTHY and health.version != "",
   "Health says HEALTHY and a version", health)
info = unary("GetGatewayInfo", api.GetGatewayInfoRequest(),
             api.GetGatewayInfoResponse)
ok(len(info.compute_drivers) == 1, "GetGatewayInfo names the driver", info)

box = create(labels={"team": "red"}, environment={"A": "1"})
ok(len(box.metadata.id) == 36 and box.metadata.name != "" and
   box.metadata.workspace == "default" and box.metadata.resource_version >= 1,
   "a sandbox without a name gets one, an id and a workspace", box.metadata)
ok(box.status.phase == api.SANDBOX_PHASE_PROVISIONING,
   "create answers PROVISIONING at once", box.status)
ok(box.spec.environment["A"] == "1" and box.spec.template.image == "tiny",
   "the spec comes back in full", box.spec)
box = wait_ready(box)
ok(box.status.phase == api.SANDBOX_PHASE_READY and
   box.status.conditions[0].status == "True", "polling sees READY", box.status)

ok(run(box, "sh", "-c", "cat; echo $A >&2; exit 5", stdin=b"in\0put") ==
   (b"in\0put", b"1\n", 5), "exec: stdin up front, streams apart, exit last")
ok(run(box, "sleep", "100", timeout_seconds=1)[2] == 124,
   "exec: a timeout is exit 124 and an OK stream")
ok(run(box, "pwd", workdir="/tmp")[0] == b"/tmp\n", "exec: workdir")
ok(run(box, "sh", "-c", "echo $B", environment={"B": "2"})[0] == b"2\n",
   "exec: environment")


def chunks():
    yield api.ExecSandboxInput(start=api.ExecSandboxRequest(
        sandbox_id=box.metadata.id, command=["cat"]))
    for i in range(100):
        yield api.ExecSandboxInput(input=b"%05d" % i * 2000)


events = channel.stream_stream(
    SERVICE + "ExecSandboxInteractive",
    request_serializer=api.ExecSandboxInput.SerializeToString,
    response_deserializer=api.ExecSandboxEvent.FromString)(
        chunks(), timeout=60)
got = b"".join(e.out.data for e in events if e.WhichOneof("payload") == "out")
ok(got == b"".join(b"%05d" % i * 2000 for i in range(100)),
   "interactive exec: 1 MB through cat, half-close ends it", len(got))

call = stream("ExecSandbox", api.ExecSandboxRequest(
    sandbox_id=box.metadata.id, command=["sh", "-c", "echo on; sleep 4321"]),
    api.ExecSandboxEvent)
next(call)
call.cancel()
gone = False
for _ in range(100):
    gone = b"4321" not in run(box, "ps")[0]
    if gone:
        break
ok(gone, "a client that leaves takes its command with it")

watch = stream("WatchSandbox", api.WatchSandboxRequest(
    id=box.metadata.id, follow_status=True), api.SandboxStreamEvent)
first = next(watch)
ok(first.sandbox.metadata.id == box.metadata.id,
   "the first event of a watch is the sandbox", first)
phases = []
reader = threading.Thread(
    target=lambda: phases.extend(e.sandbox.status.phase for e in watch))
reader.start()
name = box.metadata.name
unary("StopSandbox", api.StopSandboxRequest(name=name), api.SandboxResponse)
end = time.monotonic() + 30
while get(name).status.phase != api.SANDBOX_PHASE_STOPPED:
    assert time.monotonic() < end
again = unary("StopSandbox", api.StopSandboxRequest(name=name),
              api.SandboxResponse).sandbox
ok(again.status.phase == api.SANDBOX_PHASE_STOPPED, "stop of a stopped one is "
   "no error", again.status)
told = refused("exec in a stopped sandbox: FAILED_PRECONDITION",
               grpc.StatusCode.FAILED_PRECONDITION, "sandbox is not ready",
               lambda: run(box, "true"))
ok(told is not None and told.code == "NOT_READY" and "start" in told.hint and
   told.state == "stopped", "with the reason word, a hint and the state", told)


def ask_nacre(method, ask, answer):
    """What nacre.v1 answers, one message or many."""
    return list(channel.unary_stream(
        "/nacre.v1.Nacre/" + method,
        request_serializer=type(ask).SerializeToString,
        response_deserializer=answer.FromString)(ask, timeout=60))


told = refused("the console of a stopped one: FAILED_PRECONDITION",
               grpc.StatusCode.FAILED_PRECONDITION, "has no machine",
               lambda: ask_nacre("SandboxConsole", nacre.DescribeSandboxRequest(
                   name=name), nacre.ConsoleText))
ok(told is not None and told.state == "stopped", "with the state", told)
told = refused("a name that is taken: ALREADY_EXISTS",
               grpc.StatusCode.ALREADY_EXISTS,
               "sandbox '%s' already exists" % name, lambda: create(name))
ok(told is not None and told.name == name, "with the name", told)
told = refused("an image's name that is taken: ALREADY_EXISTS",
               grpc.StatusCode.ALREADY_EXISTS, "image 'tiny' already exists",
               lambda: ask_nacre("ImportImage", nacre.ImportImageRequest(
                   name="tiny", path="/usr"), nacre.ImportImageEvent))
ok(told is not None and told.name == "tiny", "with the name", told)
refused("an unknown sandbox: NOT_FOUND", grpc.StatusCode.NOT_FOUND,
        "sandbox not found", lambda: get("nope"))
refused("another workspace: NOT_FOUND", grpc.StatusCode.NOT_FOUND,
        "workspace", lambda: unary(
            "GetSandbox", api.GetSandboxRequest(name=name, workspace="w"),
            api.SandboxResponse))
told = refused("a bad name: INVALID_ARGUMENT with its field",
               grpc.StatusCode.INVALID_ARGUMENT, "name",
               lambda: create("Bad"))
ok(told is not None and told.field == "name", "the field is named", told)
refused("exec without a command: INVALID_ARGUMENT",
        grpc.StatusCode.INVALID_ARGUMENT, "command is required",
        lambda: run(box))
refused("what is not served: UNIMPLEMENTED by name",
        grpc.StatusCode.UNIMPLEMENTED, "CreateProvider",
        lambda: unary("CreateProvider", api.HealthRequest(),
                      api.HealthResponse))
refused("bytes that are no message: INVALID_ARGUMENT",
        grpc.StatusCode.INVALID_ARGUMENT, "not well formed",
        lambda: channel.unary_unary(SERVICE + "GetSandbox")(b"\xff\xff\xff",
                                                           timeout=10))
ask = api.CreateSandboxRequest(name="net")
ask.spec.template.image = "tiny"
ask.spec.policy.version = 1
rule = ask.spec.policy.network_policies["web"]
rule.endpoints.add(host="example.com", ports=[443])
rule.binaries.add(path="/bin/sh")
net = unary("CreateSandbox", ask, api.SandboxResponse).sandbox
ok(net.status.current_policy_version == 1 and len(net.status.policy_hash) == 64,
   "a policy for the network is kept as generation 1", net.status)
told = {e.section: e for e in net.status.enforcement}
ok(not told["network_policies"].enforced and
   "every allow is unreachable" in told["network_policies"].detail,
   "and the answer says that there is no network", told)
ok(told["process"].enforced and "uid 1000" in told["process"].detail,
   "and that the user is enforced", told)


def write(policy, **more):
    return unary("UpdateConfig",
                 api.UpdateConfigRequest(policy=policy, **more),
                 api.UpdateConfigResponse)


again = write(ask.spec.policy, name="net")
ok(again.version == 1 and again.policy_hash == net.status.policy_hash,
   "the same policy again is no new generation", again)
rule.endpoints[0].ports[:] = [80]
wrote = write(ask.spec.policy, name="net")
ok(wrote.version == 2 and wrote.policy_hash != again.policy_hash,
   "another policy is generation 2", wrote)
kept = get("net")
ok(kept.status.current_policy_version == 2 and
   kept.status.policy_hash == wrote.policy_hash and
   kept.spec.policy.network_policies["web"].endpoints[0].ports == [80],
   "which the sandbox shows", kept.status)
refused("a write to an older version: ABORTED", grpc.StatusCode.ABORTED,
        "version", lambda: write(ask.spec.policy, name="net",
                                 expected_resource_version=1))
refused("a global policy: FAILED_PRECONDITION, and what to do instead",
        grpc.StatusCode.FAILED_PRECONDITION, "set-maximum",
        lambda: write(ask.spec.policy, **{"global": True}))
refused("a setting: UNIMPLEMENTED", grpc.StatusCode.UNIMPLEMENTED,
        "setting_key", lambda: unary(
            "UpdateConfig",
            api.UpdateConfigRequest(name="net", setting_key="x"),
            api.UpdateConfigResponse))
ask.spec.policy.process.run_as_user = "77"
refused("another user: settled at create", grpc.StatusCode.INVALID_ARGUMENT,
        "process", lambda: write(ask.spec.policy, name="net"))
unary("DeleteSandbox", api.DeleteSandboxRequest(name="net"),
      api.DeleteSandboxResponse)

more = [create("p%d" % i, labels={"team": "blue"}) for i in range(3)]
page = unary("ListSandboxes", api.ListSandboxesRequest(limit=2, offset=1),
             api.ListSandboxesResponse).sandboxes
ok([s.metadata.name for s in page] == ["p0", "p1"],
   "list: pages in order of creation", [s.metadata.name for s in page])
page = unary("ListSandboxes",
             api.ListSandboxesRequest(label_selector="team=blue"),
             api.ListSandboxesResponse).sandboxes
ok(len(page) == 3, "list: by label", page)

for s in [box] + more:
    gone = unary("DeleteSandbox",
                 api.DeleteSandboxRequest(name=s.metadata.name),
                 api.DeleteSandboxResponse)
    ok(gone.deleted, "delete of %s sandbox" %
       ("a stopped" if s is box else "a starting"))
reader.join(30)
ok(not reader.is_alive() and api.SANDBOX_PHASE_STOPPED in phases,
   "a watch sees the stop, and ends when the sandbox is gone", phases)
refused("delete again: NOT_FOUND", grpc.StatusCode.NOT_FOUND,
        "sandbox not found",
        lambda: unary("DeleteSandbox", api.DeleteSandboxRequest(name=name),
                      api.DeleteSandboxResponse))
page = unary("ListSandboxes", api.ListSandboxesRequest(),
             api.ListSandboxesResponse).sandboxes
ok(len(page) == 0, "nothing is left", page)
