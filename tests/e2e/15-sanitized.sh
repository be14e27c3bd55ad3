#!/bin/bash
# The life of a sandbox once more, with the host's programs under ASan and
# UBSan: a report of theirs ends the program, and so fails a test.
# SPDX-License-Identifier: Apache-2.0
here=$(dirname "$0")
bin=${NACRE_BIN:-build/release/bin}
export NACRE_GUEST=${NACRE_GUEST:-$bin/../guest} NACRE_BIN=$bin/../../asan/bin
exec bash "$here/10-cli.sh"
