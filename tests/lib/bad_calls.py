# SPDX-License-Identifier: Apache-2.0
"""Calls of tests/data/bad/calls, each by every road that it names.

usage: bad_calls.py TABLE SOCKET NAME=VALUE...   (words to replace; messages
made by protoc on PYTHONPATH). Prints "ok<TAB>title" lines; the shell numbers.
"""
import http.client
import json
import re
import shlex
import socket
import subprocess
import sys

import grpc
import nacre_v1_pb2 as nacre
from google.protobuf import json_format

METHODS = {"create_sandbox": ("CreateChildSandbox", nacre.CreateChildSandboxRequest, nacre.ChildReply),
           "get_file": ("GetChildFile", nacre.GetChildFileRequest, nacre.GetChildFileReply),
           "create_grant": ("CreateGrant", nacre.CreateGrantRequest, nacre.GrantReply),
           "update_grant": ("UpdateGrant", nacre.UpdateGrantRequest, nacre.GrantReply)}
STATUS = {"INVALID_ARGUMENT": "INVALID_ARGUMENT", "POLICY_INVALID": "INVALID_ARGUMENT", "ALREADY_EXISTS": "ALREADY_EXISTS",
          "NOT_FOUND": "NOT_FOUND", "NOT_READY": "FAILED_PRECONDITION", "GRANT_REVOKED": "FAILED_PRECONDITION"}
table, sock = sys.argv[1:3]
words = dict(w.split("=", 1) for w in sys.argv[3:])
channel = grpc.insecure_channel("unix:" + sock)


class Local(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(90)
        self.sock.connect(sock)


def expand(text):
    """{{N,X}} and {{N;X}}, and the names of this run."""
    text = re.sub(r"\{\{(\d+)([,;])(.*?)\}\}", lambda m: ("," if m[2] == ";" else "").join([m[3]] * int(m[1])), text)
    for name, value in words.items():
        text = text.replace(name, value)
    return text


def result(r):
    """(code, what it says) of a tool's result."""
    text = r["content"][0]["text"]
    if not r.get("isError"):
        return "ok", text
    return json.loads(text)["code"], text


def by_mcp(tool, arguments):
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    c = Local("localhost")
    c.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                          "params": {"name": tool, "arguments": arguments, "_meta": meta}}),
              {"Content-Type": "application/json", "Accept": "application/json", "MCP-Protocol-Version": "2026-07-28",
               "Mcp-Method": "tools/call", "Mcp-Name": tool})
    said = json.loads(c.getresponse().read())
    return result(said["result"]) if "result" in said else ("error", json.dumps(said))


def by_door(tool, arguments):
    p = subprocess.run(["nacre", "sandbox", "exec", "lead", "--", "nacre", "mcp", "call", tool, json.dumps(arguments)],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    try:
        said = json.loads(p.stdout)
    except ValueError:
        return "exit %d" % p.returncode, p.stdout + p.stderr
    return said.get("code", "ok"), json.dumps(said, separators=(",", ":"))


def by_grpc(tool, arguments):
    name, ask, answer = METHODS[tool]
    if isinstance(arguments.get("policy"), dict):
        arguments["policy"] = json.dumps(arguments["policy"])
    call = channel.unary_unary("/nacre.v1.Nacre/" + name, request_serializer=lambda m: m.SerializeToString(),
                               response_deserializer=answer.FromString)
    try:
        return "ok", str(call(json_format.ParseDict(arguments, ask()), timeout=90))
    except grpc.RpcError as e:
        raw = dict(e.trailing_metadata()).get("grpc-status-details-bin")
        told = nacre.Refusal.FromString(raw) if raw else nacre.Refusal()
        if e.code().name != STATUS.get(told.code):
            return "%s with %s" % (e.code().name, told.code or "no refusal"), e.details()
        return told.code, "%s %s" % (e.details(), told)


def by_cli(command, arguments):
    p = subprocess.run(["nacre"] + shlex.split(command) + shlex.split(arguments), stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=120)
    return str(p.returncode), p.stdout + p.stderr


def by(road, tool, text):
    if road == "cli":
        return by_cli(tool, text)
    arguments = json.loads(text)
    if tool == "create_sandbox" and road != "door":
        arguments.setdefault("parent", "lead")
    while True:
        got = {"mcp": by_mcp, "door": by_door, "grpc": by_grpc}[road](tool, arguments)
        if got[0] != "RATE_LIMITED":
            return got


for line in open(table):
    if line.startswith("#") or not line.strip():
        continue
    title, roads, tool, arguments, code, says = [p.strip() for p in line.rstrip("\n").split(" | ")] \
        if line.count(" | ") == 5 else sys.exit("not six columns: " + line)
    for road in roads.split():
        got, said = by(road, tool, expand(arguments))
        right = got == code and re.search(expand(says), said) is not None
        print("%s\t%s, by %s: %s" % ("ok" if right else "not ok", title, road, code if road != "cli" else "exit " + code))
        if not right:
            print("#\t%s: %s" % (got, said.replace("\n", " ")[:600]))
        sys.stdout.flush()
print("end\t")
