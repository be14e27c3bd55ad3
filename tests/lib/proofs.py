# SPDX-License-Identifier: Apache-2.0
"""Many hard proofs at once, and a call that does not wait for them.

usage: proofs.py SOCKET GENERATED CHILD MAXIMUM
Prints TAP lines without numbers; the shell numbers them.
"""
import sys

import grpc

sys.path.insert(0, sys.argv[2])
import nacre_v1_pb2 as nacre  # noqa: E402
import openshell_v1_pb2 as api  # noqa: E402

channel = grpc.insecure_channel("unix:" + sys.argv[1])
child = open(sys.argv[3]).read()
parent = open(sys.argv[4]).read()
MANY = 40
MOST = 64


def call(path, answer):
    return channel.unary_unary(
        path, request_serializer=lambda m: m.SerializeToString(),
        response_deserializer=answer.FromString)


def ok(truth, title, got=""):
    print(("ok" if truth else "not ok") + "\t" + title)
    if not truth:
        print("#\tgot: %r" % (got,))


prove = call("/nacre.v1.Nacre/ProvePolicy", nacre.Proof)
sandboxes = call("/openshell.v1.OpenShell/ListSandboxes",
                 api.ListSandboxesResponse)
ask = nacre.ProvePolicyRequest(policy=child, parent=parent)

# All are under way before the list is asked for: calls of one connection
# arrive in order.
proofs = [prove.future(ask, timeout=120) for _ in range(MANY)]
listed = sandboxes.future(api.ListSandboxesRequest(), timeout=120)
listed.result()
waiting = sum(not p.done() for p in proofs)
ok(waiting > 0, "a list does not wait for %d hard proofs" % MANY, waiting)
verdicts = {p.result().verdict for p in proofs}
steps = {p.result().steps for p in proofs}
ok(len(verdicts) == 1 and len(steps) == 1,
   "which all come to the same end, step by step", (verdicts, steps))
print("#\t%s after %s steps" % (verdicts, steps))

# Too many: told at once, with when to come again.
proofs = [prove.future(ask, timeout=120) for _ in range(3 * MOST)]
busy = [p for p in proofs if p.exception() is not None]
done = [p for p in proofs if p.exception() is None]
ok(len(done) >= MOST and all(p.result().verdict in verdicts for p in done),
   "the first %d proofs are made" % MOST, len(done))
detail = nacre.Refusal()
if busy:
    detail.ParseFromString(dict(busy[0].trailing_metadata())
                           ["grpc-status-details-bin"])
ok(busy and all(p.code() == grpc.StatusCode.UNAVAILABLE for p in busy) and
   detail.code == "BUSY" and detail.retry_after_ms > 0,
   "and more at once are BUSY, with when to come again", detail)

# A proof says where and why; its parts are those of a refusal.
small = """version: 1
network_policies:
  a:
    endpoints: [{host: a.example.com, port: 443, protocol: rest, rules: [{allow: {method: %s, path: "/v1/*"}}]}]
    binaries: [{path: /usr/bin/curl}]
"""
got = prove(nacre.ProvePolicyRequest(policy=small % "POST",
                                     parent=small % "GET"))
x = got.counterexample
ok((got.verdict, got.link, got.section) == ("exceeds", "parent", "network"),
   "ProvePolicy: verdict, link, section", got)
ok((x.program, x.host, x.port, x.method, x.path) ==
   ("/usr/bin/curl", "a.example.com", 443, "POST", "/v1/"),
   "ProvePolicy: the counterexample by its parts", x)
got = prove(nacre.ProvePolicyRequest(policy=small % "GET",
                                     parent=small % "GET"))
ok(got.verdict == "within" and got.hash == got.parent_hash,
   "ProvePolicy: within", got)
try:
    prove(nacre.ProvePolicyRequest(policy="version: 1\nnope: 1\n"))
    ok(False, "ProvePolicy: an invalid policy")
except grpc.RpcError as e:
    detail.ParseFromString(dict(e.trailing_metadata())
                           ["grpc-status-details-bin"])
    ok(e.code() == grpc.StatusCode.INVALID_ARGUMENT and
       detail.code == "POLICY_INVALID" and "2:1" in detail.message,
       "ProvePolicy: an invalid policy is POLICY_INVALID with its place",
       detail)
