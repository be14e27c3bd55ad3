#!/bin/bash
# Every test that tests/data/rows names is there: a function in its program's
# list, or a title in its script. SPDX-License-Identifier: Apache-2.0
set -u
cd "$(dirname "$0")/../.."
n=0

# has FILE NAME: code names a test twice at least, in its body and in its list.
has() {
	[ -f "$1" ] || return 1
	case $1 in
	*.c) [ "$(grep -cw -- "$2" "$1")" -ge 2 ] ;;
	*) grep -qF -- "$2" "$1" ;;
	esac
}

ok() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

has tests/tools/nosuch.sh x
ok $((1 - $?)) "a file that is not there has no test"
has tests/unit/sandbox/test_server.c no_such_test
ok $((1 - $?)) "nor has a program one that nobody wrote"
for rows in tests/data/rows/*; do
	while IFS=$'\t' read -r row file name; do
		case $row in '' | '#'*) continue ;; esac
		has "$file" "$name"
		ok $? "${rows##*/} $row: $file has '$name'"
	done <"$rows"
done
for row in 24 25 26 27 28 29 30 31 32 33 34 35 36 61 69 70 83 84 85 86 87 89 90 91 93 96; do
	grep -q "^$row	" tests/data/rows/regressions
	ok $? "regression $row has a test"
done
echo "1..$n"
