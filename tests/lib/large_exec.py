#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An exec by MCP in a tool child with more input than its stream holds:
large_exec.py SOCKET ID ARGV... prints the exit code, or the answer."""
import http.client, json, socket, sys

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.host)


place, ident, *argv = sys.argv[1:]
arguments = {"id": ident, "argv": argv, "stdin": "a" * 500000}
body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "exec", "arguments": arguments, "_meta": META}}
fields = {"host": "localhost", "content-type": "application/json", "accept": "application/json, text/event-stream",
          "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "exec"}
c = Unix(place)
c.request("POST", "/mcp", json.dumps(body), fields)
answer = c.getresponse().read().decode()
last = json.loads(answer[answer.rindex("data: ") + 6:] if "data: " in answer else answer)
print(last.get("result", {}).get("structuredContent", {}).get("exit_code", answer))
