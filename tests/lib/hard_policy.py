# SPDX-License-Identifier: Apache-2.0
"""A pair of policies that is as hard to judge as satisfiability: keys of a
query are variables, the child's denies are clauses.

usage: hard_policy.py CHILD MAXIMUM
"""
import random
import sys

VARIABLES = 30
CLAUSES = 140
HEAD = """version: 1
filesystem_policy: {}
landlock: {}
process: {}
network_policies:
  api:
    binaries: [{path: /a}]
    endpoints:
    - host: h.b.test
      port: 1
      protocol: rest
"""

chance = random.Random(7)
with open(sys.argv[1], "w") as f:
    f.write(HEAD)
    f.write("      rules:\n      - allow: {method: GET, path: /s, query: {%s}}\n" %
            ", ".join('v%d: {any: ["T", "F"]}' % i for i in range(VARIABLES)))
    f.write("      deny_rules:\n")
    for _ in range(CLAUSES):
        at = chance.randrange(VARIABLES)
        clause = {"v%d" % ((at + k * 7 + chance.randrange(3)) % VARIABLES):
                  chance.choice("TF") for k in range(3)}
        f.write("      - {method: GET, path: /s, query: {%s}}\n" %
                ", ".join('%s: "%s"' % x for x in clause.items()))
with open(sys.argv[2], "w") as f:
    f.write(HEAD)
    f.write("      rules: [{allow: {method: GET, path: /z}}]\n")
