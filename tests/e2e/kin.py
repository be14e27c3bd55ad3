# SPDX-License-Identifier: Apache-2.0
"""Children through a stock gRPC client. Prints test|STATUS|TITLE lines."""
import sys
import threading
import time

import grpc
import nacre_v1_pb2 as nacre
import openshell_sandbox_v1_pb2 as sandbox
import openshell_v1_pb2 as shell

channel = grpc.insecure_channel(sys.argv[1])
NACRE = "/nacre.v1.Nacre/"
Code = grpc.StatusCode


def test(passed, title, got=""):
    print("test|%d|%s" % (0 if passed else 1, title), flush=True)
    if not passed:
        print("# got: %s" % str(got).replace("\n", " "), flush=True)


def call(method, request, answer, timeout=60):
    return channel.unary_unary(NACRE + method, request_serializer=lambda m: m.SerializeToString(),
                               response_deserializer=answer.FromString)(request, timeout=timeout)


def refused(code, reason, method, request, answer, title):
    try:
        test(False, title, call(method, request, answer))
    except grpc.RpcError as e:
        raw = dict(e.trailing_metadata()).get("grpc-status-details-bin")
        told = nacre.Refusal.FromString(raw) if raw else nacre.Refusal()
        test(e.code() == code and told.code == reason, title, (e.code(), e.details(), told))
        return told


def create(**ask):
    return call("CreateChildSandbox", nacre.CreateChildSandboxRequest(**ask), nacre.ChildReply).sandbox


def no_create(code, reason, title, **ask):
    return refused(code, reason, "CreateChildSandbox", nacre.CreateChildSandboxRequest(**ask), nacre.ChildReply, title)


def file(id, path, **more):
    return call("GetChildFile", nacre.GetChildFileRequest(id=id, path=path, **more), nacre.GetChildFileReply)


def no_file(code, reason, title, id, path, **more):
    return refused(code, reason, "GetChildFile", nacre.GetChildFileRequest(id=id, path=path, **more), nacre.GetChildFileReply, title)


def grant():
    return call("GetGrant", nacre.GetGrantRequest(sandbox="lead"), nacre.GrantReply).grant


# --- a root, in the words of children
lead = create(name="lead", command=["sleep", "1000"], **{"from": "tiny"}, request_id="root-1")
test(lead.state == "running" and lead.depth == 0 and lead.root == lead.id and not lead.parent, "without a parent it is a root", lead)
again = create(name="lead", command=["sleep", "1000"], **{"from": "tiny"}, request_id="root-1")
test(again.id == lead.id, "its request id gives the first result", again)
no_create(Code.INVALID_ARGUMENT, "INVALID_ARGUMENT", "with other arguments it is invalid", name="lead", command=["sleep", "1"], **{"from": "tiny"}, request_id="root-1")
no_create(Code.INVALID_ARGUMENT, "INVALID_ARGUMENT", "a root needs an image", name="x", command=["true"])
no_create(Code.INVALID_ARGUMENT, "INVALID_ARGUMENT", "and a child has none of its own", name="x", command=["true"], parent="lead", **{"from": "tiny"})
told = no_create(Code.PERMISSION_DENIED, "NOT_ALLOWED", "no grant, no child", name="x", command=["true"], parent="lead")
test(told and told.why == "no_grant", "which is its reason", told)
call("CreateGrant", nacre.CreateGrantRequest(sandbox="lead", max_depth=1, max_breadth=4, max_total=8, programs=["/bin/sh"]), nacre.GrantReply)

# --- files
script = """cd /tmp; echo result >out; printf '\\001\\377\\000x' >bytes; mkdir folder; mkfifo fifo
ln -s /etc/passwd link; ln -s /proc/self/environ magic; truncate -s 1G big; mv out done; sleep 1000"""
worker = create(name="worker", parent="lead", command=["sh", "-c", script])
for _ in range(100):
    try:
        got = file(worker.id, "/tmp/done")
        break
    except grpc.RpcError as e:
        if e.code() != Code.NOT_FOUND:
            raise
        time.sleep(0.1)
