#!/bin/bash
# tools/deps-fetch and tools/kernel with an archive: a wrong hash or a missing
# file is named and stops the build.
set -u
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache NACRE_DEPS=$work/archive
mkdir -p "$NACRE_DEPS"/{sources,kernel}
n=0

# Run a command that must fail and say this.
fails() {
	local words=$1 title=$2
	shift 2
	n=$((n + 1))
	if ! "$@" >"$work/out" 2>&1 && grep -qF -- "$words" "$work/out"; then
		echo "ok $n - $title"
	else
		echo "not ok $n - $title"
		sed 's/^/# /' "$work/out"
	fi
}

echo 1..5
fails "'musl_1.2.5.orig.tar.gz' is not in NACRE_DEPS" \
	"a source that is missing is named" tools/deps-fetch

echo changed >"$NACRE_DEPS/sources/musl_1.2.5.orig.tar.gz"
fails "wrong hash of 'musl_1.2.5.orig.tar.gz'" \
	"a source with another hash is refused by name" tools/deps-fetch

fails "no linux-source-6.12 in NACRE_DEPS" \
	"an archive without a kernel is named" tools/kernel --fetch

echo changed >"$NACRE_DEPS/kernel/linux-source-6.12_6.12.1-1_all.deb"
: >"$NACRE_DEPS/SHA256SUMS"
fails "wrong hash of 'kernel/linux-source-6.12_6.12.1-1_all.deb'" \
	"a kernel source that the archive's list does not hold is refused" \
	tools/kernel --fetch

mkdir "$work/bin"
for tool in bash cat dirname uname cut sha256sum grep mkdir; do
	ln -s "$(command -v $tool)" "$work/bin/$tool"
done
fails "missing tool 'gcc'" "a missing tool is named" \
	env PATH="$work/bin" tools/deps
