# SPDX-License-Identifier: Apache-2.0
"""A pair of policies that is as hard to judge as the pigeonhole principle: a
query says who sits where (vN_M=T), the child's denies say that everybody does
and that nobody shares. An excess would seat eight in seven holes.

usage: hard_policy.py CHILD MAXIMUM
"""
import sys

HOLES = 7
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
HERE = "method: GET, path: /s, query: {%s}"


def seat(who, hole):
    return "v%d_%d" % (who, hole)


def query(pairs):
    return HERE % ", ".join("%s: %s" % x for x in pairs)


people = range(HOLES + 1)
holes = range(HOLES)
nowhere = [[(seat(p, h), '"F"') for h in holes] for p in people]
shared = [[(seat(p, h), '"T"'), (seat(q, h), '"T"')]
          for h in holes for p in people for q in range(p)]
with open(sys.argv[1], "w") as f:
    f.write(HEAD)
    f.write("      rules:\n      - allow: {%s}\n" % query(
        [(seat(p, h), '{any: ["T", "F"]}') for p in people for h in holes]))
    f.write("      deny_rules:\n")
    for clause in nowhere + shared:
        f.write("      - {%s}\n" % query(clause))
with open(sys.argv[2], "w") as f:
    f.write(HEAD)
    f.write("      rules: [{allow: {method: GET, path: /z}}]\n")
