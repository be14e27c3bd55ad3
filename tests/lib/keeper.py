# SPDX-License-Identifier: Apache-2.0
"""The machine's tests: templates, keepers and their guests, driven from
outside through nacre.keeper.v1. TAP out.

Everything waits for an event (a phase, a line, an exit), never for time."""
import array
import atexit
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("NACRE_BIN", TOP + "/build/release/bin")
GUEST = os.environ.get("NACRE_GUEST", TOP + "/build/release/guest")
KEEPER = BIN + "/nacre-keeper"
WORK = tempfile.mkdtemp(prefix="nacre-machine.")
LIMIT = 180  # seconds that no event of a healthy machine takes
atexit.register(shutil.rmtree, WORK, True)

subprocess.check_call(["protoc", "-I" + TOP + "/proto", "--python_out=" + WORK, TOP + "/proto/nacre_keeper.proto"])
sys.path.insert(0, WORK)
import grpc  # noqa: E402
import nacre_keeper_pb2 as pb  # noqa: E402

STARTING, WAITING, PARKED, ASSIGNED, CONNECTED, ENDED = range(1, 7)

tests = failures = 0


def ok(good, title, detail=None):
    global tests, failures
    tests += 1
    if not good:
        failures += 1
    print("%sok %d - %s" % ("" if good else "not ", tests, title), flush=True)
    if not good and detail is not None:
        print("#   " + str(detail).replace("\n", "\n#   "), flush=True)
    return good


def note(text):
    print("# " + text, flush=True)


def done():
    print("1..%d" % tests, flush=True)
    sys.exit(1 if failures else 0)


def alive(pid):
    try:
        return open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_gone(pid):
    """True once pid has ended (not our child: by its pidfd)."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return True
    import select
    r = select.select([fd], [], [], LIMIT)[0]
    os.close(fd)
    return bool(r) or not alive(pid)


def guest(name):
    """Folder with nacre-guest and initramfs.cpio of one of our test guests."""
    folder = WORK + "/guest-" + name
    if not os.path.exists(folder):
        os.mkdir(folder)
        shutil.copy(os.path.dirname(BIN) + "/e2e/" + name, folder + "/nacre-guest")
        with open(folder + "/initramfs.cpio", "wb") as out:
            subprocess.check_call([os.path.dirname(os.path.dirname(BIN)) + "/tools/mkcpio", TOP + "/initramfs/files", folder], stdout=out)
    return {"guest": folder + "/nacre-guest", "initramfs": folder + "/initramfs.cpio"}


class Template:
    """`nacre-keeper template`, with its descriptors."""

    def __init__(self, cache=None, guest=None, initramfs=None, memory=128, cpus=1, accelerator="tcg", vmm=None):
        ours, theirs = socket.socketpair()
        cmd = [KEEPER, "template", "--cache", cache or WORK + "/cache", "--kernel", GUEST + "/vmlinux",
               "--initramfs", initramfs or GUEST + "/initramfs.cpio", "--guest", guest or GUEST + "/nacre-guest",
               "--accelerator", accelerator, "--memory", str(memory), "--cpus", str(cpus), "--answer-fd", str(theirs.fileno())]
        if vmm or os.environ.get("NACRE_VMM"):
            cmd += ["--vmm", vmm or os.environ["NACRE_VMM"]]
        proc = subprocess.Popen(cmd, pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        theirs.close()
        text, fds = b"", array.array("i")
        while True:
            data, anc, _, _ = ours.recvmsg(16384, socket.CMSG_SPACE(8 * 4))
            for level, kind, raw in anc:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    fds.frombytes(raw[:len(raw) - len(raw) % 4])
            if not data:
                break
            text += data
        self.log = proc.stderr.read().decode()
        self.status = proc.wait()
        self.text = text.decode(errors="replace")
        self.facts = json.loads(text) if self.status == 0 else {}
        self.fds = dict(zip(self.facts.get("descriptors", []), fds))

    def close(self):
        for fd in self.fds.values():
            os.close(fd)
        self.fds = {}


class Keeper:
    """`nacre-keeper run` and one gateway's connection to it."""
    count = 0
    running = []

    def __init__(self, t, cold=False, park=True, tag="k"):
        Keeper.count += 1
        self.id = "%s%d" % (tag, Keeper.count)
        self.dir = WORK + "/run"
        f, facts = t.fds, t.facts
        cmd = [KEEPER, "run", "--dir", self.dir, "--id", self.id, "--vmm", facts["vmm_path"], "--vmm-version", facts["vmm_version"],
               "--vmm-digest", facts["vmm_digest"], "--template", facts["key"] or "-", "--accelerator", facts["accelerator"],
               "--memory", str(facts["memory_mib"]), "--cpus", str(facts["vcpus"]), "--tsc-khz", str(facts["tsc_khz"]),
               "--scrap-image-fd", str(f["scrap_image"]), "--scrap-disk-fd", str(f["scrap_disk"])]
        pass_fds = [f["scrap_image"], f["scrap_disk"]]
        for name in ("kernel", "initramfs") if cold else ("memory", "state"):
            cmd += ["--%s-fd" % name, str(f[name])]
            pass_fds.append(f[name])
        cmd += ["--cold"] if cold else []
        cmd += [] if park else ["--no-park"]
        # The first link is a socketpair: its close is the gateway's death.
        self.life, theirs = socket.socketpair()
        cmd += ["--link-fd", str(theirs.fileno())]
        self.log_path = WORK + "/%s.log" % self.id
        self.started = time.monotonic()
        self.proc = subprocess.Popen(cmd, pass_fds=pass_fds + [theirs.fileno()], stdout=subprocess.DEVNULL, stderr=open(self.log_path, "w"),
                                     start_new_session=True)
        Keeper.running.append(self.proc)
        theirs.close()
        self.path = "%s/%s.sock" % (self.dir, self.id)
        self.channel = self.watch = None
        # An HTTP/2 client of one line: preface and empty SETTINGS hold the link.
        self.life.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0")
        self.life.settimeout(LIMIT)
        self.life.recv(1)  # its SETTINGS: it listens
        self.connect()

    def connect(self):
        self.channel = grpc.insecure_channel("unix:" + self.path)
        method = self.channel.unary_stream("/nacre.keeper.v1.Keeper/Watch", pb.WatchRequest.SerializeToString, pb.Event.FromString)
        self.watch = method(pb.WatchRequest(), timeout=LIMIT)
        self.phases = []

    def call(self, name, timeout=LIMIT, **fields):
        request, reply = getattr(pb, name + "Request"), getattr(pb, name + "Reply")
        return self.channel.unary_unary("/nacre.keeper.v1.Keeper/" + name, request.SerializeToString, reply.FromString)(
            request(**fields), timeout=timeout)

    def until(self, phase):
        """Events until that phase or the end; the last event."""
        e = None
        if self.phases and self.phases[-1].phase >= phase:
            return self.phases[-1]
        for e in self.watch:
            self.phases.append(e)
            if e.phase >= phase or e.phase == ENDED:
                return e
        return e

    def assign(self, image, disk="", pin=b"p" * 32, sandbox="box"):
        return self.call("Assign", sandbox_id=sandbox, image_path=image, disk_path=disk, gateway_pin=pin)

    def tunnel(self):
        return Tunnel(self)

    def stop(self):
        """End it; the exit code."""
        if self.proc.poll() is None:
            try:
                self.call("Stop", grace_ms=2000)
            except grpc.RpcError:
                self.proc.send_signal(signal.SIGTERM)
        return self.end()

    def end(self):
        try:
            code = self.proc.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            code = self.proc.wait()
        if self.channel:
            self.channel.close()
        self.life.close()
        return code

    def log(self):
        return open(self.log_path).read()


