# Shared by the scripts in tools/: where things are, and how to say so.
# Source it from bash with the working folder anywhere.

set -euo pipefail
export LC_ALL=C
unset CDPATH CPPFLAGS LDFLAGS
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools=$root/tools
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nacre
archive=${NACRE_DEPS:-}
kernel_package=linux-source-6.12

say() {
	printf '  %-7s %s\n' "$1" "$2"
}

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

need() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null ||
			die "missing tool '$tool': run tools/host-setup build"
	done
}

sha256() {
	sha256sum -- "$1" | cut -d' ' -f1
}

# The lines of tools/pins: "hash file package".
pins() {
	grep -v '^#' "$tools/pins"
}

# Hash of what is read from standard input, short enough for a file name.
key() {
	sha256sum | cut -c1-24
}

# Run a command with the named lock held, so that two makes (of one tree or
# of two clones) build a thing once. Locks live beside what they guard.
locked() {
	local lock=$1
	shift
	mkdir -p "$(dirname "$lock")"
	(
		if ! flock -n 9; then
			say WAIT "for another step, or build, that holds ${lock#"$root"/}"
			flock 9
		fi
		"$@"
	) 9>"$lock"
}

# Move a finished folder to its final name; the first of two builders wins.
publish() {
	mkdir -p "$(dirname "$2")"
	mv -T "$1" "$2" 2>/dev/null || { [ -d "$2" ] && rm -rf "$1"; }
}

# Copy this tree without what was built: FOLDER.
copy_tree() {
	rm -rf "$1"
	mkdir -p "$1"
	if git -C "$root" rev-parse --git-dir >/dev/null 2>&1; then
		git -C "$root" ls-files -z -co --exclude-standard
	else
		(cd "$root" && find . -path './build*' -prune -o -type f -print0)
	fi | tar -C "$root" --null --ignore-failed-read -T - -c | tar -C "$1" -x
}

# Seconds that a command takes, on standard output; its own words go to LOG.
seconds_of() {
	local log=$1 start end
	shift
	start=$(date +%s.%N)
	"$@" >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "failed: $* (log: $log)"; }
	end=$(date +%s.%N)
	awk -v a="$start" -v b="$end" 'BEGIN { printf "%.1f", b - a }'
}
