#!/bin/bash
# Many execs in one sandbox leave nothing behind: no memory, descriptor or
# process in the guest, the keeper or the gateway. EXECS says how many (1000).
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
execs=${EXECS:-1000}
warm=200 # caches, pools and the page cache fill first
gateway_up
nacre image import tiny "$(tiny_image)" >/dev/null
nacre sandbox create --name a --from tiny -- sleep 100000 >/dev/null
gateway=$(gateway_pid)
keeper=$(get a keeper_pid)

# run_execs N: half of them with input, each checked; prints how many were wrong.
run_execs() {
	seq "$1" | xargs -P 2 -I{} sh -c '
		if [ $(({} % 2)) = 0 ]; then
			[ "$(echo {} | nacre sandbox exec a -- cat)" = {} ]
		else
			nacre sandbox exec a -- sh -c "exit 3" </dev/null
			[ $? = 3 ]
		fi || echo wrong' | wc -l
}
# The process's own resident memory in KiB, and its descriptors; where those
# are not ours to see, the size of their table.
memory() { awk '/^RssAnon:/ { print $2 }' "/proc/$1/status"; }
descriptors() {
	if ls "/proc/$1/fd" >/dev/null 2>&1; then
		ls "/proc/$1/fd" | wc -l
	else
		awk '/^FDSize:/ { print $2 }' "/proc/$1/status"
	fi
}
processes() { wc -w <"/proc/$1/task/$1/children"; }
# Of the whole guest, which all see: open files, tasks; and free memory.
guest='read files x </proc/sys/fs/file-nr
	read a b c tasks x </proc/loadavg
	echo $files ${tasks#*/} $(sed -n "s/MemAvailable: *\([0-9]*\).*/\1/p" /proc/meminfo) $(sed -n "s/VmRSS:[^0-9]*\([0-9]*\).*/\1/p" /proc/1/status)'
# The least of some looks: a look may come while something else goes on.
look_at_guest() {
	for _ in 1 2 3 4 5; do nacre sandbox exec a -- sh -c "$guest" </dev/null; done |
		awk '{ for (i = 1; i <= 4; i++) if (NR == 1 || (i == 3 ? $i > m[i] : $i < m[i])) m[i] = $i }
			END { print m[1], m[2], m[3], m[4] }'
}
look() {
	read -r files tasks free init < <(look_at_guest)
	values=("$(memory "$gateway")" "$(descriptors "$gateway")" "$(processes "$gateway")"
		"$(memory "$keeper")" "$(descriptors "$keeper")" "$(processes "$keeper")"
		"$files" "$tasks" "$((-free))" "$init")
}
names=("the gateway's memory" "its descriptors" "its children"
	"the keeper's memory" "its descriptors" "its children"
	"the guest's open files" "its tasks" "its memory" "the sandbox program's memory")
# KiB, or a number of things; far below one for each exec. The gateway's has
# room for the database's page cache, which ends at 2000.
most=(3072 4 1 1024 4 0 16 4 3072 256)

is "$(run_execs $warm)" 0 "$warm execs to begin with answer right"
look
before=("${values[@]}")
is "$(run_execs "$execs")" 0 "$execs execs answer right"
look
for i in "${!names[@]}"; do
	grew=$((values[i] - before[i]))
	[ "$grew" -le "${most[i]}" ]
	ok $? "${names[i]} did not grow by more than ${most[i]} ($grew)"
done
nacre sandbox delete a >/dev/null
