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

# --- many, as FILES says
files=${FILES:-5000}
mkdir "$work/many"
(cd "$work/many" && seq 1 20 | xargs mkdir && for d in *; do seq -f "$d/%g" 1 $((files / 20)) | xargs touch; done)
echo content >"$work/many/7/8"
nacre sandbox cp "$work/many" f:/tmp/many
is "$? $(nacre sandbox exec f -- sh -c 'find /tmp/many -type f | wc -l; cat /tmp/many/7/8' | tr -d ' ')" "0 $files
content" "$files small files go in"
nacre sandbox cp f:/tmp/many "$work/back"
is "$? $(cd "$work/back" && find . | sort | md5sum)" "0 $(cd "$work/many" && find . | sort | md5sum)" "and come back"
is "$(cat "$work/back/7/8")" content "with what is in them"
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

# --- a gigabyte of holes is not moved: what the client reads and writes, its
# children's included, is in its own account
account() { awk '/^[rw]char/ { n += $2 } END { print n }' "/proc/$BASHPID/io"; }
moved() (
	before=$(account)
	nacre sandbox cp "$@" >/dev/null || exit
	echo $(($(account) - before < 16 << 20))
)
truncate -s 1G "$work/large"
printf middle | dd of="$work/large" bs=1 seek=500000000 conv=notrunc
is "$(moved "$work/large" f:/tmp/large)" 1 "a sparse file of 1 GiB goes in, its holes as their lengths"
is "$(nacre sandbox exec f -- sh -c 'stat -c %s /tmp/large; [ $(stat -c %b /tmp/large) -lt 2000 ] && echo holes; tail -c +500000001 /tmp/large | head -c 6')" $'1073741824\nholes\nmiddle' "and is sparse there"
is "$(moved f:/tmp/large "$work/large2")" 1 "and comes back so"
is "$(stat -c %s "$work/large2") $([ "$(stat -c %b "$work/large2")" -lt 2000 ] && echo holes) $(tail -c +500000001 "$work/large2" | head -c 6)" "1073741824 holes middle" "sparse here too"
nacre sandbox exec f -- sh -c 'printf x >/tmp/ends; truncate -s 5000000 /tmp/ends; truncate -s 3000000 /tmp/nothing'
nacre sandbox cp f:/tmp/ends "$work/ends"
nacre sandbox cp f:/tmp/nothing "$work/nothing"
is "$(stat -c %s "$work/ends" "$work/nothing" | tr '\n' ' ')$(tr -d '\0' <"$work/ends")$(tr -d '\0' <"$work/nothing")" "5000000 3000000 x" "also when a file ends in a hole, or is one"

# --- operands as cp -r takes them
cp_in() { (cd "$work/ops" && nacre sandbox cp "$@") >/dev/null; }
trees='for top; do (cd "$top" && find . | sort | xargs); done'
mkdir -p "$work/ops/proj/sub"
echo one >"$work/ops/proj/one"
ln -s one "$work/ops/proj/link"
ln -s /nowhere "$work/ops/proj/sub/link"
all=". ./link ./one ./sub ./sub/link"
all=$all$'\n'$all$'\n'$all$'\n'$all
nacre sandbox exec f -- mkdir -p /tmp/ops/a /tmp/ops/b
cp_in ./proj/ f:/tmp/ops/a/ && cp_in proj/. f:/tmp/ops/b && (cd "$work/ops/proj" && nacre sandbox cp . f:/tmp/ops/c/ && cd sub && nacre sandbox cp .. f:/tmp/ops/d) >/dev/null
is "$? $(nacre sandbox exec f --workdir /tmp/ops -- sh -c "$trees" sh a/proj b c d)" "0 $all" "folders go in with a slash or a dot behind them, and as dots alone"
cp_in ./proj/ f:/tmp/ops/a/
is $? 0 "and once more, over what is there"

out_of() { (cd "$work/out" && nacre sandbox cp "$@"); }
mkdir "$work/out" "$work/out/there"
out_of f:/tmp/ops/a/proj/ . && out_of f:/tmp/ops/a/proj new/ && out_of f:/tmp/ops/a/proj/. there && out_of f:/tmp/ops/a/proj/../proj/. dots
is "$? $(cd "$work/out" && sh -c "$trees" sh proj new there dots)" "0 $all" "and come out so"
touch "$work/out/there/sub/kept"
rm "$work/out/there/link"
echo file >"$work/out/there/link"
out_of f:/tmp/ops/a/proj/ . && out_of f:/tmp/ops/a/proj/. there
is "$? $(readlink "$work/out/proj/link" "$work/out/there/link" | xargs) $(ls "$work/out/there/sub")" "0 one one kept
link" "a second copy takes the place of links and files, and leaves the rest"
rm "$work/out/there/link"
mkdir "$work/out/there/link"
run out_of f:/tmp/ops/a/proj/. there
is "$code" 125 "a link does not take the place of a folder"
mkdir "$work/elsewhere"
rm -r "$work/out/proj/sub"
ln -s "$work/elsewhere" "$work/out/proj/sub"
run out_of f:/tmp/ops/a/proj .
is "$code $(ls "$work/elsewhere")" "125 " "nor is anything written through a link that is there"
run out_of f:/tmp/ops/a/proj/one file/
is "$code $(ls "$work/out/file")" "2 " "a file does not become a folder"
run out_of f:/tmp/ops/a/proj/one no/such
like "$code $out" "^125 .*cannot open folder 'no/'" "a folder that is not there is named"

nacre sandbox delete f >/dev/null
