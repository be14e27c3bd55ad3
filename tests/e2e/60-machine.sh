#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Machines and keepers under TCG, without a gateway: templates, clones, the
# channel, the console, ends of every kind, the jails. machine.py has them.
exec /usr/bin/python3 -u "$(dirname "$0")/machine.py"
