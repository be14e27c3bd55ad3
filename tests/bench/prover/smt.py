# SPDX-License-Identifier: Apache-2.0
"""The same question for Z3, translated from the JSON with no help of ours.

A request is (host, path, method, port). Child box C, boxes N1..Nk to take
away: is there a request in C that escapes each Nj in some dimension? Per
choice of dimensions one check, with ONE membership a string variable, in
    U & C - (N.. | N..)          (the form that Z3 4.8 decides)
"""
import itertools
import subprocess
import threading
import time

LITERAL = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,=:@"
ESCAPED = [0x20, 0x22, 0x23, 0x25, 0x3C, 0x3E, 0x3F, 0x5B, 0x5C, 0x5D, 0x5E, 0x60, 0x7B, 0x7C, 0x7D]
ESCAPED += list(range(0x80, 0x100))
VERBS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "X-PROBE"]


def lit(s):
    return '(str.to_re "%s")' % "".join("\\u{%x}" % ord(c) for c in s)


def cat(parts):
    parts = [p for p in parts if p]
    if not parts:
        return '(str.to_re "")'
    return parts[0] if len(parts) == 1 else "(re.++ %s)" % " ".join(parts)


def union(parts):
    return parts[0] if len(parts) == 1 else "(re.union %s)" % " ".join(parts)


def ranges(chars):
    """A character class as few ranges."""
    codes = sorted(map(ord, set(chars)))
    out, first = [], codes[0]
    for a, b in zip(codes, codes[1:] + [None]):
        if b != a + 1:
            out.append('(re.range "\\u{%x}" "\\u{%x}")' % (first, a))
            first = b
    return union(out)


ANY = "re.all"
HOST_CHARS = ranges("abcdefghijklmnopqrstuvwxyz0123456789-_")


def glob(pattern, sep):
    """A glob as a regular expression, from POLICY.md 2."""
    none = '(re.diff re.allchar (str.to_re "%s"))' % sep
    parts, i = [], 0
    while i < len(pattern):
        starts = i == 0 or pattern[i - 1] == sep
        if starts and pattern[i:] == "**":
            parts.append(ANY)
            i += 2
        elif starts and pattern[i:i + 3] == "**" + sep:
            some = "(re.++ re.all %s)" % lit(sep)
            parts.append(some if sep == "." else "(re.opt %s)" % some)
            i += 3
        elif pattern[i] == "*":
            parts.append("(re.* %s)" % none)
            i += 1
        else:
            parts.append(lit(pattern[i]))
            i += 1
    return cat(parts)


def universe_host():
    label = "(re.+ %s)" % HOST_CHARS
    last = "(re.++ %s (re.* %s))" % (ranges("abcdefghijklmnopqrstuvwxyz_-"), HOST_CHARS)
    return "(re.++ (re.* (re.++ %s %s)) %s)" % (label, lit("."), last)


def universe_path():
    """Without %2F: no endpoint of the pairs allows it."""
    hexes = {}
    for b in ESCAPED:
        hexes.setdefault("%X" % (b >> 4), []).append("%X" % (b & 15))
    escape = cat([lit("%"), union(["(re.++ %s %s)" % (lit(h), ranges("".join(l)))
                                   for h, l in sorted(hexes.items())])])
    byte = union([ranges(LITERAL), escape])
    seg = "(re.diff (re.+ %s) %s)" % (byte, union([lit("."), lit("..")]))
    return "(re.++ %s (re.* (re.++ %s %s)) (re.opt %s))" % (lit("/"), seg, lit("/"), seg)


U = {"host": universe_host(), "path": universe_path()}
SEP = {"host": ".", "path": "/"}


def boxes(policy, denies):
    for e in policy["network_policies"].values():
        for p in e["endpoints"]:
            rules = p.get("deny_rules", []) if denies else [x["allow"] for x in p.get("rules", [{"allow": {}}])]
            for x in rules:
                yield {"host": p["host"], "ports": p["ports"], "path": x.get("path", "**"),
                       "method": x.get("method", "*")}


def verbs(box):
    m = box["method"]
    return set(VERBS) if m == "*" else {"GET", "HEAD"} if m == "GET" else {m}