@atexit.register
def end_all():
    for proc in Keeper.running:
        if proc.poll() is None:
            proc.kill()
            proc.wait()


class Tunnel:
    """One waiting Tunnel call; a byte stream once the guest has opened it."""

    def __init__(self, k):
        self.out = queue.Queue(64)
        self.buf = b""
        self.opened = False
        self.ended = False
        method = k.channel.stream_stream("/nacre.keeper.v1.Keeper/Tunnel", pb.Bytes.SerializeToString, pb.Bytes.FromString)
        self.call = method(iter(self.out.get, None), timeout=10 * LIMIT)

    def pump(self):
        try:
            m = next(self.call)
        except (StopIteration, grpc.RpcError):
            self.ended = True
            return False
        self.opened |= m.opened
        self.buf += m.data
        return True

    def open(self):
        while not self.opened and self.pump():
            pass
        return self.opened

    def send(self, data):
        for i in range(0, len(data), 32768):
            self.out.put(pb.Bytes(data=data[i:i + 32768]))

    def line(self):
        while b"\n" not in self.buf:
            if not self.pump():
                return None
        line, self.buf = self.buf.split(b"\n", 1)
        return line.decode(errors="replace")

    def take(self, n):
        while len(self.buf) < n:
            if not self.pump():
                break
        got, self.buf = self.buf[:n], self.buf[n:]
        return got

    def ask(self, text):
        self.send(text.encode() + b"\n")
        return self.line()

    def close(self):
        self.out.put(None)
        self.call.cancel()


def squashfs(name, files):
    """A squashfs of {path: bytes} by tar2sqfs."""
    import io
    import tarfile
    path = WORK + "/" + name
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for p, data in files.items():
            info = tarfile.TarInfo(p)
            info.size, info.mode = len(data), 0o755
            tar.addfile(info, io.BytesIO(data))
    subprocess.run(["tar2sqfs", "-q", "-f", "-c", "lz4", path], input=raw.getvalue(), check=True)
    return path


def blank(name, cache=None):
    """A writable disk: a sparse copy of the cache's blank ext4."""
    source = [f for f in os.listdir(cache or WORK + "/cache") if f.startswith("blank-") and f.endswith("-8589934592.ext4")][0]
    path = WORK + "/" + name
    subprocess.check_call(["cp", "--sparse=always", (cache or WORK + "/cache") + "/" + source, path])
    os.chmod(path, 0o600)
    return path
