# SPDX-License-Identifier: Apache-2.0
"""Machines and keepers, with a guest of our own: tests/e2e/60-machine.sh."""
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from keeper import *  # noqa: E402,F403

INJECT = os.path.dirname(BIN) + "/e2e/inject"
SYS_SOCKET, SYS_CONNECT, SYS_EXECVE, SYS_KILL = 41, 42, 59, 62
SIGSYS = 31


def inject(pid, *args):
    return subprocess.run([INJECT, str(pid)] + [str(a) for a in args], stdout=subprocess.PIPE, text=True).stdout.strip()


def facts(tunnel):
    return dict(p.split("=", 1) for p in tunnel.ask("facts").split())


def cmdline(pid):
    try:
        return open("/proc/%s/cmdline" % pid).read()
    except OSError:
        return ""


def refused(call):
    """The status name of a call that must fail."""
    try:
        call()
    except grpc.RpcError as e:
        return "%s: %s" % (e.code().name, e.details())
    return "OK"


def launched(t, image, disk="", **kw):
    k = Keeper(t, **kw)
    k.until(WAITING if kw.get("park") is False else PARKED)
    tunnel = k.tunnel()
    k.assign(image, disk)
    tunnel.open()
    return k, tunnel


def templates():
    t = Template(**guest("h2"))
    ok(t.facts.get("why_cold") == "" and t.facts.get("built"), "a template is booted, saved and sealed", t.log or t.text)
    again = Template(**guest("h2"))
    ok(again.facts["key"] == t.facts["key"] and not again.facts["built"], "the second time it is found on disk", again.log)
    ok(again.facts["tsc_khz"] == t.facts["tsc_khz"], "the counter's frequency is the same value")
    for name in ("memory", "state"):
        ok(hashlib.sha256(os.pread(t.fds[name], 1 << 28, 0)).digest() == hashlib.sha256(os.pread(again.fds[name], 1 << 28, 0)).digest(),
           "its %s is the same" % name)
        try:
            os.pwrite(again.fds[name], b"X", 0)
            ok(False, "its %s is sealed" % name)
        except OSError as e:
            ok(e.errno == 1, "its %s is sealed" % name, e)
    folder = WORK + "/cache/templates/" + t.facts["key"]
    ok(all(os.stat(folder + "/" + f).st_mode & 0o777 == 0o400 for f in os.listdir(folder)), "the copy on disk is 0400")
    again.close()
    for name, at in (("memory", -1000), ("memory", 30), ("state", 1000), ("sum", 20)):
        path = folder + "/" + name
        os.chmod(path, 0o600)
        with open(path, "r+b") as f:
            f.seek(at, 2 if at < 0 else 0)
            f.write(b"\x55damage")
        again = Template(**guest("h2"))
        ok(again.facts.get("built") and "made anew" in again.log, "a copy with damaged %s (%d) is made anew" % (name, at), again.log)
        again.close()
    other = Template(memory=64, **guest("h2"))
    ok(other.facts.get("why_cold") == "" and other.facts["key"] != t.facts["key"], "another memory size is another template", other.log)
    other.close()
    bad = Template(memory=100, **guest("h2"))
    ok(bad.status == 2 and "power of two" in bad.text, "a memory size that is none is refused", bad.text)
    bad = Template(vmm="/bin/false", cache=WORK + "/cache2", **guest("h2"))
    ok(bad.status == 1 and bad.text, "a VMM that is none is named", bad.text)
    bad = Template(**guest("clockless"))
    ok(bad.facts.get("why_cold") == "the guest's clock source is not tsc" and "memory" not in bad.fds,
       "a guest whose clock is not tsc makes no template", bad.log)
    bad.close()
    auto = Template(accelerator="auto", **guest("h2"))
    ok(auto.facts.get("why_cold") == "" and auto.facts["accelerator"] in ("kvm", "tcg"), "auto finds an accelerator that boots", auto.log)
    note("auto: %s %s" % (auto.facts["accelerator"], auto.facts["accel_reason"]))
    ok(auto.facts["accelerator"] == "kvm" or auto.facts["accel_reason"], "and says why when it is not KVM")
    then = Template(accelerator="auto", **guest("h2"))
    ok(then.facts["accelerator"] == auto.facts["accelerator"] and not then.facts["built"], "and remembers it")
    auto.close(), then.close()
    return t


