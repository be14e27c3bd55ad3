#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# 200 restores and 20 cold boots of the product's guest; boots.py has them.
exec /usr/bin/python3 -u "$(dirname "$0")/boots.py"
