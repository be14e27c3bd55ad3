# SPDX-License-Identifier: Apache-2.0
"""make test-boots: 200 restores and 20 cold boots of the product's guest, four
at a time, each rehearsed, assigned, launched and heard in its tunnel."""
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from keeper import *  # noqa: E402,F403

AT_ONCE = 4


def launch(t, n, image, cold):
    """n machines at once, each to its guest's first TLS bytes; why not."""
    wrong, times = [], []
    group = [Keeper(t, cold=cold) for _ in range(n)]
    for k in group:
        e = k.until(PARKED)
        if e is None or e.phase != PARKED:
            wrong.append("not parked: %s %s" % (e, k.log()))
            continue
        disk = blank(k.id + ".ext4")
        tunnel = k.tunnel()
        try:
            k.assign(image, disk)
            if not tunnel.open() or tunnel.take(3)[:2] != b"\x16\x03":
                wrong.append("no hello: %s %s" % (k.call("Console").text.decode(), k.log()))
            s = k.call("Status")
            times.append((s.restored_us / 1e3, s.parked_us / 1e3, (s.connected_us - s.assigned_us) / 1e3))
        except grpc.RpcError as error:
            wrong.append("%s %s" % (error, k.log()))
        tunnel.close()
    for k in group:
        if k.stop() != 0:
            wrong.append("ended badly: " + k.log())
        if os.path.exists(WORK + "/" + k.id + ".ext4"):
            os.unlink(WORK + "/" + k.id + ".ext4")
    return wrong, times


def many(t, count, image, cold, title):
    wrong, times = [], []
    while len(times) + len(wrong) < count:
        more_wrong, more_times = launch(t, min(AT_ONCE, count - len(times) - len(wrong)), image, cold)
        wrong += more_wrong
        times += more_times
    ok(not wrong, title, "\n".join(wrong[:3]))
    if times:
        note("ms, median: ready %.0f, parked %.0f, launch to HTTP/2 %.0f" % tuple(statistics.median(t[i] for t in times) for i in range(3)))


t = Template()
ok(t.facts.get("why_cold") == "", "a template is made", t.log)
image = squashfs("image.sqfs", {"true": open(GUEST + "/nacre-guest", "rb").read()})
many(t, int(os.environ.get("NACRE_RESTORES", 200)), image, False, "200 restores, no failure")
many(t, int(os.environ.get("NACRE_COLD_BOOTS", 20)), image, True, "20 cold boots, no failure")
t.close()
done()