test(got.data == b"result\n" and got.eof and got.size == 7, "a file of a child is read", got)
test(file("lead/worker", "/tmp/bytes").data == b"\x01\xff\x00x", "byte for byte, by path of names")
part = file(worker.id, "/tmp/done", offset=2, limit=3)
test(part.data == b"sul" and not part.eof and part.offset == 2, "also a part of it", part)
test(file(worker.id, "/tmp/done", offset=100).eof, "nothing follows its end")
big = file(worker.id, "/tmp/big", limit=1 << 20)
test(big.size == 1 << 30 and not big.eof and 0 < len(big.data) <= 1 << 20, "of a file of 1 GB comes what fits", len(big.data))
test(b"agent" in file(worker.id, "/tmp/link").data, "a link leads inside the child's root")
no_file(Code.INVALID_ARGUMENT, "INVALID_ARGUMENT", "a folder is none", worker.id, "/tmp/folder")
for path, what in [("/tmp/fifo", "a FIFO"), ("/proc/self/environ", "/proc"), ("/tmp/magic", "a link into /proc")]:
    try:
        test(False, what + " is refused", file(worker.id, path))
    except grpc.RpcError as e:
        test(e.code() not in (Code.INTERNAL, Code.UNKNOWN), what + " is refused", (e.code(), e.details()))
no_file(Code.NOT_FOUND, "NOT_FOUND", "what is not there is not found", worker.id, "/tmp/nope")
no_file(Code.INVALID_ARGUMENT, "INVALID_ARGUMENT", "a path must be absolute", worker.id, "tmp/done")
no_file(Code.INVALID_ARGUMENT, "INVALID_ARGUMENT", "an offset is not negative", worker.id, "/tmp/done", offset=-1)
no_file(Code.NOT_FOUND, "NOT_FOUND", "nor is a sandbox that is none", "nobody", "/tmp/done")

# --- who may
refused(Code.PERMISSION_DENIED, "NOT_ALLOWED", "ExecChildSandbox", nacre.ExecChildSandboxRequest(id=worker.id, argv=["true"]), nacre.ExecChildSandboxReply,
        "exec in children is for sandboxes")

# --- refusals in full
told = no_create(Code.RESOURCE_EXHAUSTED, "LIMIT_REACHED", "a limit is a refusal", name="deep", parent=worker.id, command=["true"])
test(told and (told.limit, told.used, told.max) == ("depth", 1, 1) and told.raised_by.startswith("uid:") and told.hint, "with limit, used, max and who may raise it", told)
told = no_create(Code.ALREADY_EXISTS, "ALREADY_EXISTS", "so is a name that is taken", name="worker", parent="lead", command=["true"])
test(told and told.name == "worker", "with the name", told)
told = no_create(Code.INTERNAL, "START_FAILED", "so is a start that failed", name="fail", parent="lead", command=["/bin/nope"])
test(told and told.stage and told.reason, "with stage and reason", told)
told = no_create(Code.INVALID_ARGUMENT, "POLICY_INVALID", "so is a policy that is none", name="odd", parent="lead", command=["true"], policy="nope: 1\n")
test(told and (told.field or told.place), "with what is wrong in it", told)
test(grant().total.used == 1, "none of them was charged", grant())

# --- cancelled before it runs
pending = channel.unary_unary(NACRE + "CreateChildSandbox", request_serializer=lambda m: m.SerializeToString(),
                              response_deserializer=nacre.ChildReply.FromString)
future = pending.future(nacre.CreateChildSandboxRequest(name="left", parent="lead", command=["sleep", "1000"]))
children = lambda: call("ListChildren", nacre.ListChildrenRequest(parent="lead"), nacre.ListChildrenReply).sandboxes
while "left" not in [c.name for c in children()]:
    pass
future.cancel()
for _ in range(200):
    if "left" not in [c.name for c in children()]:
        break
    time.sleep(0.05)
left = [c for c in children() if c.name == "left"]
test(not left or left[0].state == "running", "a create that is cancelled before it runs leaves nothing", left)
test(grant().total.used == 1 + len(left), "and is not charged", grant())

# --- its policy, as a message
API = "version: 1\nnetwork_policies: {api: {endpoints: [{host: h.test, port: 443}], binaries: [{path: /**}]}}\n"
create(name="boss", command=["sleep", "1000"], policy=API, **{"from": "tiny"})
call("CreateGrant", nacre.CreateGrantRequest(sandbox="boss", max_depth=1, max_breadth=8, max_total=8, programs=["/bin/sh"]), nacre.GrantReply)


