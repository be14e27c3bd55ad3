# SPDX-License-Identifier: Apache-2.0
"""A command at a terminal of its own, typed at one key at a time."""
import os, pty, select, subprocess, termios, time

SECONDS = 60


class Terminal:
    def __init__(self, words, begins):
        """When it has said those bytes it has its terminal raw: what comes back then comes from the other end."""
        self.master, slave = pty.openpty()
        self.program = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.hear(begins)
        if termios.tcgetattr(self.master)[3] & termios.ECHO:
            raise SystemExit("the terminal of %s echoes by itself" % words[0])

    def hear(self, want):
        seen = b""
        while want not in seen:
            ready, _, _ = select.select([self.master], [], [], SECONDS)
            if not ready:
                raise SystemExit("no %r at a terminal, but %r" % (want, seen[-200:]))
            seen += os.read(self.master, 4096)

    def echo(self):
        """ms from a key to its echo."""
        start = time.perf_counter()
        os.write(self.master, b"x")
        got = os.read(self.master, 16)
        took = (time.perf_counter() - start) * 1e3
        if got != b"x":
            raise SystemExit("%r comes back, not a key" % got)
        return took

    def close(self):
        os.write(self.master, b"\x15\x04")  # an empty line, and its end
        try:
            self.program.wait(SECONDS)
        finally:
            os.close(self.master)
