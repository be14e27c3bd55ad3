#!/bin/bash
# The north API through the official gRPC library for Python, as an SDK uses
# it. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
gateway_up
nacre image import tiny "$(tiny_image)" >/dev/null
mkdir "$work/py"
protoc -I "$top/proto" --python_out="$work/py" "$top"/proto/openshell_*.proto "$top/proto/nacre_v1.proto"
# Lines are "ok<TAB>title": one test each.
while IFS=$'\t' read -r result title; do
	case $result in
	ok) ok 0 "$title" ;;
	'not ok') ok 1 "$title" ;;
	'#') printf '#   %s\n' "$title" ;;
	esac
done < <(/usr/bin/python3 "$top/tests/lib/grpc_client.py" "$NACRE_STATE/gateway.sock" "$work/py" 2>"$work/py.log")
[ -s "$work/py.log" ]
ok $((! $?)) "the client came to its end"
sed 's/^/# /' "$work/py.log" | tail -n 20
