# Sourced: packages of a committed lock file, fetched once. SPDX: Apache-2.0
# shellcheck shell=bash

# npm_fetch DATA FOLDER: DATA's packages are in FOLDER/node_modules. 1: they
# cannot be had here, and $why says so; 2: they are not what is locked. Tests
# that run at a time want the same ones: one of them fetches.
npm_fetch() {
	local lock status
	why=''
	mkdir -p "$(dirname "$2")"
	exec {lock}>"$2.lock"
	flock "$lock"
	npm_fetch_alone "$1" "$2"
	status=$?
	exec {lock}>&-
	return $status
}

npm_fetch_alone() {
	! cmp -s "$1/package-lock.json" "$2/.done" || return 0
	command -v npm >/dev/null || { why='npm is missing: apt-get install npm'; return 1; }
	rm -rf "$2"
	mkdir -p "$2"
	cp "$1/package.json" "$1/package-lock.json" "$2"
	if ! npm ci --prefix "$2" --ignore-scripts --no-audit --no-fund \
		--fetch-retries=1 --loglevel=error >"$2/log" 2>&1; then
		cat "$2/log" >&2
		why='the npm registry cannot be reached'
		! grep -qE 'EINTEGRITY|EUSAGE' "$2/log" || return 2
		return 1
	fi
	cp "$1/package-lock.json" "$2/.done"
}

# node_into ROOT: the host's node, with what it links.
node_into() {
	local node file
	node=$(readlink -f "$(command -v node)")
	install -d "$1/usr/bin" "$1/lib64" "$1/lib/x86_64-linux-gnu"
	cp "$node" "$1/usr/bin/node"
	ldd "$node" | sed -nE 's/.* => (\/[^ ]*) .*/\1/p' | while read -r file; do cp -L "$file" "$1/lib/x86_64-linux-gnu/"; done
	cp -L /lib64/ld-linux-x86-64.so.2 "$1/lib64/"
}