def clones(t, image):
    disks = [blank("clone%d.ext4" % i) for i in range(2)]
    pair = [launched(t, image, d) for d in disks]
    told = [facts(tunnel) for _, tunnel in pair]
    for name in ("random", "boot_id", "stack", "map"):
        ok(told[0][name] != told[1][name], "two clones differ in %s" % name, told)
    ok(all(f["clock"].startswith("tsc") for f in told), "their clock is tsc")
    for _, tunnel in pair:
        off = int(tunnel.ask("time")) / 1e9 - time.time()
        ok(abs(off) < 1, "a clone's clock is within a second of the host's", off)
    ok(pair[0][1].ask("write " + "A" * 32) == "wrote " + "A" * 32, "a clone writes its disk")
    ok("A" * 32 not in pair[1][1].ask("look"), "the other does not see it")
    with open(disks[0], "rb") as f:
        f.seek(512)
        ok(f.read(32) == b"A" * 32, "the file on the host holds it")
    a, b = (k.call("Status") for k, _ in pair)
    note("restored %.0f ms, parked %.0f ms, swap to connected %.0f ms, private %.1f MB (code %.1f MB)" % (
        a.restored_us / 1e3, a.parked_us / 1e3, (a.connected_us - a.assigned_us) / 1e3, a.private_bytes / 1e6, a.code_bytes / 1e6))
    ok(a.template_key == t.facts["key"] and a.sandbox_id == "box" and a.accelerator == "tcg" and not a.cold and a.vmm_pid != b.vmm_pid,
       "status names the machine", a)
    # As the VMM would after its guest has taken it over: its own descriptor.
    tried = 0
    for fd in os.listdir("/proc/%d/fd" % a.vmm_pid):
        link = "/proc/%d/fd/%s" % (a.vmm_pid, fd)
        if "nacre-template" not in os.readlink(link):
            continue
        tried += 1
        try:
            os.pwrite(os.open(link, os.O_RDWR), b"X", 0)
            ok(False, "a write into the template through the VMM's descriptor")
        except OSError as e:
            ok(e.errno == 1, "a write into the template through the VMM's descriptor is refused (EPERM)", e)
    ok(tried > 0, "the VMM holds the template", tried)
    held = set()
    for fd in os.listdir("/proc/%d/fd" % a.vmm_pid):
        link = os.readlink("/proc/%d/fd/%s" % (a.vmm_pid, fd))
        held.add(re.sub(r":\[.*|:nacre-.*", "", link))
    ok(all(h.startswith(("anon_inode", "/memfd")) for h in held - {"socket", "/dev/null", "pipe", image, disks[0]}),
       "the VMM holds nothing but what it was given", held)
    env = open("/proc/%d/environ" % a.vmm_pid, "rb").read()
    ok(env.strip(b"\0") == b"", "its environment is empty", env)
    status = dict(l.split(":\t", 1) for l in open("/proc/%d/status" % a.vmm_pid).read().splitlines() if ":\t" in l)
    ok(status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", "it can gain no privilege and is filtered", status)
    k, tunnel = pair[0]
    k.call("Pause", pause=True)
    paused = time.time()
    while time.time() < paused + 3:  # the pause itself is what is tested
        time.sleep(0.1)
    k.call("Pause", pause=False)
    off = int(tunnel.ask("time")) / 1e9 - time.time()
    ok(abs(off) < 1, "its clock is right again after it was stopped for 3 s", off)
    ok(int(tunnel.ask("clock")) >= 2, "because the keeper told it")
    os.kill(a.vmm_pid, signal.SIGSTOP)
    paused = time.time()
    while time.time() < paused + 2:
        time.sleep(0.1)
    os.kill(a.vmm_pid, signal.SIGCONT)
    off = int(tunnel.ask("time")) / 1e9 - time.time()
    ok(abs(off) < 1, "and after the VMM itself was stopped", off)
    for k, tunnel in pair:
        tunnel.close()
        ok(k.stop() == 0 and not os.path.exists(k.path), "stop ends it and its socket", k.log())
    ok(not alive(a.vmm_pid) and not alive(b.vmm_pid), "no VMM is left")


def channel(t, image):
    disk = blank("channel.ext4")
    k = Keeper(t)
    k.until(PARKED)
    ok(refused(lambda: k.call("Pause", pause=True)).startswith("FAILED_PRECONDITION"), "a machine that is not launched is not paused")
    ok(refused(lambda: k.assign(image, disk, pin=b"short")).startswith("INVALID_ARGUMENT"), "a pin of the wrong size is refused")
    ok(refused(lambda: k.assign(WORK + "/none.sqfs", disk)) != "OK", "an image that is not there is refused")
    ok(refused(lambda: k.assign(image, "/dev/null")).startswith("INVALID_ARGUMENT"), "a disk that is no file is refused")
    pin = bytes(range(32))
    k.assign(image, disk, pin=pin)
    ok(refused(lambda: k.assign(image, disk)).startswith("ALREADY_EXISTS"), "a machine is assigned once")
    k.until(CONNECTED)
    tunnel = k.tunnel()  # after the guest: it waited
    ok(tunnel.open(), "a tunnel that comes later is joined to the guest's stream")
    ok(tunnel.ask("pin") == pin.hex(), "the guest's first bytes are the gateway's pin")
    ok(tunnel.ask("connect evil.example:443") == 'status=403 body={"error":"egress_not_built"}', "another host is refused by name")
    size = 8 << 20
    tunnel.send(b"up %d 16384\n" % (size // 16384))
    ok(tunnel.take(size) == b"u" * size and tunnel.line() == "sent %d" % size, "8 MiB out of the guest arrive whole")
    tunnel.send(b"down %d\n" % size + b"\2" * size)
    ok(tunnel.line() == "sum %d" % (2 * size), "8 MiB into it too")
    second = Keeper(t)
    second.until(PARKED)
    ok(refused(lambda: second.assign(image, disk)).startswith("UNAVAILABLE"), "a disk in use is refused to a second machine")
    other = second.call("Status")
    second.life.close()
    second.watch.cancel(), second.channel.close()
    ok(second.end() == 0 and wait_gone(other.vmm_pid), "an unassigned machine ends with its gateway", second.log())
    # A gateway that reads nothing holds the guest back, not the keeper.
    before = int(open("/proc/%d/statm" % k.proc.pid).read().split()[1])
    tunnel.send(b"up 4096 16384\n")
    spare = k.tunnel()
    ok(k.call("Status").phase == CONNECTED, "a gateway that reads nothing can still ask")
    grown = (int(open("/proc/%d/statm" % k.proc.pid).read().split()[1]) - before) * 4
    ok(grown < 8192, "and the keeper has not grown", "%d KiB" % grown)
    # The gateway dies: its connection breaks with all that is under way.
    spare.close(), tunnel.close()
    k.channel.close(), k.life.close()
    k.connect()
    ok(k.until(CONNECTED).phase == CONNECTED, "an assigned machine outlives its gateway")
    tunnel = k.tunnel()
    ok(tunnel.open() and tunnel.ask("echo again") == "again", "and its guest opens a new tunnel")
    tunnel.send(b"shout 200000\n")
    ok(tunnel.line() == "shouted", "a guest may shout")
    said = k.call("Console")
    ok(b"shout" in said.text and b"\x1b" not in said.text and said.dropped > 0 and len(said.text) <= 300 << 10,
       "the console is the last 64 KiB, escaped", (len(said.text), said.dropped))
    tunnel.send(b"end\n")
    last = k.until(ENDED)
    ok(last.phase == ENDED and last.fault == "", "a guest ends its machine", last)
    ok(k.end() == 0 and not os.path.exists(k.path), "and its keeper", k.log())


def knocks(t, image):
    """A guest that opens tunnels in a loop: the gateway is asked ten times."""
    k, tunnel = launched(t, image)
    opened, over = [], threading.Event()

    def gateway():  # one call waits at any time, as the gateway has it
        while not over.is_set():
            one = k.tunnel()
            if one.open():
                opened.append(one)

    watcher = threading.Thread(target=gateway, daemon=True)
    watcher.start()
    began = time.monotonic()
    said = tunnel.ask("knock 200")
    most = 10 + (time.monotonic() - began) / 2
    ok(said == "knocked 200", "a guest may knock 200 times", said)
    ok(len(opened) <= most, "and the gateway is asked no more than is stated", "%d of %d" % (len(opened), most))
    ok(tunnel.ask("echo still") == "still", "the session that is there goes on")
    over.set()
    ok(k.stop() == 0, "it stops")


def others(t, image):
    k, tunnel = launched(t, image, park=False)
    ok(tunnel.ask("echo bare") == "bare", "a clone that did not rehearse works")
    ok(re.match(r"vda=hsqs.* vdb=$", tunnel.ask("look")), "without a disk there is an empty one")
    rival = subprocess.run([KEEPER, "run", "--dir", k.dir, "--id", k.id], stderr=subprocess.PIPE, text=True)
    ok(rival.returncode == 2, "a keeper without its arguments says so", rival.stderr)
    ok(k.stop() == 0, "it stops")
    # Assignment may come before the clone is ready.
    k = Keeper(t)
    tunnel = k.tunnel()
    k.assign(image)
    ok(tunnel.open() and tunnel.ask("echo early") == "early", "an early assignment is held until the clone is parked")
    k.proc.send_signal(signal.SIGTERM)
    ok(k.end() == 0, "SIGTERM ends a keeper")
    k, tunnel = launched(t, image, cold=True)
    ok(tunnel.ask("echo cold") == "cold" and k.call("Status").cold, "a cold boot works the same")
    off = int(tunnel.ask("time")) / 1e9 - time.time()
    ok(abs(off) < 1, "its clock is within a second", off)
    ok(k.stop() == 0, "it stops")


def ends(t, image):
    k, tunnel = launched(t, image)
    vmm = k.call("Status").vmm_pid
    os.kill(vmm, signal.SIGKILL)
    last = k.until(ENDED)
    ok("signal 9" in last.fault, "a killed VMM is told", last)
    ok(k.end() == 1 and not os.path.exists(k.path), "and its keeper ends with 1", k.log())
    k, tunnel = launched(t, image)
    vmm = k.call("Status").vmm_pid
    k.proc.kill()
    ok(wait_gone(vmm), "an orphaned VMM dies")
    k.end()
    os.unlink(k.path)  # nobody was left to
    for what, call in (("connects", (SYS_CONNECT, 0, 0, 0)), ("makes a socket", (SYS_SOCKET, 1, 1, 0)), ("runs a program", (SYS_EXECVE, 0, 0, 0)),
                       ("signals another", (SYS_KILL, os.getpid(), 0))):
        k, tunnel = launched(t, image)
        vmm = k.call("Status").vmm_pid
        got = inject(vmm, *call)
        # A VMM may exec nothing either: QEMU's own sandbox denies it.
        ok(got in ("killed by 31", "no access 0") or (call[0] == SYS_EXECVE and got == "returned -1"), "a VMM that %s dies" % what, got)
        if "killed" in got:
            ok(k.until(ENDED).phase == ENDED and k.end() == 1, "and with it its keeper", k.log())
        else:
            k.stop()
    for what, call in (("connects to a unix socket", (SYS_SOCKET, 1, 1, 0)), ("runs a program", (SYS_EXECVE, 0, 0, 0))):
        k, tunnel = launched(t, image)
        vmm = k.call("Status").vmm_pid
        got = inject(k.proc.pid, *call)
        ok(got in ("killed by 31", "no access 0"), "a keeper that %s dies" % what, got)
        if "killed" in got:
            ok(wait_gone(vmm), "and with it its VMM")
            k.end()
            os.unlink(k.path)
        else:
            k.stop()


def doctor():
    d = subprocess.run([KEEPER, "doctor", "--json", "--cache", WORK + "/cache"], stdout=subprocess.PIPE, text=True)
    said = json.loads(d.stdout)
    ok(d.returncode == 0 and said["ok"] and all(c["text"] for c in said["checks"]), "doctor finds all that is needed here", d.stdout)
    d = subprocess.run([KEEPER, "doctor", "--vmm", "/bin/false"], stdout=subprocess.PIPE, text=True)
    ok(d.returncode == 1 and re.search(r"^qemu +MISSING .*/bin/false", d.stdout, re.M), "and names what is not", d.stdout)


def main():
    doctor()
    t = templates()
    image = squashfs("image.sqfs", {"hello": b"hello" * 1000})
    clones(t, image)
    channel(t, image)
    knocks(t, image)
    others(t, image)
    ends(t, image)
    t.close()
    left = [p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid() and WORK in cmdline(p)]
    ok(not left, "no process is left", left)
    ok(not [f for f in os.listdir(WORK + "/run") if f.endswith(".sock")], "no socket is left")
    done()


main()
