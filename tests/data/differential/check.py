# SPDX-License-Identifier: Apache-2.0
"""What python programs are made of, run inside a sandbox; prints what came."""
import multiprocessing
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading


def square(n):
    return n * n


def threads():
    got = []
    all_of_them = [threading.Thread(target=got.append, args=(i,)) for i in range(50)]
    for t in all_of_them:
        t.start()
    for t in all_of_them:
        t.join()
    return sorted(got) == list(range(50))


def tcp(family, address):
    server = socket.socket(family)
    server.bind((address, 0))
    server.listen()

    def serve():
        peer, _ = server.accept()
        peer.sendall(peer.recv(100).upper())
        peer.close()
    one = threading.Thread(target=serve)
    one.start()
    client = socket.create_connection(server.getsockname()[:2])
    client.sendall(b"hello")
    got = client.recv(100)
    one.join()
    return got


def udp():
    a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    a.bind(("127.0.0.1", 0))
    b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    b.sendto(b"datagram", a.getsockname())
    return a.recv(10)


def unix():
    path = tempfile.mkdtemp() + "/socket"
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    client.send(b"x")
    return server.accept()[0].recv(1)


def database():
    db = sqlite3.connect(tempfile.mkdtemp() + "/db")
    mode = db.execute("pragma journal_mode=wal").fetchone()[0]
    db.execute("create table t(a)")
    db.executemany("insert into t values(?)", [(i,) for i in range(1000)])
    db.commit()
    return mode, db.execute("select sum(a), count(*) from t").fetchone()


def pool(kind):
    with multiprocessing.get_context(kind).Pool(2) as p:
        return p.map(square, range(6))


def queue():
    q = multiprocessing.Queue()
    p = multiprocessing.Process(target=q.put, args=("through",))
    p.start()
    got = q.get()
    p.join()
    return got, p.exitcode


def shared():
    from multiprocessing import shared_memory
    a = shared_memory.SharedMemory(create=True, size=4096)
    a.buf[0] = 7
    b = shared_memory.SharedMemory(a.name)
    got = b.buf[0]
    b.close()
    a.close()
    a.unlink()
    return got


def child():
    p = subprocess.run(["sh", "-c", "cat; echo err >&2; exit 3"], input=b"in", capture_output=True)
    return p.returncode, p.stdout, p.stderr


def slow_child():
    try:
        subprocess.run(["sleep", "100"], timeout=0.2)
    except subprocess.TimeoutExpired:
        return "timed out"


def terminal():
    pid, fd = os.forkpty()
    if pid == 0:
        os.execvp("sh", ["sh", "-c", "test -t 0 && echo terminal"])
    got = os.read(fd, 100)
    return got, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def temporary():
    with tempfile.NamedTemporaryFile() as f:
        f.write(b"two")
        f.flush()
        return os.path.getsize(f.name), os.path.dirname(f.name)


if __name__ == "__main__":
    failed = 0
    for name, what in (
            ("threads", threads),
            ("tcp", lambda: tcp(socket.AF_INET, "127.0.0.1")),
            ("tcp over IPv6", lambda: tcp(socket.AF_INET6, "::1")),
            ("by name", lambda: tcp(socket.AF_INET, "localhost")),
            ("udp", udp), ("unix", unix), ("sqlite", database),
            ("fork", lambda: pool("fork")), ("spawn", lambda: pool("spawn")), ("queue", queue),
            ("shared memory", shared), ("subprocess", child), ("timeout", slow_child),
            ("terminal", terminal), ("temporary file", temporary)):
        try:
            print(name, what(), flush=True)
        except Exception as e:
            print(name, "FAILED", type(e).__name__, e, flush=True)
            failed = 1
    sys.exit(failed)
