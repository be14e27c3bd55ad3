#!/bin/bash
# A policy's files section, from the user's file to the agent's open().
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
root=$(tiny_image)
for d in data store other home/agent; do install -d -m 777 "$root/$d"; done
for f in data/f store/f other/f; do echo "$f" >"$root/$f"; chmod 666 "$root/$f"; done
ln -s store "$root/link"
tar -C "$root" --owner=0 --group=0 -cf "$work/root.tar" .
gateway_up
run nacre image import tiny "$work/root.tar"
is "$code" 0 "an image is imported"

run nacre sandbox create --name plain --from tiny -- sleep 1000
is "$code" 0 "a sandbox without a policy starts"
out=$(nacre sandbox exec plain -- sh -c 'pwd; echo w >w && cat w; cat /other/f 2>&1; ls / 2>&1; head -n 1 /etc/passwd; echo t >/tmp/t && cat /tmp/t')
is "$out" "/home/agent
w
cat: can't open '/other/f': Permission denied
ls: can't open '/': Permission denied
root:x:0:0:root:/root:/bin/sh
t" "it has its work folder and the baseline"

cat >"$work/files.yaml" <<'Y'
version: 1
filesystem_policy:
  include_workdir: true
  read_only: [/data]
  read_write: [/link, /made]
Y
run nacre sandbox create --name listed --from tiny --policy "$work/files.yaml" -- sleep 1000
is "$code" 0 "one with a files section starts"
out=$(nacre sandbox exec listed -- sh -c 'cat /data/f; (echo no >>/data/f) 2>&1; echo more >>/store/f && cat /store/f; echo m >/made/m && cat /made/m; cat /other/f 2>&1; pwd; echo w >w')
is "$out" "data/f
sh: can't create /data/f: Permission denied
store/f
more
m
cat: can't open '/other/f': Permission denied
/home/agent" "it reads what is to read, writes what is to write, links followed, and nothing else"
run nacre sandbox stop listed
run nacre sandbox start listed
out=$(nacre sandbox exec listed -- sh -c 'tail -n 1 /store/f; cat /made/m; cat /other/f 2>&1')
is "$out" "more
m
cat: can't open '/other/f': Permission denied" "so after a stop and a start"

printf 'version: 1\nfilesystem_policy:\n  read_only: [/data]\n' >"$work/closed.yaml"
run nacre sandbox create --name closed --from tiny --policy "$work/closed.yaml" -- sleep 1000
out=$(nacre sandbox exec closed -- sh -c 'pwd; (echo w >w) 2>&1; cat /data/f')
is "$out" "/home/agent
sh: can't create w: Permission denied
data/f" "the work folder is in only when the policy says so"

printf 'version: 1\nfilesystem_policy:\n  include_workdir: true\n  read_only: [/nosuch]\n' >"$work/lacks.yaml"
run nacre sandbox create --name lacks --from tiny --policy "$work/lacks.yaml" -- sleep 1000
[ "$code" -ne 0 ]
ok $? "a path that the image lacks is a start that fails"
like "$out" "/nosuch" "and it is named"
printf 'landlock:\n  compatibility: best_effort\n' >>"$work/lacks.yaml"
run nacre sandbox create --name skips --from tiny --policy "$work/lacks.yaml" -- sleep 1000
is "$code" 0 "with best_effort it is skipped"
