#!/bin/bash
# TUTORIAL.md, block by block, and what it says is printed.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
# A house that looks like this one, with the programs under test.
house=$work/house
mkdir -p "$house/build/release" "$work/out"
ln -s "$top/tools" "$top/proto" "$house/"
mkdir -p "$top/build/demo"
ln -s "$top/build/demo" "$house/build/demo"
ln -s "$NACRE_BIN" "$house/build/release/bin"
python3 "$top/tests/lib/tutorial.py" script "$top/TUTORIAL.md" >"$work/script"
(cd "$house" && OUT=$work/out timeout 300 bash "$work/script" </dev/null)
is $? 0 "every block ends well"
NACRE_STATE=$house/build/tutorial/state
export NACRE_STATE
while IFS=$'\t' read -r result title; do
	case $result in
	ok) ok 0 "$title" ;;
	'not ok') ok 1 "$title" ;;
	'#') printf '#   %s\n' "$title" ;;
	esac
done < <(python3 "$top/tests/lib/tutorial.py" check "$top/TUTORIAL.md" "$work/out")
