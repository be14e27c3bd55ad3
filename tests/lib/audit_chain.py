#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The lines of `nacre audit export --json` held against src/audit/PROTOCOL.md.

By another hand than the product's: hashlib, and ECDSA over P-256 as FIPS 186-5
has it. Prints "whole FIRST LAST CHECKPOINTS HEAD", or what is wrong with the
first line that does not fit.

usage: audit_chain.py PIN < LINES
"""
import hashlib, json, sys

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551
G = (0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296,
     0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5)
B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b
SPKI = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
TEXTS = ("caller", "program", "parent", "root", "verb", "sandbox_id", "sandbox",
         "request_id", "verdict", "reason", "detail")


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % P == 0:
            return None
        m = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, P) % P
    else:
        m = (b[1] - a[1]) * pow(b[0] - a[0], -1, P) % P
    x = (m * m - a[0] - b[0]) % P
    return x, (m * (a[0] - x) - a[1]) % P


def times(k, point):
    out = None
    while k:
        if k & 1:
            out = add(out, point)
        point = add(point, point)
        k >>= 1
    return out


def signed(key, message, signature):
    x, y = int.from_bytes(key[1:33], "big"), int.from_bytes(key[33:], "big")
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    if len(key) != 65 or key[0] != 4 or len(signature) != 64 or (y * y - x**3 + 3 * x - B) % P:
        return False
    if not (0 < r < N and 0 < s < N):
        return False
    e = int.from_bytes(hashlib.sha256(message).digest(), "big")
    w = pow(s, -1, N)
    at = add(times(e * w % N, G), times(r * w % N, (x, y)))
    return at is not None and at[0] % N == r


def fields(*parts):
    return b"".join(len(p).to_bytes(8, "big") + p for p in
                    (p.encode() if isinstance(p, str) else p for p in parts))


def number(n):
    return (n % 2**64).to_bytes(8, "big")


def main():
    pin = bytes.fromhex(sys.argv[1])
    row, head, first, checkpoints = 0, bytes(32), None, 0
    for line in sys.stdin:
        item = json.loads(line)
        if "checkpoint" in item:
            c = item["checkpoint"]
            key, sig, at = bytes.fromhex(c["key"]), bytes.fromhex(c["signature"]), bytes.fromhex(c["hash"])
            message = fields("nacre.audit.checkpoint.1", c["kind"], number(c["row"]), number(c["time_ms"]), number(c["bytes"]), at)
            if hashlib.sha256(SPKI + key).digest() != pin or not signed(key, message, sig):
                return "the checkpoint at row %d is not signed by the key" % c["row"]
            if c["kind"] == "pruned" and row == 0:
                row, head = c["row"], at
            if c["row"] != row or at != head:
                return "the checkpoint at row %d has another hash" % c["row"]
            checkpoints += 1
            continue
        row, first = row + 1, first or item["row"]
        head = hashlib.sha256(fields("nacre.audit.1", head, number(item["row"]), number(item["time_ms"]),
                                     *(item[t] for t in TEXTS))).digest()
        if item["row"] != row or item["hash"] != head.hex():
            return "row %d does not fit" % row
    return "whole %s %d %d %s" % (first, row, checkpoints, head.hex())


print(main())
