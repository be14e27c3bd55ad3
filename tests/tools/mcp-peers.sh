#!/bin/bash
# The MCP room behind HTTP/1.1 (tests/e2e/host/mcp_fixture.c) against peers that
# others wrote: the matrix by node's client, the official SDKs of both lines, the
# official conformance suite in both requirement sets, with and without the tools
# that it wants of a server. What we do not serve stands in tests/data/mcp/baseline.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/npm.sh
data=tests/data/mcp
build=$(dirname "$(dirname "${NACRE_BIN:-build/release/bin}")")
npm=$(realpath -m "$build/npm/mcp")
program=$build/asan/e2e/mcp_fixture
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0
failed=0

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}

tell() { # STATUS TITLE LOG
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		failed=$((failed + 1))
		echo "not ok $count - $2"
		tail -n 60 "$3" | sed 's/^/# /'
	fi
}

fetch() {
	local suite name dist

	npm_fetch "$data/npm" "$npm"
	case $? in
	1) skip "$why" ;;
	2) exit 1 ;;
	esac
	# The suite imports a function that node 20 lacks and never calls it here.
	for suite in @modelcontextprotocol/conformance conformance-next; do
		dist=$npm/node_modules/$suite/dist
		[ ! -e "$dist/suite.mjs" ] || continue
		name=$(grep -oE 'globSync as \w+' "$dist/index.js" | awk 'NR == 1 { print $3 }') &&
			sed -E "s/,globSync as $name//" "$dist/index.js" >"$dist/part.mjs" &&
			echo "function $name() { return []; }" >>"$dist/part.mjs" &&
			mv "$dist/part.mjs" "$dist/suite.mjs" || exit 1
	done
}

# Start a server of that kind, run the rest with $url set, end it by its input.
with_server() {
	local port status=0 pid

	coproc SERVER { exec "$program" "$1" 2>"$work/server"; }
	pid=$SERVER_PID
	read -r port <&"${SERVER[0]}"
	url=http://localhost:$port/mcp
	shift
	"$@"
	exec {SERVER[1]}>&-
	wait "$pid" || status=$?
	tell $status "$* leaves the server whole" "$work/server"
}

# A program that speaks TAP becomes one line, with its failures below.
tap() { # TITLE COMMAND...
	local title=$1 status=0

	shift
	timeout -k 5 120 "$@" >"$work/log" 2>&1 || status=$?
	grep -v '^ok' "$work/log" >"$work/bad"
	tell $status "$title: $(grep -c '^ok' "$work/log") held" "$work/bad"
}

suite() { # KIND SUITE BASELINE ARGUMENT...
	local kind=$1 suite=$2 baseline=$3 status=0

	shift 3
	(cd "$work" && timeout -k 5 120 node "$npm/node_modules/$suite/dist/suite.mjs" server \
		--url "$url" --expected-failures "$baseline" -o "$work/out" "$@") \
		>"$work/log" 2>&1 || status=$?
	tell $status "conformance $kind ${baseline##*/}: no unexpected failure" "$work/log"
}

suites() { # KIND
	local base

	base=$(realpath "$data/baseline")/$1
	suite "$1" @modelcontextprotocol/conformance "$base-0.1.16.yml"
	suite "$1" conformance-next "$base-0.2-2025-11-25.yml" --requirements 2025-11-25
	suite "$1" conformance-next "$base-0.2-2026-07-28.yml" --requirements 2026-07-28
}

peers() {
	tap 'matrix and time' node tests/e2e/mcp/matrix.mjs "$url" --time
	for mode in v1 legacy auto pin; do
		tap "official SDK, $mode" node tests/e2e/mcp/sdk.mjs "$url" "$npm" $mode
	done
}

fetch
# Others run the same clients: tell where they are.
if [ "${1-}" = fetch ]; then
	echo "$npm"
	exit
fi
env -u MAKEFLAGS -u MAKELEVEL make --no-print-directory -s BUILD="$build" \
	MODE=asan "$program" >&2 || exit 1
with_server fixtures peers
with_server fixtures suites fixtures
with_server product suites product
echo "1..$count"
[ $failed = 0 ]
