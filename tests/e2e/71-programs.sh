#!/bin/bash
# Real programs, unmodified: a shell on a terminal, git, python3, a compiler, a
# static program, packages from local files. Each does what it does under bwrap
# in the same root folder. Then what a sandbox refuses, and with which errno.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
if ! command -v bwrap >/dev/null; then
	echo "1..0 # SKIP bwrap is missing: apt-get install bubblewrap"
	trap - EXIT
	rm -rf "$work"
	exit 0
fi
"$top/tools/demo-image" --programs || exit 1
root=$work/root
mkdir "$root"
tar -C "$root" -xf "$top/build/demo/programs.tar"
install -d -m 755 "$root/check"
install -m 755 "$NACRE_BIN/../e2e/resolve" "$root/check/"
install -m 644 "$top/tests/data/differential/check.py" "$root/check/"
cat >"$root/check/a.c" <<'C'
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
int main(int argc, char **argv)
{
	printf("%d %s %s\n", argc, argv[argc - 1], strerror(EACCES));
	return 0;
}
C
echo 'int b(void) { return 7; }' >"$root/check/b.c"
python3 "$top/tests/lib/packages.py" "$root/check"
# pip wants a trust store, also to install a file.
install -d -m 755 "$root/etc/ssl/certs"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=test -days 30 \
	-keyout "$work/key" -out "$root/etc/ssl/certs/ca-certificates.crt" 2>/dev/null
table=$work/table
cp "$top/tests/data/differential/programs" "$table"

# The host's own node with what it links: larger than the rest together.
node_too() {
	local node file
	node=$(readlink -f "$(command -v node)") || return
	cp "$node" "$root/usr/bin/node"
	for file in $(ldd "$node" | sed -nE 's/.* => (\/[^ ]*) .*/\1/p'); do
		[ -e "$root/lib/x86_64-linux-gnu/${file##*/}" ] || cp -L "$file" "$root/lib/x86_64-linux-gnu/"
	done
	cat >>"$table" <<'T'
case node
  run node -e 'const {execFileSync} = require("child_process"), fs = require("fs"), net = require("net"); fs.writeFileSync("/tmp/n", "n"); console.log(process.argv.length, fs.readFileSync("/tmp/n", "utf8"), String(execFileSync("echo", ["child"]))); const s = net.createServer(c => c.end("hello")).listen(0, "127.0.0.1", () => net.connect(s.address().port, "127.0.0.1").on("data", d => { console.log(String(d)); s.close(); }))'
  status 0
T
}
command -v node >/dev/null && node_too

policy=$work/policy.yaml
printf 'version: 1\nfilesystem_policy:\n  include_workdir: true\n  read_only: [/check]\n' >"$policy"
gateway_up
nacre image import programs "$root" >/dev/null
run nacre sandbox create --name d --from programs --memory 128 --policy "$policy" -- sleep 10000
is "$code" 0 "a sandbox starts from the folder that bwrap gets"
python3 "$top/tests/lib/differential.py" "$table" d "$root" >"$work/told"
is $? 0 "all programs were run"
while IFS=$'\t' read -r same name; do
	case $same in
	same) ok 0 "$name" ;;
	differs) ok 1 "$name" ;;
	*) echo "# $name" ;;
	esac
done <"$work/told"

# --- what is refused, as a program sees it
cat >"$work/refused.py" <<'P'
import ctypes, errno, os, socket

libc = ctypes.CDLL(None, use_errno=True)

def call(f, *args):
    if f(*args) == -1:
        raise OSError(ctypes.get_errno(), "")

def connect(family, address):
    s = socket.socket(family)
    s.settimeout(5)
    s.connect(address)

for name, f in (
        ("list the root", lambda: os.listdir("/")),
        ("list another's home", lambda: os.listdir("/root")),
        ("read where no rule is", lambda: os.listdir("/var/tmp")),
        ("write a program", lambda: open("/usr/bin/git", "r+")),
        ("write in /etc", lambda: open("/etc/new", "w")),
        ("remove a program", lambda: os.unlink("/usr/bin/git")),
        ("what is not there", lambda: open("/usr/nosuch")),
        ("write where reading is", lambda: open("/check/a.c", "a")),
        ("list /sys", lambda: os.listdir("/sys")),
        ("write a kernel's value", lambda: open("/proc/sys/kernel/hostname", "w")),
        ("memory of the runtime", lambda: open("/proc/1/mem")),
        ("connect outside", lambda: connect(socket.AF_INET, ("192.0.2.1", 443))),
        ("connect outside, IPv6", lambda: connect(socket.AF_INET6, ("2001:db8::1", 443))),
        ("connect to nobody", lambda: connect(socket.AF_INET, ("127.0.0.1", 9))),
        ("a raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)),
        ("a packet socket", lambda: socket.socket(socket.AF_PACKET)),
        ("become root", lambda: os.setuid(0)),
        ("mount", lambda: call(libc.mount, b"none", b"/tmp", b"tmpfs", 0, None)),
        ("a namespace", lambda: os.unshare(os.CLONE_NEWUSER)),
        ("change the root", lambda: os.chroot("/tmp")),
        ("trace", lambda: call(libc.ptrace, 16, os.getppid(), 0, 0)),
        ("a device", lambda: os.mknod("/tmp/device", 0o20600, os.makedev(1, 1))),
        ("end the runtime", lambda: os.kill(1, 9)),
        ("be more urgent", lambda: os.nice(-1)),
        ("set the clock", lambda: __import__("time").clock_settime(0, 0))):
    try:
        f()
        print(name, "done")
    except OSError as e:
        print(name, errno.errorcode.get(e.errno, e))
P
nacre sandbox cp "$work/refused.py" d:/tmp/refused.py >/dev/null
is "$(nacre sandbox exec d -- python3 /tmp/refused.py)" "list the root EACCES
list another's home EACCES
read where no rule is EACCES
write a program EACCES
write in /etc EACCES
remove a program EACCES
what is not there ENOENT
write where reading is EACCES
list /sys EACCES
write a kernel's value EROFS
memory of the runtime EACCES
connect outside EACCES
connect outside, IPv6 EACCES
connect to nobody ECONNREFUSED
a raw socket EPERM
a packet socket EAFNOSUPPORT
become root EPERM
mount EPERM
a namespace EPERM
change the root EPERM
trace EPERM
a device EACCES
end the runtime EPERM
be more urgent EPERM
set the clock EPERM" "what is refused is refused with errnos that programs know"
