# SPDX-License-Identifier: Apache-2.0
"""TUTORIAL.md as a test.

usage: tutorial.py script FILE      its sh blocks as one bash script, which
                                    writes what block N prints to out.N
       tutorial.py check FILE       every text block against out.N before it
Lines of a text block must be found in that order, others may be between them;
"..." stands for anything. Prints TAP lines without numbers.
"""
import re
import sys


def blocks(path):
    return re.findall(r"^```(\w*)\n(.*?)^```$", open(path).read(), re.M | re.S)


def script(path):
    print("set -eu")
    for n, (kind, body) in enumerate(blocks(path)):
        if kind == "sh":
            print("exec >\"$OUT/out.%d\" 2>&1" % n)
            print(body + "echo >\"$OUT/done.%d\"" % n)


def found(wanted, got):
    """The first line of wanted that is not there, or None."""
    rest = iter(got)
    for line in wanted:
        shape = re.compile(".*".join(map(re.escape, line.split("..."))))
        if not any(shape.fullmatch(g) for g in rest):
            return line
    return None


def check(path, out):
    last = 0
    for n, (kind, body) in enumerate(blocks(path)):
        title = "block %d: %s" % (n, body.split("\n")[0][:60])
        if kind == "sh":
            last = n
            try:
                open("%s/done.%d" % (out, n))
                print("ok\t" + title)
            except OSError:
                print("not ok\t" + title)
                try:
                    for line in open("%s/out.%d" % (out, n)):
                        print("#\t" + line.rstrip())
                except OSError:
                    pass
        elif kind == "text":
            try:
                got = open("%s/out.%d" % (out, last)).read().split("\n")
            except OSError:
                got = []
            lost = found(body.rstrip("\n").split("\n"), [g.rstrip() for g in got])
            print(("ok" if lost is None else "not ok") + "\t" + title)
            if lost is not None:
                print("#\tnot found: " + lost)
                for line in got:
                    print("#\t" + line)
        else:
            print("not ok\t%s is of no kind" % title)


if sys.argv[1] == "script":
    script(sys.argv[2])
else:
    check(sys.argv[2], sys.argv[3])
