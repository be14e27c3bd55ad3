# SPDX-License-Identifier: Apache-2.0
"""The table of figures: ours, the peer's, the bar; printed and kept as JSON.

A bar is held against the best of the samples, so that a busy machine spoils
as little as can be; medians stand beside it.
"""
import json, math, os, statistics

rows = []


def percentile(values, share):
    """Nearest rank: the least of them that so large a share is at or below."""
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def listed(values):
    return values if isinstance(values, list) else [values]


def keep(row, text):
    rows.append(row)
    print(text, flush=True)


def missing(what, why):
    """A figure that this run does not have, and why."""
    keep({"what": what, "missing": why}, "%-48s %10s  %s" % (what, "-", why))


def verdict(row, figure, bar, most):
    row.update(bar=bar, held=figure <= bar if most else figure >= bar)
    return "  bar %s %g: %s" % ("<=" if most else ">=", bar, "held" if row["held"] else "NOT HELD")


def note(what, ours, unit, bar=None, more_is_better=False):
    """One row without a peer: the bar is in the same unit."""
    ours = listed(ours)
    best = max(ours) if more_is_better else min(ours)
    row = {"what": what, "unit": unit, "n": len(ours), "median": statistics.median(ours), "best": best, "worst": max(ours)}
    text = "%-48s %10.1f %s (best %.1f)" % (what, row["median"], unit, best)
    if bar is not None:
        text += verdict(row, best, bar, not more_is_better)
    keep(row, text)


def beside(what, ours, unit, peer, name, bar=None, more_is_better=False):
    """One row beside a peer's, sampled in turn: the bar is a ratio to it."""
    ours, peer = listed(ours), listed(peer)
    if not ours or not peer:
        missing(what, "no sample of %s" % ("ours" if not ours else name))
        return
    best = max if more_is_better else min
    row = {"what": what, "unit": unit, "n": len(ours), "median": statistics.median(ours), "best": best(ours),
           "peer": name, "peer_n": len(peer), "peer_median": statistics.median(peer), "peer_best": best(peer)}
    row["ratio_medians"] = row["median"] / row["peer_median"]
    row["ratio_best"] = row["best"] / row["peer_best"]
    text = "%-48s %10.1f %s (best %.1f)  %s %.1f (best %.1f)  ratio of medians %.3f, of best %.3f" % (
        what, row["median"], unit, row["best"], name, row["peer_median"], row["peer_best"],
        row["ratio_medians"], row["ratio_best"])
    if bar is not None:
        text += verdict(row, row["ratio_best"], bar, not more_is_better)
    keep(row, text)


def save(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        json.dump({"cpus": os.cpu_count(), "load": os.getloadavg()[0], "rows": rows}, f, indent=1)