def policy_of(name, message, **more):
    c = create(name=name, parent="boss", kind="tool", policy_message=message, **more)
    return call("DescribeSandbox", nacre.DescribeSandboxRequest(name=c.full_name), nacre.SandboxDetails).policy


got = policy_of("none", sandbox.SandboxPolicy(version=1))
test("network_policies: {}" in got and "h.test" not in got, "a child's message without network policies has none of its parent's", got)
got = policy_of("same", sandbox.SandboxPolicy(version=1), inherit=["network_policies"])
test("h.test" in got, "unless it says that it inherits them", got)
again = dict(name="twice", parent="boss", kind="tool", policy_message=sandbox.SandboxPolicy(version=1), request_id="twice")
create(**again)
no_create(Code.INVALID_ARGUMENT, "INVALID_ARGUMENT", "with the same request id too", inherit=["network_policies"], **again)
got = policy_of("short", sandbox.SandboxPolicy())
test("network_policies: {}" in got, "a child's message may leave out the version", got)
call("DeleteChild", nacre.DeleteChildRequest(id="boss"), nacre.DeleteChildReply)

# --- where it works
create(name="twins", command=["sleep", "1000"], **{"from": "twins"})
call("CreateGrant", nacre.CreateGrantRequest(sandbox="twins", max_depth=1, max_breadth=8, max_total=8, programs=["/bin/sh"]), nacre.GrantReply)
other = "filesystem_policy: {include_workdir: true}\nprocess: {run_as_user: '1000'}\n"
create(name="other", parent="twins", command=["sh", "-c", "pwd >/tmp/out; mv /tmp/out /tmp/done; sleep 1000"], policy=other)
for _ in range(100):
    try:
        got = file("twins/other", "/tmp/done").data
        break
    except grpc.RpcError as e:
        if e.code() != Code.NOT_FOUND:
            raise
        time.sleep(0.1)
test(got == b"/home/sandbox\n", "a child works where its parent does, also as another account of that id", got)
call("DeleteChild", nacre.DeleteChildRequest(id="twins"), nacre.DeleteChildReply)

# --- pages
for n in range(3):
    create(name="p%d" % n, parent="lead", kind="tool")
page = call("ListChildren", nacre.ListChildrenRequest(parent="lead", limit=2), nacre.ListChildrenReply)
rest = call("ListChildren", nacre.ListChildrenRequest(parent="lead", limit=200, cursor=page.next_cursor), nacre.ListChildrenReply)
test(len(page.sandboxes) == 2 and page.next_cursor and not rest.next_cursor, "children come in pages", page)
test(len({c.id for c in list(page.sandboxes) + list(rest.sandboxes)}) == len(children()), "without gap or repeat")
rows, cursor = [], ""
while not rows or cursor:
    page = call("GetLineage", nacre.GetLineageRequest(id="lead", limit=2, cursor=cursor), nacre.GetLineageReply)
    rows += page.rows
    cursor = page.next_cursor
test(len(page.rows) <= 2 and len(rows) > 4, "so does lineage", len(rows))
whole = call("GetLineage", nacre.GetLineageRequest(id="lead"), nacre.GetLineageReply)
test(list(whole.rows) == rows and not whole.next_cursor, "and it is the same in one", whole)
refused(Code.INVALID_ARGUMENT, "INVALID_ARGUMENT", "GetLineage", nacre.GetLineageRequest(id="lead", cursor="x"), nacre.GetLineageReply, "a cursor of another tree is none")
call("StopChild", nacre.StopChildRequest(id="lead/p0"), nacre.ChildReply)
told = no_file(Code.FAILED_PRECONDITION, "NOT_READY", "a stopped child has no files to give", "lead/p0", "/tmp/done")
test(told and told.state == "stopped", "with its state", told)
gone = call("DeleteChild", nacre.DeleteChildRequest(id="lead"), nacre.DeleteChildReply)
test(gone.deleted[-1] == lead.id and worker.id in gone.deleted and len(gone.deleted) >= 5, "a delete tells all that went, the parent last", gone)
refused(Code.NOT_FOUND, "NOT_FOUND", "GetChild", nacre.GetChildRequest(id="lead"), nacre.ChildReply, "and it is not found any more")
