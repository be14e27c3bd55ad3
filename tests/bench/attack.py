#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long other callers of a gateway wait while somebody attacks it, beside
the same attack on another gateway of this machine, which takes the processor
and no place in the first: attack.py NAME HERE ELSEWHERE, two files of what
tests/lib/attack.py tells (make bench-attack). The bar is that of p99 alone.
"""
import json, os, sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from figures import percentile, rows, save, verdict


def samples(path):
    with open(path) as f:
        told = [json.loads(line) for line in f if line.startswith("{")]
    return {(t["title"], t["who"]): t["ms"] for t in told}


here, elsewhere = samples(sys.argv[2]), samples(sys.argv[3])
for (title, who), ms in here.items():
    p99 = percentile(ms, 0.99)
    row = {"what": title, "who": who, "n": len(ms), "p50": percentile(ms, 0.5), "p99": p99}
    text = "%-26s %-7s p50 %7.2f ms  p99 %7.2f ms" % (title, who, row["p50"], p99)
    if title != "alone":
        row["alone"] = percentile(here["alone", who], 0.99)
        text += "  %5.2f of alone (%.2f)" % (p99 / row["alone"], row["alone"])
    if title != "alone" and (title, who) in elsewhere:
        row["elsewhere"] = percentile(elsewhere[title, who], 0.99)
        text += "  %5.2f of elsewhere (%.2f)" % (p99 / row["elsewhere"], row["elsewhere"])
    if title != "alone":
        text += verdict(row, p99 / row["alone"], 2, True)
    rows.append(row)
    print(text, flush=True)
save(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/bench-%s.json" % sys.argv[1]))
