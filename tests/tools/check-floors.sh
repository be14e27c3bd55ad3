#!/bin/bash
# tools/check-floors against small trees with one fault each.
set -u
cd "$(dirname "$0")/../.."
checker=$PWD/tools/check-floors
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
n=0

# A tree in order: a pure room, one with hands, two programs.
fresh() {
	rm -rf "$tree/src"
	mkdir -p "$tree"/src/{base,json,store,gateway,keeper}
	cat >"$tree/src/FLOORS" <<-'FLOORS'
	base:
	json pure: base
	store:     base
	gateway:   base json store
	keeper:    base json
	apart: gateway keeper
	only sqlite3.h: store
	FLOORS
	for room in base json store gateway keeper; do
		echo '#include <stdint.h>' >"$tree/src/$room/$room.h"
	done
	echo '#include <sqlite3.h>' >"$tree/src/store/db.c"
	echo '#include "store/store.h"' >"$tree/src/gateway/main.c"
}

is() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

passes() {
	"$checker" "$tree" >"$tree/out"
	is $? "$1"
}

# The checker must fail and must name this.
names() {
	if "$checker" "$tree" >"$tree/out"; then
		is 1 "$2"
	else
		grep -qF -- "$1" "$tree/out"
		is $? "$2"
	fi
}

echo 1..10
fresh
passes "a tree in order passes"

fresh
echo '#include "gateway/gateway.h"' >"$tree/src/json/up.c"
names "src/json/up.c:1: json may not include gateway/gateway.h" "an upward lean is caught"

fresh
echo '#include "store/inner.h"' >"$tree/src/gateway/cut.c"
names "store/inner.h is not a door" "a short cut past a door is caught"

fresh
echo '#include "json/inner.h"' >"$tree/src/json/own.c"
passes "a room may open its own inner header"

fresh
echo '#include <sys/socket.h>' >"$tree/src/json/net.c"
names "pure json includes <sys/socket.h>" "a system header in a pure room is caught"

fresh
echo '#include <sqlite3.h>' >"$tree/src/gateway/sql.c"
names "<sqlite3.h> may not be seen by gateway" "a foreign header out of place is caught"

fresh
sed -i 's/^keeper:.*/keeper: base gateway/' "$tree/src/FLOORS"
names "keeper and gateway must stay apart" "a program that leans on a program is caught"

fresh
sed -i 's/^json pure.*/json pure: base store/' "$tree/src/FLOORS"
names "json leans on store, which is not below it" "a circle cannot be written"

fresh
sed -i 's/^gateway:.*/&\nleaf pure: base store/' "$tree/src/FLOORS"
names "pure leaf leans on impure store" "a pure room on an impure one is caught"

fresh
mkdir "$tree/src/attic"
echo >"$tree/src/attic/old.c"
names "attic is not in src/FLOORS" "a room that FLOORS does not list is caught"
