# Sourced by the end-to-end tests: TAP, a gateway of one's own on a temporary
# state folder, and a clean end whatever happens. SPDX: Apache-2.0
# shellcheck shell=bash
set -u
NACRE_BIN=${NACRE_BIN:-build/release/bin}
NACRE_GUEST=${NACRE_GUEST:-build/release/guest}
NACRE_BIN=$(cd "$NACRE_BIN" && pwd)
NACRE_GUEST=$(cd "$NACRE_GUEST" && pwd)
# Debian's programs before others of their name, say a python3 of pyenv: a tenth
# of the time to start, and the packages that we installed.
export NACRE_BIN NACRE_GUEST PATH="$NACRE_BIN:/usr/sbin:/usr/bin:/sbin:/bin:$PATH"
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/nacre-test.XXXXXX")
export NACRE_STATE="$work/state"
tests=0 failures=0

# ok STATUS TITLE: one test.
ok() {
	tests=$((tests + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tests - $2"
	else
		failures=$((failures + 1))
		echo "not ok $tests - $2"
	fi
}
# is GOT WANTED TITLE
is() {
	if [ "$1" = "$2" ]; then
		ok 0 "$3"
	else
		ok 1 "$3"
		printf '#   got:    %s\n#   wanted: %s\n' "${1//$'\n'/$'\n#   '}" "${2//$'\n'/$'\n#   '}"
	fi
}
# like GOT REGEX TITLE
like() {
	if [[ $1 =~ $2 ]]; then
		ok 0 "$3"
	else
		ok 1 "$3"
		printf '#   got:  %s\n#   like: %s\n' "${1//$'\n'/$'\n#   '}" "$2"
	fi
}
# run COMMAND...: sets $out (both streams) and $code.
run() {
	out=$("$@" 2>&1 </dev/null)
	code=$?
}

# until_is WANTED COMMAND...: ask again until it prints that, 20 s at most. The
# processor is left to those whom it waits for.
until_is() {
	local want=$1 end=$((SECONDS + 20))
	shift
	while [ $SECONDS -lt $end ]; do
		[ "$("$@" 2>/dev/null)" = "$want" ] && return 0
		sleep 0.05
	done
	return 1
}
# get NAME FIELD: one field of sandbox get -o json.
get() { nacre sandbox get "$1" -o json 2>/dev/null | python3 -c 'import json,sys; print(json.loads(sys.stdin.read() or "{}").get(sys.argv[1],""))' "$2"; }

# Processes that run with our state folder or below it in their arguments.
ours() {
	local p args
	for p in /proc/[0-9]*; do
		[ "${p#/proc/}" = $$ ] && continue
		{ mapfile -d '' -t args <"$p/cmdline"; } 2>/dev/null || continue
		case "${args[*]} " in
		*"$work/"*nacre-keeper* | *nacre-keeper*"$work/"* | *nacre-gateway*"$work/"* | *nacre-image*"$work/"*) echo "${p#/proc/}" ;;
		esac
	done
}
gateway_pid() { cat "$NACRE_STATE/gateway.pid" 2>/dev/null; }
# Nothing is made ready that the test does not ask for.
gateway_up() {
	echo 'prewarm: false' >"$work/settings.yaml"
	nacre gateway start --config "$work/settings.yaml" >/dev/null || { cat "$NACRE_STATE/gateway.log" >&2; exit 1; }
}

# A test that leaves a process fails.
finish() {
	local status=$? left p
	trap - EXIT
	nacre gateway stop --sandboxes >/dev/null 2>&1
	left=$(ours)
	if [ -n "$left" ]; then
		ok 1 "no process is left"
		for p in $left; do
			echo "#   left: $p $(tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null)"
			kill -9 "$p" 2>/dev/null
		done
	elif [ "$tests" -gt 0 ]; then
		ok 0 "no process is left"
	fi
	if [ "$failures" -gt 0 ] && [ -f "$NACRE_STATE/gateway.log" ]; then
		sed 's/^/# gateway: /' "$NACRE_STATE/gateway.log" | tail -n 40
	fi
	chmod -R u+w "$work" 2>/dev/null
	rm -rf "$work"
	echo "1..$tests"
	[ "$failures" -eq 0 ] && [ "$status" -eq 0 ]
	exit
}
trap finish EXIT
trap 'exit 1' INT TERM

# The smallest image: busybox (static, from Debian) with its names.
tiny_image() {
	local root=$work/tiny
	mkdir -p "$root"/{bin,etc,tmp,dev,proc,sys,home/agent}
	chmod 1777 "$root/tmp"
	cp "$(command -v busybox)" "$root/bin/busybox"
	# One process, not one for each of its 270 names.
	"$root/bin/busybox" --list | perl -ne 'BEGIN { chdir shift } chomp; symlink "busybox", $_' "$root/bin"
	printf 'root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1000:agent:/home/agent:/bin/sh\n' >"$root/etc/passwd"
	printf 'root:x:0:\nagent:x:1000:\n' >"$root/etc/group"
	echo "$root"
}
