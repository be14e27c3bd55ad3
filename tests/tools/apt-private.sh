#!/bin/bash
# tools/apt-private: which of a machine's package sources it builds on.
set -u
cd "$(dirname "$0")/../.."
etc=$(mktemp -d)
trap 'rm -rf "$etc"' EXIT
mkdir "$etc/sources.list.d"
code=$(. /etc/os-release && echo "$VERSION_CODENAME")
export APT_ETC=$etc
n=0

is() {
	n=$((n + 1))
	if [ "$1" = "$2" ]; then
		echo "ok $n - $3"
	else
		echo "not ok $n - $3"
		printf '%s\n' "got:" "$1" "wanted:" "$2" | sed 's/^/# /'
	fi
}

show() {
	tools/apt-private --show | grep .
}

echo 1..5
is "$(show)" "" "no source gives nothing"

cat >"$etc/sources.list" <<LIST
# deb http://old.test/debian $code main
deb [ arch=amd64 signed-by=/k.gpg ] http://mirror.test/debian $code main contrib
deb-src http://mirror.test/debian $code main
deb http://mirror.test/debian $code-updates main
deb http://other.test/tool $code stable
LIST
is "$(show | tr -s ' ')" "deb-src [ signed-by=/k.gpg ] http://mirror.test/debian trixie main
deb [ signed-by=/k.gpg ] http://mirror.test/debian trixie main
deb [ signed-by=/k.gpg ] http://mirror.test/debian bookworm-backports main" \
	"a one-line source keeps its key and its mirror, others are left out"

rm "$etc/sources.list"
cat >"$etc/sources.list.d/debian.sources" <<LIST
Types: deb
# a remark
URIs: http://mirror.test/debian
Suites: $code $code-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb
URIs: http://mirror.test/security
Suites: $code-security
Components: main
LIST
is "$(show | head -n 8)" "Types: deb deb-src
Suites: trixie
Components: main
URIs: http://mirror.test/debian
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 -----END PGP PUBLIC KEY BLOCK-----" \
	"a deb822 source keeps its mirror and a key written into it"

is "$(show | grep -c security)" 0 "the security archive is not taken for the main one"

sed -i '1i Enabled: no' "$etc/sources.list.d/debian.sources"
is "$(show)" "" "a disabled source stays disabled"
