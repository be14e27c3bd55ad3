#!/bin/bash
# tools/mkcpio: the guest's archive is the same bytes for everyone.
set -u
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0

is() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

echo 1..6
gcc -std=gnu11 -D_GNU_SOURCE -o "$work/mkcpio" tools/mkcpio.c
is $? "the tool compiles"

mkdir "$work/a" "$work/b"
head -c 4321 /dev/urandom >"$work/a/nacre-guest"
cp "$work/a/nacre-guest" "$work/b"
touch -d '2001-02-03' "$work/b/nacre-guest"
chmod 0400 "$work/b/nacre-guest"
"$work/mkcpio" initramfs/files "$work/a" >"$work/a.cpio" &&
	(umask 077; cd / && "$work/mkcpio" "$OLDPWD/initramfs/files" "$work/b") >"$work/b.cpio" &&
	cmp "$work/a.cpio" "$work/b.cpio"
is $? "other times, modes and folders give the same bytes"

cpio -tv --numeric-uid-gid <"$work/a.cpio" 2>/dev/null |
	awk '{ print $1, $3, $4, $NF }' >"$work/list"
diff - "$work/list" <<'LIST'
drwxr-xr-x 0 0 dev
crw------- 0 0 dev/console
-rwxr-xr-x 0 0 init
dr-xr-xr-x 0 0 proc
drwx------ 0 0 root
drwxr-xr-x 0 0 run
-rwxr-xr-x 0 0 sandbox
dr-xr-xr-x 0 0 sys
LIST
is $? "cpio lists exactly what initramfs/files names, owned by root"

mkdir "$work/out"
(cd "$work/out" && cpio -i --quiet --no-absolute-filenames init sandbox <"$work/a.cpio")
cmp "$work/out/init" "$work/a/nacre-guest" && [ "$work/out/init" -ef "$work/out/sandbox" ]
is $? "/init and /sandbox are one file under two names"

echo 'file /init 0755 absent' >"$work/list"
! "$work/mkcpio" "$work/list" "$work/a" >/dev/null 2>"$work/err" && grep -q absent "$work/err"
is $? "a missing source is named"

echo 'link /sandbox /init' >"$work/list"
! "$work/mkcpio" "$work/list" "$work/a" >/dev/null 2>&1
is $? "a link without its file is refused"
