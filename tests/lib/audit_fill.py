#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Rows that fit, behind the last one of a stopped gateway's record.

usage: audit_fill.py DATABASE ROWS [DETAIL_BYTES]
"""
import hashlib, sqlite3, sys


def fields(*parts):
    return b"".join(len(p).to_bytes(8, "big") + p for p in parts)


def main(path, count, size):
    db = sqlite3.connect(path)
    row, before = db.execute("select row, hash from audit order by row desc limit 1").fetchone()
    one = "11111111-2222-4333-8444-555555555555"
    texts = ["uid:1000", "/usr/local/bin/nacre", one, one, "sandbox.exec", one, "lead", "", "ok", "", "x" * size]

    def rows():
        nonlocal row, before
        for _ in range(count):
            row += 1
            before = hashlib.sha256(fields(b"nacre.audit.1", before, row.to_bytes(8, "big"), (1).to_bytes(8, "big"),
                                           *(t.encode() for t in texts))).digest()
            yield [row, 1, *texts, before]

    # As if the gateway had not been stopped, only a start could come next.
    db.execute("delete from checkpoints where kind = 3 and row = ?", [row])
    db.executemany("insert into audit values (?,?,?,?,?,?,?,?,?,?,?,?,?,?)", rows())
    db.commit()


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 120)
