# Connections from inside a sandbox, for a client outside: the other end of
# tests/e2e/guest/wires.c. SPDX: Apache-2.0
import itertools
import socket
import struct
import subprocess
import threading


class Wire:
    """As much of a socket as clients here use."""

    def __init__(self, wires, id):
        self.wires, self.id = wires, id
        self.got = b""
        self.over = None  # "e": closed from the other side, "x": lost
        self.timeout = 60

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def settimeout(self, seconds):
        self.timeout = seconds

    def sendall(self, raw):
        for at in range(0, len(raw), 1 << 16):
            self.wires.tell("d", self.id, raw[at:at + (1 << 16)])

    def recv(self, most):
        with self.wires.came:
            if not self.wires.came.wait_for(lambda: self.got or self.over or self.wires.over, self.timeout):
                raise TimeoutError
            part, self.got = self.got[:most], self.got[most:]
            if not part and self.over != "e":
                raise ConnectionResetError
            return part

    def shutdown(self, how):
        assert how == socket.SHUT_WR
        self.wires.tell("h", self.id)

    def close(self, what="c"):
        if self.wires.wires.pop(self.id, None):
            self.wires.tell(what, self.id)


class Wires:
    """command: the program, wherever it runs."""

    def __init__(self, command):
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.came = threading.Condition()
        self.lock = threading.Lock()
        self.wires = {}
        self.numbers = itertools.count()
        self.over = False
        threading.Thread(target=self.read, daemon=True).start()

    def tell(self, what, id, raw=b""):
        with self.lock:
            self.child.stdin.write(struct.pack(">cII", what.encode(), id, len(raw)) + raw)
            self.child.stdin.flush()

    def read(self):
        while len(head := self.child.stdout.read(9)) == 9:
            what, id, n = struct.unpack(">cII", head)
            raw = self.child.stdout.read(n)
            with self.came:
                if id not in self.wires:
                    continue  # closed meanwhile
                if what == b"d":
                    self.wires[id].got += raw
                else:
                    self.wires[id].over = what.decode()
                self.came.notify_all()
        with self.came:
            self.over = True
            self.came.notify_all()

    def dial(self):
        wire = Wire(self, next(self.numbers))
        self.wires[wire.id] = wire
        self.tell("o", wire.id)
        return wire

    def close(self):
        self.child.stdin.close()
        self.child.wait()
