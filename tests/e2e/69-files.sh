#!/bin/bash
# Files of a sandbox without a shell in it: names, removal, holes, many.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
exec 2>/dev/null # progress
gateway_up
nacre image import tiny "$(tiny_image)" >/dev/null
nacre sandbox create --name f --from tiny -- sleep 100000 >/dev/null

# --- list, stat, remove
nacre sandbox exec f -- sh -c 'cd /tmp; mkdir -p d/e; echo 12345 >d/f; chmod 640 d/f; ln -s /etc/passwd d/link; ln -s / d/root; mkfifo d/pipe; echo x >"d/new
line"; echo x >d/e/deep'
is "$(nacre sandbox ls f:/tmp/d | sort)" $'file   0640            6  f\nfile   0644            2  new\\x0aline\nfolder 0755            0  e\nlink   0777            0  link -> /etc/passwd\nlink   0777            0  root -> /\nother  0644            0  pipe' "ls shows what is in a folder"
like "$(nacre sandbox ls -d f:/tmp/d)" '^folder 0755 +0  \.$' "ls -d a folder itself"
like "$(nacre sandbox ls f:/tmp/d/f)" '^file   0640            6  \.$' "and a file"
run nacre sandbox ls f:/nosuch
is "$code" 4 "what is not there is not found"
run nacre sandbox rm f:/tmp/d
is "$code" 1 "rm of a folder that is not empty is refused"
like "$out" "not empty" "and says why"
run nacre sandbox rm f:/etc/passwd
is "$code" 1 "what is not the agent's is not removed"
run nacre sandbox rm -r f:/
is "$code" 2 "the root is not removed"
nacre sandbox rm f:/tmp/d/link
nacre sandbox rm -r f:/tmp/d
is "$? $(nacre sandbox exec f -- sh -c 'ls -a /tmp; test -e /etc/passwd && echo there')" $'0 .\n..\nthere' "rm -r removes a folder, links in it and nothing behind them"

# --- many
mkdir "$work/many"
(cd "$work/many" && seq 1 20 | xargs mkdir && for d in *; do seq -f "$d/%g" 1 25 | xargs touch; done)
nacre sandbox cp "$work/many" f:/tmp/many
is "$(nacre sandbox exec f -- sh -c 'find /tmp/many -type f | wc -l' | tr -d ' ')" 500 "500 small files go in"
nacre sandbox cp f:/tmp/many "$work/back"
is "$(cd "$work/back" && find . | sort | md5sum)" "$(cd "$work/many" && find . | sort | md5sum)" "and come back"
nacre sandbox exec f -- sh -c 'cd /tmp/many; p=.; i=0; while [ $i -lt 50 ]; do p=$p/x; mkdir $p; i=$((i+1)); done'
nacre sandbox rm -r f:/tmp/many
is "$? $(nacre sandbox exec f -- ls /tmp)" "0 " "and are removed, also what is deep"

# --- holes
truncate -s 6M "$work/holes"
printf end | dd of="$work/holes" bs=1 seek=3000000 conv=notrunc 2>/dev/null
nacre sandbox cp "$work/holes" f:/tmp/holes
is "$(nacre sandbox exec f -- sh -c 'stat -c %s /tmp/holes; [ $(stat -c %b /tmp/holes) -lt 200 ] && echo holes; tail -c +3000001 /tmp/holes | head -c 3')" $'6291456\nholes\nend' "holes stay holes"
nacre sandbox cp f:/tmp/holes "$work/holes2"
cmp -s "$work/holes" "$work/holes2"
is $? 0 "and come back as zeros"

nacre sandbox delete f >/dev/null
