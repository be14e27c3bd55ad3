#!/bin/bash
# bash in a sandbox, as one who sits at a terminal has it: `connect` in a tmux
# on the host, keys typed, the screen read. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
if ! command -v tmux >/dev/null; then
	echo "1..0 # SKIP tmux is missing: apt-get install tmux"
	trap - EXIT
	rm -rf "$work"
	exit 0
fi
root=$(tiny_image)
# The host's own bash with what it links.
cp /bin/bash "$root/bin/bash"
for file in $(ldd /bin/bash | sed -nE 's/^[^/]*(\/[^ ]*) .*/\1/p'); do
	install -D "$file" "$root$file"
done
gateway_up
nacre image import tiny "$root" >/dev/null
nacre sandbox create --name t --from tiny -- sleep 100000 >/dev/null

server=first
screen() { tmux -S "$work/$server" "$@"; }
trap 'screen kill-server 2>/dev/null; finish' EXIT
# type TEXT: with Enter behind it. keys: as tmux names them.
type_line() { screen send-keys -l "$1" && screen send-keys Enter; }
keys() { screen send-keys "$@"; }
# shows LINE: until a whole line of the screen is that, 60 s at most
shows() {
	local end=$((SECONDS + 60))
	while [ $SECONDS -lt $end ] && screen has-session 2>/dev/null; do
		screen capture-pane -p | sed 's/ *$//' | grep -qxF -- "$1" && return 0
	done
	screen capture-pane -p | sed '/^ *$/d; s/^/# /' >&2
	return 1
}
start() {
	screen -f /dev/null new-session -d -x 100 -y 30 "nacre sandbox connect t; echo left with \$?; exec cat"
	type_line 'PS1=; set +o history; bind "set enable-bracketed-paste off"; clear; echo here $BASH'
}

start
shows 'here /bin/bash'
ok $? "connect gives bash"
type_line 'stty size'
shows '30 100'
ok $? "its terminal is as large as ours"
screen resize-window -x 120 -y 40
type_line 'until [ "$(stty size)" = "40 120" ]; do sleep 0.1; done; echo now $(stty size), $LINES $COLUMNS'
type_line 'echo then $LINES $COLUMNS'
shows 'then 40 120'
ok $? "also when ours changes: bash is told"

# --- Ctrl-C, and what it does not reach
type_line 'clear; sh -c "echo began; exec sleep 1000"'
shows began
keys C-c
type_line 'echo code $?'
shows 'code 130'
ok $? "Ctrl-C ends what runs in front"
type_line 'clear; sleep 2000 & sh -c "echo again; exec sleep 1000"'
shows again
keys C-c
type_line 'clear; jobs -r | grep -c 2000; kill %1; wait; echo all ended'
shows 'all ended'
ok $? "and lets what runs behind live"

# --- job control
type_line 'clear; sh -c "echo third; exec sleep 1000"'
shows third
keys C-z
type_line 'clear; jobs -s | grep -c third; bg; jobs -r | grep -c third; echo it runs on'
shows 'it runs on'
is "$(screen capture-pane -p | grep -cx '1 *')" 2 "Ctrl-Z stops a job, bg lets it go on"
type_line 'clear; echo front; fg'
shows front
shows 'sh -c "echo third; exec sleep 1000"'
keys C-c
type_line 'echo end $?'
shows 'end 130'
ok $? "fg brings it back to where Ctrl-C reaches it"
type_line 'clear; echo be"gin"; read -r line; echo "<$line>"'
shows begin
keys x y BSpace z Enter
shows '<xz>'
ok $? "a line can be edited while it is read"
type_line 'clear; echo be"gin"; cat; echo cat en"d"ed'
shows begin
keys -l 'to cat'
keys Enter C-d
shows 'cat ended'
ok $? "Ctrl-D is the end of input"

# --- the keys that leave; the end of the shell
type_line 'clear; echo $$ >/tmp/shell; echo written'
shows written
keys C-p C-q
shows 'nacre: left; the shell was ended'
ok $? "Ctrl-P Ctrl-Q leaves"
# shellcheck disable=SC2016
until_is gone nacre sandbox exec t -- sh -c 'kill -0 "$(cat /tmp/shell)" 2>/dev/null || echo gone'
ok $? "and the shell ends"
screen kill-server
server=second
start
shows 'here /bin/bash'
type_line 'exit 7'
shows 'left with 7'
ok $? "the shell's own end is connect's"
screen kill-server

# --- more than a terminal holds, for one who reads it late
is "$(seq 1 40000 | timeout 60 nacre sandbox exec -t t -- sh -c 'stty -echo; sleep 2; echo $(wc -l) lines' | grep -o '40000 lines')" "40000 lines" "all input of a terminal comes, however late it is read"
nacre sandbox delete t >/dev/null
