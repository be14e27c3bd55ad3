# SPDX-License-Identifier: Apache-2.0
"""ssh into a VM of the same kind: our kernel and the VMM's arguments as vm/
has them, Debian's sshd, a public key, no root. A peer for `make bench`."""
import glob, os, re, shutil, subprocess

from house import GUEST, TOP, WORK, until

HERE = os.path.dirname(os.path.abspath(__file__))
PLACE = WORK + "/ssh"
PACKAGES = ("openssh-server", "libwrap0")
TOOLS = ("ssh", "ssh-keygen", "busybox", "cpio", "apt-get", "dpkg-deb")


class Missing(Exception):
    """What is not here, by name."""


def packages():
    """Folder of the packages' files, unpacked once below build/: nothing of them is installed."""
    place = TOP + "/build/bench-ssh"
    if os.path.exists(place + "/usr/sbin/sshd"):
        return place
    os.makedirs(place, exist_ok=True)
    for name in PACKAGES:
        if subprocess.run(["apt-get", "-q", "download", name], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            raise Missing("Debian's package %s is not here" % name)
        subprocess.check_call(["dpkg-deb", "-x", glob.glob(place + "/%s_*.deb" % name)[0], place])
    return place


def libraries(program, folder):
    """Files of the shared libraries of a program, by the names it has for them."""
    env = dict(os.environ, LD_LIBRARY_PATH=folder)
    out = subprocess.run(["ldd", program], stdout=subprocess.PIPE, env=env).stdout.decode()
    lost = re.search(r"(\S+) => not found", out)
    if lost:
        raise Missing("sshd's library %s is not here" % lost.group(1))
    found = dict(re.findall(r"(\S+) => (/\S+)", out))
    found.update({path: path for path in re.findall(r"^\s+(/\S+) \(", out, re.M)})
    return found


def compile_c(name):
    out = PLACE + "/" + name
    subprocess.check_call([TOP + "/build/deps/musl/bin/musl-gcc", "-static", "-O2", "-o", out, HERE + "/" + name + ".c"])
    return out


def put(root, path, text, mode=0o644):
    os.makedirs(os.path.dirname(root + path), exist_ok=True)
    with open(root + path, "w") as f:
        f.write(text)
    os.chmod(root + path, mode)


def key(name):
    subprocess.check_call(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", PLACE + "/" + name])
    return open(PLACE + "/" + name + ".pub").read()


def initramfs():
    """The whole system of that VM, as an initramfs."""
    root = PLACE + "/root"
    parts = packages()
    sshd = parts + "/usr/sbin/sshd"
    for folder in ("dev", "proc", "tmp", "bin", "run/sshd", "usr/sbin", "lib64", "lib/x86_64-linux-gnu", "home/agent/.ssh"):
        os.makedirs(root + "/" + folder)
    for name, path in libraries(sshd, parts + "/usr/lib/x86_64-linux-gnu").items():
        shutil.copy(path, root + (name if name.startswith("/") else "/lib/x86_64-linux-gnu/" + name))
    shutil.copy(sshd, root + "/usr/sbin/sshd")
    shutil.copy(shutil.which("busybox"), root + "/bin/busybox")
    for name in ("sh", "true", "cat"):
        os.symlink("busybox", root + "/bin/" + name)
    shutil.move(compile_c("init"), root + "/init")
    put(root, "/etc/passwd", "root:x:0:0::/:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/false\nagent:x:1000:1000::/home/agent:/bin/sh\n")
    put(root, "/etc/group", "root:x:0:\nagent:x:1000:\n")
    put(root, "/etc/nsswitch.conf", "passwd: files\ngroup: files\n")
    put(root, "/etc/ssh/sshd_config",
        "HostKey /etc/ssh/key\nUsePAM no\nUseDNS no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "PermitRootLogin no\nPrintMotd no\nPrintLastLog no\nStrictModes no\nPidFile none\nLogLevel ERROR\n")
    host = key("host")
    shutil.copy(PLACE + "/host", root + "/etc/ssh/key")
    put(root, "/home/agent/.ssh/authorized_keys", key("agent"))
    put(PLACE, "/known", "vm " + host)
    subprocess.check_call(["chown", "-R", "1000:1000", root + "/home/agent", root + "/etc/ssh"])
    out = PLACE + "/initramfs.cpio"
    with open(out, "wb") as f:
        names = subprocess.run(["find", "."], cwd=root, stdout=subprocess.PIPE, check=True).stdout
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names, stdout=f, check=True)
    return out


def rows(name, kind, accelerator):
    """Those of a table in vm/ that a cold boot has."""
    text = re.sub(r"/\*.*?\*/", "", open(TOP + "/vm/" + name).read(), flags=re.S)
    when = ("ANY", "BOOT", "PLAIN", accelerator.upper())
    return [t for w, t in re.findall(kind + r'\((\w+),\s*"([^"]*)"\)', text) if w in when]


def khz():
    return int(float(re.search(r"cpu MHz\s*: ([\d.]+)", open("/proc/cpuinfo").read()).group(1)) * 1000)


class Ssh:
    """That VM and a client with a connection that is kept."""

    def __init__(self, accelerator, memory_mib):
        for tool in TOOLS:
            if not shutil.which(tool):
                raise Missing(tool + " is not here")
        os.makedirs(PLACE)
        self.vmm = None
        image = initramfs()
        self.dial = compile_c("dial")
        values = {"memory": memory_mib, "vcpus": 1, "tsc_khz": khz()}
        values["cmdline"] = " ".join(rows("cmdline.def", "WORD", accelerator)).format(**values)
        files = {"/proc/self/fd/{kernel_fd}": GUEST + "/vmlinux", "/proc/self/fd/{initramfs_fd}": image}
        args = rows("qemu.def", "ARG", accelerator)
        # From there on it is what connects a VMM with its keeper.
        args = [files.get(a) or a.format(**values) for a in args[:args.index("-chardev")]]
        self.console = open(PLACE + "/console", "w")
        self.vmm = subprocess.Popen(
            ["qemu-system-x86_64", *args, "-device", "virtio-serial-device,max_ports=2",
             "-chardev", "socket,id=port,path=%s/port,server=on,wait=off" % PLACE,
             "-device", "virtserialport,chardev=port,name=nacre", "-device", "virtio-rng-device", "-serial", "stdio"],
            stdin=subprocess.DEVNULL, stdout=self.console, stderr=self.console)
        until(lambda: os.path.exists(PLACE + "/port"), 20)
        self.common = ["ssh", "-F", "none", "-q", "-i", PLACE + "/agent", "-o", "IdentitiesOnly=yes", "-o", "UserKnownHostsFile=" + PLACE + "/known",
                       "-o", "ProxyCommand=%s %s/port" % (self.dial, PLACE), "-o", "ProxyUseFdpass=yes", "-l", "agent"]

    def alone(self, *command):
        """Words of a client that makes a connection of its own."""
        return [*self.common, "-o", "ControlPath=none", "vm", *command]

    def kept(self, *command, tty=False):
        """Words of a client that uses the connection that is kept."""
        return [*self.common, "-S", PLACE + "/kept", *(["-tt"] if tty else []), "vm", *command]

    def keep(self):
        subprocess.run([*self.common, "-S", PLACE + "/kept", "-M", "-N", "-f", "vm"], check=True, timeout=120, stdin=subprocess.DEVNULL)

    def drop(self):
        subprocess.run([*self.common, "-S", PLACE + "/kept", "-O", "exit", "vm"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def close(self):
        self.drop()
        if self.vmm:
            self.vmm.kill()
            self.vmm.wait()
            self.console.close()
