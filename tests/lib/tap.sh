# Sourced after e2e.sh: programs of others that speak TAP. SPDX: Apache-2.0
# shellcheck shell=bash

# tap TITLE COMMAND...: all it says becomes one test, with its failures below.
# It has $patience seconds, or 300.
tap() {
	local title=$1
	shift
	timeout -k 5 "${patience-300}" "$@" >"$work/tap" 2>&1
	ok $? "$title: $(grep -c '^ok' "$work/tap") held"
	grep -v -e '^ok' -e '^1\.\.' "$work/tap" | sed 's/^/#   /' | head -n 100
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
# victim NAME...: "SOCKET PORT PID", then a new token for each name.
victim() {
	local url name
	url=$(nacre gateway status -o json | python3 -c 'import json,sys; print(json.load(sys.stdin)["mcp"])')
	url=${url##*:}
	echo "$NACRE_STATE/gateway.sock" "${url%%/*}" "$(gateway_pid)"
	for name; do
		nacre token create "$name" --expires 1h 2>/dev/null | tail -n 1
	done
}
# attack NAME [figures]: tests/lib/NAME.py against this gateway, test by test as
# they come; with figures, how long the others waited meanwhile, and how long
# when another gateway of this machine is what it attacks. The script has
# begin_attacked, which makes such a gateway ready.
attack() {
	local result title came=1 pid here twin
	mapfile -t here < <(victim bad good | tr ' ' '\n')
	pid=${here[2]}
	if [ "${2-}" = figures ]; then
		mkdir "$work/twin"
		NACRE_STATE=$work/twin begin_attacked
		mapfile -t twin < <(NACRE_STATE=$work/twin victim bad good | tr ' ' '\n')
		ATTACKED=$work/twin OTHERS="${here[0]} ${here[1]} ${here[4]}" /usr/bin/python3 "$top/tests/lib/$1.py" "${twin[@]}" figures >"$work/elsewhere"
		NACRE_STATE=$work/twin nacre gateway stop --sandboxes >/dev/null
		/usr/bin/python3 "$top/tests/lib/$1.py" "${here[@]}" figures >"$work/here"
		/usr/bin/python3 "$top/tests/bench/attack.py" "$1" "$work/here" "$work/elsewhere"
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
	done < <(/usr/bin/python3 "$top/tests/lib/$1.py" "${here[@]}" 2>&1)
	ok $came "the attack came to its end"
	is "$(gateway_pid)" "$pid" "the gateway is still the same process"
	kill -0 "$pid"
	ok $? "and runs"
}