def maybe_meet(a, b):
    """Hosts whose fixed ends differ do not: what a careful caller leaves out."""
    if not set(a["ports"]) & set(b["ports"]) or not verbs(a) & verbs(b):
        return False
    for key, turn in (("host", -1), ("path", 1)):
        x, y = (s[key][::turn] for s in (a, b))
        x, y = x.split("*")[0], y.split("*")[0]
        n = min(len(x), len(y))
        if x[:n] != y[:n]:
            return False
        if "*" not in a[key] + b[key] and a[key] != b[key]:
            return False
    return True


class Z3:
    def __init__(self, timeout_ms):
        self.timeout_ms = timeout_ms
        self.start()

    def start(self):
        self.p = subprocess.Popen(["z3", "-in", "-smt2", "-memory:700"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, bufsize=1)
        self.say("(set-option :timeout %d)(set-logic ALL)" % self.timeout_ms)

    def say(self, text):
        self.p.stdin.write(text + "\n")
        self.p.stdin.flush()

    def check(self, constraints):
        names = "".join("(declare-const %s String)" % d for d in constraints)
        terms = "".join("(assert (str.in_re %s %s))" % (d, r) for d, r in constraints.items())
        watch = threading.Timer(2 * self.timeout_ms / 1000 + 1, self.p.kill)
        watch.start()
        try:
            self.say("(push)%s%s(check-sat)(pop)" % (names, terms))
            answer = self.p.stdout.readline().strip()
        except BrokenPipeError:
            answer = ""
        watch.cancel()
        if answer in ("sat", "unsat", "unknown"):
            return answer
        if answer and "memory" not in answer:
            raise RuntimeError("z3: " + answer)
        self.close()  # it overshot its timeout, or its memory
        self.start()
        return "unknown"

    def close(self):
        self.p.kill()
        self.p.wait()
        self.p.stdin.close()
        self.p.stdout.close()


def constraint(dim, globs_in, globs_out):
    inside = [U[dim]] + [glob(g, SEP[dim]) for g in sorted(globs_in)]
    r = "(re.inter %s)" % " ".join(inside)
    if globs_out:
        r = "(re.diff %s %s)" % (r, union([glob(g, SEP[dim]) for g in sorted(globs_out)]))
    return r


def judge(z3, child, parent, deadline=None):
    """'within', 'exceeds' or 'unknown'."""
    c_deny, p_allow, p_deny = list(boxes(child, True)), list(boxes(parent, False)), list(boxes(parent, True))
    unknown = False
    for c in boxes(child, False):
        near = [m for m in c_deny + p_allow if maybe_meet(c, m)]
        goals = [([c], near)]
        for d in p_deny:
            ports = sorted(set(c["ports"]) & set(d["ports"]))
            if maybe_meet(c, d) and ports:
                goals.append(([c, d], [m for m in c_deny if maybe_meet(c, m) and maybe_meet(d, m)]))
        for inside, minus in goals:
            if len(minus) > 6:
                return "unknown"
            base = {"host": c["host"], "ports": sorted(set.intersection(*[set(b["ports"]) for b in inside])),
                    "path": c["path"], "method": c["method"]}
            for out in with_verbs(base, inside, minus):
                if deadline and time.monotonic() > deadline:
                    return "unknown"
                answer = z3.check({d: constraint(d, {b[d] for b in inside}, out[d]) for d in ("host", "path")})
                if answer == "sat":
                    return "exceeds"
                unknown = unknown or answer == "unknown"
    return "unknown" if unknown else "within"


def with_verbs(base, inside, minus):
    """Ways out for each method that all of inside share."""
    shared = set.intersection(*[verbs(b) for b in inside])
    for verb in sorted(shared):
        one = dict(base, method=verb)
        rest = [m for m in minus if verb in verbs(m)]
        for out in escapes(one, rest):
            yield out


def escapes(child, minus):
    """Which boxes are escaped by host and which by path; the rest by port."""
    seen = set()
    for dims in itertools.product(("host", "path", "ports"), repeat=len(minus)):
        out = {d: frozenset(m[d] for m, x in zip(minus, dims) if x == d) for d in ("host", "path")}
        ports = set(child["ports"])
        for m, d in zip(minus, dims):
            if d == "ports":
                ports -= set(m["ports"])
        key = (out["host"], out["path"])
        if ports and key not in seen:
            seen.add(key)
            yield out
