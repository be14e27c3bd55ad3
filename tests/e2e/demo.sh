#!/bin/bash
# The main job on real input: an image of Debian packages, a small task in a
# sandbox, three more at once, stop and start; then an agent that opens others
# inside its user's grant (demo-tree.sh), and the record of it all.
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/../.."
NACRE_BIN=$(cd "${NACRE_BIN:-build/release/bin}" && pwd)
export PATH="$NACRE_BIN:$PATH"
tools/demo-image
work=$(mktemp -d "${TMPDIR:-/tmp}/nacre-demo.XXXXXX")
export NACRE_STATE="$work/state"
begin=$(date +%s%N)

finish() {
	status=$?
	trap - EXIT
	if [ $status -ne 0 ]; then
		echo "demo: FAILED (the gateway's log follows)"
		tail -n 30 "$NACRE_STATE/gateway.log" 2>/dev/null || true
	fi
	nacre gateway stop --sandboxes >/dev/null 2>&1 || true
	chmod -R u+w "$work" 2>/dev/null || true
	rm -rf "$work"
	exit $status
}
trap finish EXIT
trap 'exit 1' INT TERM

# As one would type it.
typed() {
	local word
	printf '\n$'
	for word; do
		[[ $word =~ ^[A-Za-z0-9_./:=@,+-]+$ ]] || word="'${word//\'/\'\\\'\'}'"
		printf ' %s' "$word"
	done
	echo
}
# Print what is run, then run it.
show() {
	typed "$@"
	"$@"
}
title() { printf '\n== %s\n' "$1"; }

title "a gateway of its own"
show nacre gateway start
# The image has the granted program: nacre itself, which is static.
install -D "$NACRE_BIN/nacre" "$work/image/usr/local/bin/nacre"
cp build/demo/rootfs.tar "$work/rootfs.tar"
tar -C "$work/image" --owner=0 --group=0 -rf "$work/rootfs.tar" ./usr/local/bin/nacre
show nacre image import debian "$work/rootfs.tar"

title "a sandbox, and a task in it"
show nacre sandbox create --name work --from debian --memory 256
mkdir -p "$work/project"
cat >"$work/project/price.py" <<'P'
def total(prices, discount=0):
    """Sum of prices, less a discount in percent."""
    if not 0 <= discount <= 100:
        raise ValueError("discount is 0 to 100")
    return round(sum(prices) * (100 - discount) / 100, 2)
P
cat >"$work/project/test_price.py" <<'P'
import unittest
from price import total

class Total(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(total([1.5, 2.5]), 4)
    def test_discount(self):
        self.assertEqual(total([10, 10], 25), 15)
    def test_refuses_more_than_all(self):
        self.assertRaises(ValueError, total, [1], 101)

if __name__ == "__main__":
    unittest.main()
P
cat >"$work/project/task.sh" <<'P'
set -e
cd /tmp/project
git init -q . && git add .
git -c user.name=agent -c user.email=agent@example.invalid commit -qm "a price list"
git clone -q /tmp/project /tmp/clone && cd /tmp/clone
git --no-pager log --oneline
python3 -m unittest -v 2>/tmp/report.txt && echo "tests pass"
P
cat >"$work/project/facts.sh" <<'P'
id
echo "kernel      $(uname -r)"
for n in pid mnt net ipc uts; do echo "namespace   $(readlink /proc/self/ns/$n)"; done
echo "interfaces  $(sed -n 's/^ *\([a-z0-9]*\):.*/\1/p' /proc/net/dev)"
grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status
echo "outside     $(ls / 2>&1)"
echo "devices     $(ls /dev | tr '\n' ' ')"
P
show nacre sandbox cp "$work/project" work:/tmp/project
show nacre sandbox exec work -- sh /tmp/project/task.sh
show nacre sandbox cp work:/tmp/report.txt "$work/report.txt"
cat "$work/report.txt"
grep -q '^OK$' "$work/report.txt"

title "what it runs as, and what it does not have"
show nacre sandbox exec work -- sh /tmp/project/facts.sh
show nacre sandbox get work

title "three more from the template, at once"
pids=
for n in one two three; do
	nacre sandbox create --name "$n" --from debian --memory 256 -- sleep 1000 &
	pids="$pids $!"
done
for p in $pids; do wait "$p"; done
show nacre sandbox list

title "stop and start; files are kept"
show nacre sandbox exec work -- sh -c 'echo kept >/tmp/note'
show nacre sandbox stop work
show nacre sandbox start work
show nacre sandbox exec work -- cat /tmp/note

show nacre sandbox delete work one two three
show nacre audit list

. tests/e2e/demo-tree.sh

title "the end"
show nacre gateway stop
end=$(date +%s%N)
echo
echo "demo: $(((end - begin) / 1000000)) ms"
echo "demo: ok"
