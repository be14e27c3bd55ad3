#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Time per proof, beside Z3 on the same pairs in the same run: run.py PAIRS.

Ours is the fastest of some proofs, policies already read; Z3's is one answer
of a running process, formulae already written. Z3 has 10 s a pair.
"""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pairs  # noqa: E402
import smt  # noqa: E402

LIMIT_S = 10
SIZES = (1, 10, 100, 1000)
WILD = 100


def ours(program, batch, repeat, *clock):
    lines = "".join(pairs.text(p) + "\n" for pair in batch for p in pair)
    run = subprocess.run([program, str(repeat), *clock], input=lines, text=True, capture_output=True, check=True)
    out = []
    for line in run.stdout.splitlines():
        verdict, ns, steps, arena = line.split(" ")[:4]
        out.append((verdict, int(ns) / 1000, int(steps), int(arena)))
    return out


def theirs(pair):
    z3 = smt.Z3(LIMIT_S * 1000)
    began = time.monotonic()
    verdict = smt.judge(z3, pair[0], pair[1], began + LIMIT_S)
    took = time.monotonic() - began
    z3.close()
    return verdict, took


def row(name, mine, z3):
    verdict, us, steps, _ = mine
    other, took = z3
    gave_up = other == "unknown"
    note = "" if gave_up or other == verdict else "  DISAGREES: " + other
    print("%-26s %-8s %10.1f %9d %s%9.0f %s%9.0f%s" %
          (name, verdict, us, steps, ">" if gave_up else " ", took * 1000,
           ">" if gave_up else " ", took * 1e6 / us, note))
    return not note


def hard(program):
    """Whatever is asked ends in time and in its arena; not all is decided."""
    print("\n%-28s %-13s %8s %9s %10s" % ("hard pair", "verdict", "ms", "steps", "arena KiB"))
    worst = [0, 0]
    for name, make in pairs.HARD.items():
        verdict, us, steps, arena = ours(program, [make()], 9, "cpu")[0]
        print("%-28s %-13s %8.1f %9d %10d" % (name, verdict, us / 1000, steps, arena // 1024))
        worst = [max(worst[0], us), max(worst[1], arena)]
    return worst


def main():
    program = sys.argv[1]
    ok, times = True, {}
    print("%-26s %-8s %10s %9s %10s %10s" % ("pair", "verdict", "nacre us", "steps", "z3 ms", "ratio"))
    for shape, make in pairs.SHAPES.items():
        for within in (True, False):
            batch = [make(n, within) for n in SIZES]
            for n, pair, mine in zip(SIZES, batch, ours(program, batch, 101)):
                times[shape, within, n] = mine[1]
                ok &= row("%s, %d rules" % (shape, n), mine, theirs(pair))
                ok &= mine[0] == ("within" if within else "exceeds")
    batch = pairs.wild(WILD, 1)
    mine = ours(program, batch, 21)
    other = [theirs(pair) for pair in batch]
    agree = all(o[0] in ("unknown", m[0]) for m, o in zip(mine, other))
    ratios = sorted(o[1] * 1e6 / m[1] for m, o in zip(mine, other))
    print("\n%d generated pairs: nacre %.1f us on average, %.1f at most; z3 %.0f ms on average"
          % (WILD, sum(m[1] for m in mine) / WILD, max(m[1] for m in mine),
             sum(o[1] for o in other) / WILD * 1000))
    print("z3 / nacre: median %.0f, lowest %.0f" % (ratios[WILD // 2], ratios[0]))
    print("decided within 1 s: nacre %d of %d, z3 %d of %d" %
          (sum(m[0] in ("within", "exceeds") and m[1] < 1e6 for m in mine), WILD,
           sum(o[0] != "unknown" and o[1] < 1 for o in other), WILD))
    growth = max(times[s, w, 1000] / times[s, w, 100] for s in pairs.SHAPES for w in (True, False))
    print("time(1000 rules) / time(100): at most %.1f" % growth)
    slowest, largest = hard(program)
    bars = {"agrees with z3": ok and agree, "median ratio >= 1000": ratios[WILD // 2] >= 1000,
            "time(1000) <= 15 x time(100)": growth <= 15,
            "hard ones end within 100 ms of a processor": slowest <= 100000, "and 8 MiB": largest <= (8 << 20) + 4096,
            "nothing undecided": all(m[0] in ("within", "exceeds") for m in mine)}
    for bar, met in bars.items():
        print("%s  %s" % ("met " if met else "MISSED", bar))
    return 0 if all(bars.values()) else 1


sys.exit(main())
