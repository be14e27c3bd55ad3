#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The prover and Z3 on the same generated pairs: agree.py PAIRS_PROGRAM [N].

N pairs (2000) must be decided by both; as Z3 gives up on some, there are more.
"""
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench", "prover"))
import pairs  # noqa: E402
import smt  # noqa: E402

TIMEOUT_MS = 3000


def ours(program, batch):
    """Verdicts; None where a policy is invalid (kinds never differ here)."""
    lines = "".join(pairs.text(p) + "\n" for pair in batch for p in pair)
    run = subprocess.run([program], input=lines, text=True, capture_output=True, check=True)
    return [line.split(" ")[0] for line in run.stdout.splitlines()]


def theirs(batch):
    z3 = smt.Z3(TIMEOUT_MS)
    out = []
    for child, parent in batch:
        out.append(smt.judge(z3, child, parent, time.monotonic() + 20))
    z3.close()
    return out


def main():
    program = sys.argv[1]
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    n = wanted + wanted // 6
    batch = pairs.wild(n, 20260829)
    mine = ours(program, batch)
    with ThreadPoolExecutor(2) as pool:
        step = (n + 15) // 16
        parts = list(pool.map(theirs, [batch[i:i + step] for i in range(0, n, step)]))
    other = [v for part in parts for v in part]
    bad = [i for i in range(n) if other[i] != "unknown" and mine[i] != other[i]]
    for i in bad[:5]:
        print("# child:  %s\n# parent: %s\n# nacre %s, z3 %s"
              % (pairs.text(batch[i][0]), pairs.text(batch[i][1]), mine[i], other[i]))
    decided = n - other.count("unknown")
    print("# %d pairs: %d within, %d exceeds; z3 gave up on %d" %
          (n, mine.count("within"), mine.count("exceeds"), n - decided))
    print("1..2\n%sok 1 - the prover agrees with z3" % ("not " if bad else ""))
    print("%sok 2 - on %d pairs or more" % ("" if decided >= wanted else "not ", wanted))
    return 1 if bad or decided < wanted else 0


sys.exit(main())
