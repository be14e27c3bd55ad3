#!/bin/bash
# Children as a stock gRPC client sees them: roots, files, refusals in full,
# cancelled creates, pages. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
gateway_up
nacre image import tiny "$(tiny_image)" >/dev/null
# An image with two accounts of one id.
cp -a "$work/tiny" "$work/twins"
mkdir -p "$work"/twins/{srv/app,home/sandbox}
printf 'app:x:1000:1000::/srv/app:/bin/sh\nsandbox:x:1000:1000::/home/sandbox:/bin/sh\n' >"$work/twins/etc/passwd"
nacre image import twins "$work/twins" >/dev/null
mkdir "$work/py"
protoc -I "$top/proto" --python_out="$work/py" "$top"/proto/openshell_*.proto "$top/proto/nacre_v1.proto"
while IFS='|' read -r kind status title; do
	case $kind in
	test) ok "$status" "$title" ;;
	*) echo "$kind" ;;
	esac
done < <(PYTHONPATH="$work/py" timeout 300 /usr/bin/python3 "$top/tests/e2e/kin.py" "unix:$NACRE_STATE/gateway.sock" 2>"$work/py.log")
[ -s "$work/py.log" ]
ok $((! $?)) "the client came to its end"
sed 's/^/# /' "$work/py.log" | tail -n 20
