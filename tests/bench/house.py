# SPDX-License-Identifier: Apache-2.0
"""A gateway of one's own on a temporary state folder, and its processes as
/proc shows them."""
import json, os, re, shutil, subprocess, tempfile, time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BIN = os.path.abspath(os.environ.get("NACRE_BIN", TOP + "/build/release/bin"))
GUEST = os.path.abspath(os.environ.get("NACRE_GUEST", TOP + "/build/release/guest"))
E2E = os.path.abspath(BIN + "/../e2e")
MKCPIO = os.path.abspath(BIN + "/../../tools/mkcpio")
WORK = tempfile.mkdtemp(prefix="nacre-bench.")
os.environ.update(PATH=BIN + ":" + os.environ["PATH"], NACRE_GUEST=GUEST, NACRE_STATE=WORK + "/state")


def nacre(*args):
    """Its output; a failure ends the program with its words."""
    p = subprocess.run(["nacre", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if p.returncode != 0:
        raise SystemExit("nacre %s: exit code %d\n%s" % (" ".join(args), p.returncode, p.stderr.decode(errors="replace")))
    return p.stdout.decode()


def details(name):
    return json.loads(nacre("sandbox", "get", name, "-o", "json"))


def status():
    return json.loads(nacre("gateway", "status", "-o", "json"))


def create(name, *extra, command=("sleep", "1000")):
    """Wall ms of the whole command."""
    start = time.perf_counter()
    nacre("sandbox", "create", "--name", name, "--from", "tiny", *extra, "--", *command)
    return (time.perf_counter() - start) * 1e3


def gateway_with(settings):
    """A gateway with these settings, the sandboxes of the last one stopped."""
    nacre("gateway", "stop", "--sandboxes")
    with open(WORK + "/settings.yaml", "w") as f:
        f.write(settings)
    nacre("gateway", "start", "--config", WORK + "/settings.yaml")


def until(what, seconds=60):
    """Ask until it is so; what it said last."""
    end = time.monotonic() + seconds
    while True:
        got = what()
        if got or time.monotonic() > end:
            return got
        time.sleep(0.02)


def tiny_image():
    root = WORK + "/tiny"
    for d in ("bin", "etc", "tmp", "dev", "proc", "sys", "home/agent"):
        os.makedirs(os.path.join(root, d))
    os.chmod(root + "/tmp", 0o1777)
    shutil.copy(shutil.which("busybox"), root + "/bin/busybox")
    for name in subprocess.run([root + "/bin/busybox", "--list"], stdout=subprocess.PIPE).stdout.decode().split():
        if name != "busybox":
            os.symlink("busybox", root + "/bin/" + name)
    with open(root + "/etc/passwd", "w") as f:
        f.write("root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n")
    with open(root + "/etc/group", "w") as f:
        f.write("root:x:0:\nagent:x:1000:\n")
    return root


# --- processes

def text_of(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def children(pid):
    return [int(p) for p in text_of("/proc/%d/task/%d/children" % (pid, pid)).split()]


def born(pid):
    """The process's start time: with its pid it names one process for good."""
    return text_of("/proc/%d/stat" % pid).rpartition(")")[2].split()[19:20]


def keepers():
    """{keeper: its VMM} of this state folder."""
    out = {}
    for p in filter(str.isdigit, os.listdir("/proc")):
        words = text_of("/proc/%s/cmdline" % p).split("\0")
        if words[0].endswith("nacre-keeper") and "run" in words and any(WORK in w for w in words):
            kids = children(int(p))
            if kids:
                out[int(p)] = kids[0]
    return out


def rss_kib(pid):
    """Resident memory that is the process's own."""
    found = re.search(r"^RssAnon:\s+(\d+)", text_of("/proc/%d/status" % pid), re.M)
    return int(found.group(1)) if found else 0


def descriptors(pid):
    """How many; where that is not ours to see, room for how many."""
    try:
        return len(os.listdir("/proc/%d/fd" % pid))
    except OSError:
        found = re.search(r"^FDSize:\s+(\d+)", text_of("/proc/%d/status" % pid), re.M)
        return int(found.group(1)) if found else 0


def memory_mb(pid):
    """Of a VMM: private memory in MB as (all but code, translated code, guest pages).

    Anonymous pages: one of the template is no clone's own, even while only one
    clone maps it. Code is anonymous and executable; the guest's pages are those
    of its memory file that were written to, or of the one great mapping."""
    private = code = guest = anonymous = 0
    kind, size = "", 0
    for line in text_of("/proc/%d/smaps" % pid).splitlines():
        head = re.match(r"^[0-9a-f]+-[0-9a-f]+ (\S+) \S+ \S+ \d+\s*(.*)$", line)
        if head:
            kind = "code" if "x" in head.group(1) and not head.group(2) else \
                "guest" if "memfd" in head.group(2) else ""
        elif line.startswith("Anonymous:"):
            anonymous = int(line.split()[1]) / 1000 * 1.024
            private += anonymous
            code += anonymous if kind == "code" else 0
            guest += anonymous if kind == "guest" else 0
    return private - code, code, guest
