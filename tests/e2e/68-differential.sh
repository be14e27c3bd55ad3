#!/bin/bash
# A command is the same in a sandbox as on the host: bytes, status and signal
# beside bwrap in the same root folder (tests/data/differential).
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
if ! command -v bwrap >/dev/null; then
	echo "1..0 # SKIP bwrap is missing: apt-get install bubblewrap"
	trap - EXIT
	rm -rf "$work"
	exit 0
fi
"$top/tools/demo-image"
mkdir "$work/root"
tar -C "$work/root" -xf "$top/build/demo/rootfs.tar"
cp "$NACRE_BIN/../e2e/told" "$work/root/usr/bin/told"
ln -s usr/bin/told "$work/root/told"
gateway_up
nacre image import demo "$work/root" >/dev/null
run nacre sandbox create --name d --from demo --memory 128 -- sleep 10000
is "$code" 0 "a sandbox starts from the folder that bwrap gets"

python3 "$top/tests/lib/differential.py" "$top/tests/data/differential/commands" d "$work/root" >"$work/told"
is $? 0 "all cases were run"
while IFS=$'\t' read -r same name; do
	case $same in
	same) ok 0 "$name" ;;
	differs) ok 1 "$name" ;;
	*) echo "# $name" ;;
	esac
done <"$work/told"
[ "$(grep -c '^same' "$work/told")" -ge 60 ]
ok $? "at least 60 commands are the same"
