#!/bin/bash
# The agent's boundary in a real guest: all that an agent must not do is tried
# (tests/e2e/guest/jail.c) and the whole table compared.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
host=$NACRE_BIN/../e2e/guest_host
tables=$top/tests/data/jail
tsc=$(awk -F: '/cpu MHz/ { printf "%d", $2 * 1000; exit }' /proc/cpuinfo)
root=$(tiny_image)
cp "$NACRE_BIN/../e2e/jail" "$NACRE_BIN/../e2e/hunt" "$root/bin"
chmod 751 "$root"
# Three folders that by their modes are open to all.
for d in work given open; do
	install -d -m 777 "$root/$d" "$root/$d/d" "$root/$d/gd"
	for f in f gone m x; do install -m 666 /dev/null "$root/$d/$f"; done
	install -m 755 "$NACRE_GUEST/nacre-guest" "$root/$d/true"
	ln "$root/$d/true" "$root/$d/p"
done
install -d -m 777 "$root/work/linked" "$root/work/moved"
install -m 666 /dev/null "$root/etc/open"
install -d -m 750 "$root/kept"
install -d -m 755 "$root/kept/below"
# Where the runtime writes what an image lacks, links of the image's own.
install -m 644 /dev/null "$root/given/target"
ln -s /given/target "$root/etc/resolv.conf"
ln -s /given/target "$root/etc/hostname"
ln -s /given/made "$root/etc/hosts"
install -m 4755 "$root/bin/jail" "$root/work/suid"
ln -s given "$root/alias"
tar -C "$root" --owner=0 --group=0 -cf "$work/root.tar" .
tar2sqfs -q -c lz4 "$work/image.sqfs" <"$work/root.tar"
blank() { rm -f "$1" && truncate -s 64M "$1" && mke2fs -q -t ext4 -E lazy_itable_init=1,lazy_journal_init=1 "$1"; }
# guest [INITRAMFS] <script: $out is what the guest said
guest() {
	out=$(timeout 300 "$host" "$NACRE_GUEST/vmlinux" "${1:-$NACRE_GUEST/initramfs.cpio}" "$work/image.sqfs" "$work/disk" 192 "$tsc" 2>"$work/log")
}
# of ID: what one stream printed
of() { printf '%b' "$(sed -n "s/^out $1 //p" <<<"$out")"; }
# table ID NAME TITLE: compare a stream with its table, line by line
table() {
	of "$1" >"$work/$2"
	if cmp -s "$work/$2" "$tables/$2"; then
		ok 0 "$3 ($(wc -l <"$work/$2") attempts)"
	else
		ok 1 "$3"
		diff "$tables/$2" "$work/$2" | sed 's/^/#   /' | head -n 40
	fi
}

blank "$work/disk"
guest <<'END'
launch dir=/work ro=/given ro=/kept/below -- sleep 1000
wait ready
exec a -- jail calls
wait a
exec b -- jail families
wait b
exec c -- jail capabilities
wait c
exec d -- jail files /work /given /open
wait d
exec e dir=/work -- jail escapes
wait e
exec f -- sh -c 'grep -E "^(Cap|NoNewPrivs|Seccomp:)" /proc/self/status; ulimit -c; ulimit -u'
wait f
exec g dir=/work -- sh -c 'echo alive'
wait g
exec h -- sh -c 'wc -c </given/target; ls /given/made 2>&1'
wait h
exec i -- sh -c 'stat -c "%a %u %g" /; grep Threads: /proc/1/status'
wait i
END
is "$(grep -c '^probe landlock passed' <<<"$out") $(grep -c '^failed' <<<"$out")" "1 0" "what only root can open is in the rules: they were opened before the agent is the agent"
table a calls "no call of the deny list is served"
table b families "sockets are local, IPv4, IPv6 and routes to read"
table c capabilities "no capability can be had"
table d files "Landlock holds, right by right, what modes would allow"
table e escapes "no way out"
is "$(of f)" "CapInh:	0000000000000000
CapPrm:	0000000000000000
CapEff:	0000000000000000
CapBnd:	0000000000000000
CapAmb:	0000000000000000
NoNewPrivs:	1
Seccomp:	2
0
unlimited" "five empty sets, no new privileges, a filter, no core; processes are the cgroup's to count"
is "$(of g)" "alive" "and the sandbox lives on"
is "$(of h)" "0
ls: /given/made: No such file or directory" "the runtime writes through no link of an image"
is "$(of i)" "751 0 0
Threads:	1" "/ has the image's mode and owner; the runtime has no threads"
blank "$work/disk"
export GUEST_APPEND=lsm=capability
guest <<'END'
launch dir=/work ro=/given best_effort -- sleep 1000
wait ready
END
unset GUEST_APPEND
like "$out" "failed stage=confine .*[Ll]andlock" "a kernel without Landlock runs no agent, best effort or not"

blank "$work/disk"
guest <<'END'
launch dir=/work ro=/alias ro=/nosuch best_effort rw=/made/for/it rw=/kept -- sleep 1000
wait ready
exec a -- sh -c 'cat /given/f && cat /alias/f && echo read; (echo >>/given/f) 2>&1; cat /open/f 2>&1'
wait a
exec b -- sh -c 'stat -c "%U %a" /made/for /made/for/it /kept; touch /made/for/it/x && echo written'
wait b
exec c -- sh -c 'ln -s /open /work/trap; ln -s /open /made/for/it/trap; mkdir /work/sub; echo planted'
wait c
exec d -- sh -c 'sleep 100 & echo $! >/tmp/pid'
wait d
exec e -- sh -c 'kill $(cat /tmp/pid) && echo ended'
wait e
exec f dir=/ -- pwd
wait f
stop 0
wait stopped
END
is "$(of a)" "read
sh: can't create /given/f: Permission denied
cat: can't open '/open/f': Permission denied" "a link of the image leads to what it means there, and no further"
is "$(of b)" "root 755
agent 755
root 750
written" "a folder to write to is made for the agent, and one that is there stays whose it is"
is "$(of c)" planted "(links are planted)"
is "$(of e)" ended "agent processes may signal each other"
is "$(of f)" / "a work folder may lie outside of the policy"

guest <<'END'
launch dir=/work ro=/work/trap -- sleep 1000
wait ready
END
like "$out" "failed stage=confine .*/work/trap" "a link that the agent planted is not followed: read"
guest <<'END'
launch dir=/work rw=/work/trap -- sleep 1000
wait ready
END
like "$out" "failed stage=confine .*/work/trap" "nor written"
guest <<'END'
launch dir=/work ro=/nosuch -- sleep 1000
wait ready
END
like "$out" "failed stage=confine .*/nosuch" "what the image lacks stops the start, by name"
guest <<'END'
launch dir=/work ro=/tmp -- sleep 1000
wait ready
exec a -- sh -c '(echo >/tmp/x) 2>&1; echo >/dev/null && echo null; cd /work && echo w >w && cat w'
wait a
END
is "$(of a)" "null
w" "a policy's read-only takes nothing from the baseline"

# --- secrets. Every token of this launch begins with $secret; a decoy shows
# that the hunt finds what is there.
secret=$(head -c 30 /dev/urandom | base64 | tr '+/' '-_')
decoy=$(head -c 30 /dev/urandom | base64 | tr '+/' '-_')
# masked TEXT: it, and the middle of its base64 at each of three alignments
masked() {
	python3 - "$1" <<'P'
import base64, sys
text = sys.argv[1].encode()
forms = [text] + [base64.b64encode(b"x" * n + text)[4:-4] for n in range(3)]
print(" ".join(bytes(b ^ 0x5a for b in f).hex() for f in forms))
P
}
coded=$(printf 'xx%s' "$decoy" | base64 -w 0)
hunt() {
	guest "${2:-}" <<END
launch dir=/work ro=/ secret=$secret $1 -- sleep 1000
wait ready
exec a dir=/work -- sh -c 'echo $coded >/work/decoy; D=$decoy sleep 100 & hunt $(masked "$decoy"); true'
wait a
exec b dir=/work -- hunt $(masked "$secret")
wait b
exec c dir=/work -- id -u
wait c
break
wait session
exec d dir=/work -- hunt $(masked "$secret")
wait d
END
}
seen() { of "$1" | grep -v '^found:' | sed 's/found [1-9][0-9]*/found some/'; }
decoys='environ: opened, found some
cmdline: opened, found some
descriptors: opened, found 0
maps: opened, found 0
memory: opened, found some
files: opened, found some
kernel: opened, found 0
runtime: nothing opened, found 0'
nothing=${decoys//some/0}
hunt ""
is "$(of c)" 1000 "an agent hunts for tokens"
is "$(seen a)" "$decoys" "it finds a decoy in environment, arguments, memory and, in base64, a file"
is "$(of b)" "$nothing" "and no token of the launch, raw or base64; of the runtime nothing opens"
is "$(of d)" "$nothing" "nor after a reconnect"

mkdir "$work/rootly"
cp "$NACRE_BIN/../e2e/root/nacre-guest" "$work/rootly/"
"$NACRE_BIN/../../tools/mkcpio" "$top/initramfs/files" "$work/rootly" >"$work/rootly.cpio"
guest <<'END'
launch dir=/work uid=0 -- sleep 1000
wait ready
END
like "$out" "failed stage=confine .*=0 cannot be the agent.s" "an agent is never root"
blank "$work/disk"
hunt "uid=0 gid=0" "$work/rootly.cpio"
is "$(of c)" 0 "root without capabilities, in a guest that lets it, hunts for tokens"
is "$(seen a)" "$decoys" "it finds the decoy"
is "$(of b)" "$nothing" "and no token; of the runtime nothing opens"
is "$(of d)" "$nothing" "nor after a reconnect"
