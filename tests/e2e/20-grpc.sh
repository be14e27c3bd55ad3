#!/bin/bash
# The north API as another client speaks it: python3-grpcio over the gateway's
# socket, openshell.v1 and nacre.v1 by names and numbers.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
gateway_up
nacre image import tiny "$(tiny_image)" >/dev/null
protoc --proto_path="$top/proto" --python_out="$work" "$top"/proto/{nacre_v1,openshell_v1,openshell_datamodel_v1,openshell_sandbox_v1}.proto
PYTHONPATH=$work timeout 120 /usr/bin/python3 "$top/tests/e2e/north.py" "unix:$NACRE_STATE/gateway.sock" >"$work/tap" 2>&1
code=$?
cat "$work/tap" | while read -r line; do echo "# $line"; done
while IFS='|' read -r status title; do
	ok "$status" "$title"
done < <(sed -n 's/^test|//p' "$work/tap")
is "$code" 0 "the client ran to its end"
