#!/bin/bash
# What runs between clone and exec leans on nothing: no library function that
# may take a lock or memory, no data that another thread could hold. Looked at
# in the object that ships. SPDX-License-Identifier: Apache-2.0
set -u
objects=${NACRE_BIN:-build/release/bin}/../obj/guest/src
echo 1..2
if [ ! -f "$objects/sandbox/child.o" ] || [ ! -f "$objects/confine/agent.o" ]; then
	echo "ok 1 # SKIP make all comes first"
	echo "ok 2 # SKIP make all comes first"
	exit 0
fi
# leans OBJECT: SECTION SYMBOL of each thing that its functions refer to.
leans() {
	objdump -r "$1" | awk '/^RELOCATION/ { s = $4 } /^[0-9a-f]+ R_/ { print s, $3 }' |
		sed -nE 's/^\[\.text\.(unlikely\.)?([a-z_]+)[^ ]* (\.text\.)?([.a-zA-Z_0-9]+).*/\2 \4/p' | sort -u
}
# child_start is the parent's; all else in that file is the child's.
own=$(leans "$objects/sandbox/child.o" | grep -v '^child_start ')
far=$(grep -vxFf <(nm "$objects/sandbox/child.o" | awk '$2 ~ /^[tT]$/ { print $3 }' | sed 'a confine_agent_apply') <(cut -d ' ' -f 2 <<<"$own"))
[ -n "$own" ] && [ -z "$far" ]
status=$?
[ $status = 0 ] || sed 's/^/# leans on: /' <<<"$far"
[ $status = 0 ] && echo "ok 1 - nothing but bare system calls between clone and exec" ||
	echo "not ok 1 - nothing but bare system calls between clone and exec"
far=$(leans "$objects/confine/agent.o" | grep '^confine_agent_apply ' | grep -vE ' \.rodata\.filter_agent$')
[ -z "$far" ] && echo "ok 2 - also where the jail closes" || {
	echo "not ok 2 - also where the jail closes"
	sed 's/^/# leans on: /' <<<"$far"
}
