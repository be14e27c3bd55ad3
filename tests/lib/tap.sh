# Sourced after e2e.sh: programs of others that speak TAP. SPDX: Apache-2.0
# shellcheck shell=bash

# tap TITLE COMMAND...: all it says becomes one test, with its failures below.
# It has $patience seconds, or 300.
tap() {
	local title=$1
	shift
	timeout -k 5 "${patience-300}" "$@" >"$work/tap" 2>&1
	ok $? "$title: $(grep -c '^ok' "$work/tap") held"
	grep -v -e '^ok' -e '^1\.\.' "$work/tap" | sed 's/^/#   /' | tail -n 40
}
# each PREFIX COMMAND...: the same, test by test.
each() {
	local prefix=$1 line
	shift
	timeout -k 5 900 "$@" >"$work/tap" 2>&1
	code=$?
	while read -r line; do
		case $line in
		'ok '*) ok 0 "$prefix: ${line#ok * - }" ;;
		'not ok '*) ok 1 "$prefix: ${line#not ok * - }" ;;
		'1..'*) ;;
		*) printf '#   %s\n' "${line#\# }" ;;
		esac
	done <"$work/tap"
	is "$code $(grep -c '^1\.\.' "$work/tap")" "0 1" "$prefix: it came to its end"
}
# attack NAME [figures]: tests/lib/NAME.py against this gateway, test by test as
# they come; or how long the others waited meanwhile, and nothing else.
attack() {
	local result title came=1 pid url port bad good
	url=$(nacre gateway status -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["mcp"])')
	port=${url##*:} port=${port%%/*}
	bad=$(nacre token create bad --expires 1h 2>/dev/null | tail -n 1)
	good=$(nacre token create good --expires 1h 2>/dev/null | tail -n 1)
	pid=$(gateway_pid)
	set -- /usr/bin/python3 "$top/tests/lib/$1.py" "$NACRE_STATE/gateway.sock" "$port" "$pid" "$bad" "$good" "${@:2}"
	if [ "${!#}" = figures ]; then
		"$@"
		exit
	fi
	while IFS=$'\t' read -r result title; do
		case $result in
		ok) ok 0 "$title" ;;
		'not ok') ok 1 "$title" ;;
		end) came=0 ;;
		'#') printf '#   %s\n' "$title" ;;
		*) printf '#   %s\n' "$result" ;;
		esac
	done < <("$@" 2>&1)
	ok $came "the attack came to its end"
	is "$(gateway_pid)" "$pid" "the gateway is still the same process"
	kill -0 "$pid"
	ok $? "and runs"
}
