#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Crafted images and how two unpackers are compared.

    images.py cases                     names of the crafted images
    images.py oci CASE DIR [PACKING]    the case as an OCI layout, tag latest
    images.py oci-all DIR               all of them, in DIR/CASE
    images.py list-all DIR              list DIR/CASE.root and DIR/CASE.ours
                                        into DIR/CASE.want and DIR/CASE.got
    images.py docker CASE FILE          the case as `docker save` writes it
    images.py hostile-all DIR           rootfs archives that must be refused
    images.py rootfs CASE FILE          its first layer as a rootfs archive
    images.py variant NAME DIR          an OCI layout with something amiss
    images.py many N FILE               N empty files
    images.py gigabyte FILE             1 GiB of content and 20 000 files
    images.py peak COMMAND...           run it, print its peak memory in KiB
    images.py list-dir DIR              a tree on disk, one line a path
    images.py list-tar FILE             the same of a tar ("-": stdin)

PACKING is none, gzip or zstd. Device nodes are not listed: nacre drops them.
"""
import contextlib
import gzip
import hashlib
import io
import json
import os
import stat
import struct
import subprocess
import sys
import tarfile
import time

TIME = 1700000000


class Layer:
    """A tar under construction; each call adds one entry."""

    def __init__(self, form=tarfile.GNU_FORMAT):
        self.data = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.data, mode="w", format=form,
                                errors="surrogateescape")

    def add(self, kind, name, mode=0o644, content=b"", link="", uid=0, gid=0,
            mtime=TIME, pax=None):
        info = tarfile.TarInfo(name)
        info.type = kind
        info.mode = mode
        info.uid, info.gid, info.mtime = uid, gid, mtime
        info.linkname = link
        info.size = len(content) if kind == tarfile.REGTYPE else 0
        if kind in (tarfile.CHRTYPE, tarfile.BLKTYPE):
            info.devmajor, info.devminor = 1, 3
        info.pax_headers = pax or {}
        self.tar.addfile(info, io.BytesIO(content))
        return self

    def dir(self, name, mode=0o755, **more):
        return self.add(tarfile.DIRTYPE, name, mode, **more)

    def file(self, name, content="", mode=0o644, **more):
        if isinstance(content, str):
            content = content.encode()
        return self.add(tarfile.REGTYPE, name, mode, content, **more)

    def sym(self, name, target, **more):
        return self.add(tarfile.SYMTYPE, name, 0o777, link=target, **more)

    def hard(self, name, target, **more):
        return self.add(tarfile.LNKTYPE, name, link=target, **more)

    def gone(self, name):
        head, _, last = name.rpartition("/")
        return self.file((head + "/" if head else "") + ".wh." + last)

    def opaque(self, name):
        return self.file(name + "/.wh..wh..opq" if name else ".wh..wh..opq")

    def raw(self, data):
        """Bytes that tarfile would not write."""
        self.data.write(data)
        self.tar.offset = self.data.tell()
        return self

    def bytes(self):
        self.tar.close()
        return self.data.getvalue()


PAX = tarfile.PAX_FORMAT


def base():
    return (Layer().dir("./").dir("etc").dir("usr").dir("usr/lib").dir("usr/bin")
            .file("etc/a", "a\n").file("etc/b", "b\n").dir("etc/d").file("etc/d/x", "x")
            .file("usr/lib/libc", "libc").file("usr/bin/sh", "#!/bin/x\n", 0o755)
            .sym("lib", "usr/lib").sym("bin", "/usr/bin"))


def gnu_sparse(fmt):
    """A file with holes, as GNU tar writes it in that format."""
    import tempfile
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/sparse", "wb") as f:
            for i in range(0, 30):
                f.seek(i * 100000)
                f.write(b"data%02d" % i)
            f.truncate(4000000)
        return subprocess.run(["tar", "-C", d, "-S", "--mtime=@%d" % TIME, "--owner=0", "--group=0", "-cf", "-"] + fmt +
                              ["sparse"], check=True, stdout=subprocess.PIPE).stdout


class Raw:
    def __init__(self, data):
        self.data = data

    def bytes(self):
        return self.data


def deep(n):
    layer = Layer(PAX)
    layer.file("/".join("d%d" % i for i in range(n)) + "/leaf", "deep")
    return layer


CASES = {
    "plain": lambda: [base()],
    "whiteout-file": lambda: [base(), Layer().gone("etc/a")],
    "whiteout-folder": lambda: [base(), Layer().gone("etc/d")],
    "whiteout-missing": lambda: [base(), Layer().gone("etc/nope").gone("no/such/x")],
    "whiteout-spares-own-layer": lambda: [
        base(), Layer().file("etc/a", "new").gone("etc/a").file("etc/d/y", "y").gone("etc/d")],
    "whiteout-then-again": lambda: [
        base(), Layer().gone("etc/d"), Layer().dir("etc/d", 0o700).file("etc/d/z", "z")],
    "whiteout-first-in-layer": lambda: [
        base(), Layer().gone("etc/d").dir("etc/d", 0o711).file("etc/d/new", "n")],
    "whiteout-of-link-not-target": lambda: [base(), Layer().gone("lib")],
    "whiteout-through-link": lambda: [base(), Layer().gone("lib/libc").gone("bin/sh")],
    "whiteout-odd-names": lambda: [
        base(), Layer().file("etc/.wh..wh.plnk/x" if False else "etc/.wh..wh.aufs").gone("etc/.hidden")],
    "opaque": lambda: [base(), Layer().opaque("etc").file("etc/c", "c")],
    "opaque-last": lambda: [
        base(), Layer().file("etc/c", "c").file("etc/d/own", "o").opaque("etc")],
    "opaque-root": lambda: [base(), Layer().file("only", "me").opaque("")],
    "opaque-through-link": lambda: [base(), Layer().opaque("lib").file("lib/new", "n")],
    "opaque-nested": lambda: [
        base(), Layer().dir("etc/d").file("etc/d/e/f", "f").opaque("etc").opaque("etc/d")],
    "file-becomes-folder": lambda: [base(), Layer().dir("etc/a").file("etc/a/in", "in")],
    "folder-becomes-file": lambda: [base(), Layer().file("etc/d", "file")],
    "folder-becomes-link": lambda: [
        base(), Layer().sym("etc/d", "../usr/lib").file("etc/d/through", "t")],
    "link-becomes-folder": lambda: [base(), Layer().dir("lib").file("lib/own", "o")],
    "link-becomes-file": lambda: [base(), Layer().file("lib", "file")],
    "links-in-parents": lambda: [
        base(), Layer().file("lib/one", "1").file("bin/two", "2", 0o755)
        .sym("chain", "chain2").sym("chain2", "etc/d").file("chain/three", "3")],
    "link-out-of-the-root": lambda: [
        base(), Layer().sym("out", "../../../etc").file("out/caught", "c")
        .sym("abs", "/etc/d").file("abs/caught", "c")],
    "link-with-dots": lambda: [
        base(), Layer().sym("dots", "usr/./lib/../bin/../../etc").file("dots/z", "z")],
    "dangling-parent": lambda: [
        base(), Layer().sym("opt", "var/opt").file("opt/pkg/file", "f")],
    "link-to-missing-then-up": lambda: [
        base(), Layer().sym("up", "nowhere/../etc").file("up/z", "z")],
    "hard-links": lambda: [
        base(), Layer().file("one", "same", 0o4755, uid=7).hard("two", "one").hard("etc/three", "/one")],
    "hard-link-to-lower": lambda: [base(), Layer().hard("etc/c", "etc/a")],
    "hard-link-outlives-target": lambda: [
        base(), Layer().hard("etc/c", "etc/a"), Layer().gone("etc/a")],
    "hard-link-then-rewritten": lambda: [
        base(), Layer().hard("etc/c", "etc/a"), Layer().file("etc/a", "other")],
    "hard-link-to-link": lambda: [base(), Layer().hard("lib2", "lib")],
    "hard-link-through-link": lambda: [base(), Layer().hard("copy", "lib/libc")],
    "implicit-parents": lambda: [Layer().file("a/b/c/d", "d").dir("e/f", 0o700)],
    "folder-attributes": lambda: [
        base(), Layer().dir("etc", 0o1777, uid=5, gid=6), Layer().dir("./", 0o711, uid=9)],
    "modes": lambda: [Layer().file("s", "s", 0o4755).file("g", "g", 0o2711).dir("t", 0o1777)
                      .file("none", "n", 0).file("all", "a", 0o7777, uid=1000, gid=1001)],
    "large-ids": lambda: [Layer().file("a", "a", uid=3000000, gid=4294967294),
                          Layer(PAX).file("b", "b", uid=3000000, gid=70000).dir("c", uid=2097152)],
    "times": lambda: [Layer(PAX).file("a", "a", mtime=1.5).file("b", "b", mtime=0)
                      .file("c", "c", mtime=4000000000).sym("d", "a", mtime=12345)],
    "gnu-long-names": lambda: [
        Layer().file("n" * 200, "n").file("p/" * 90 + "q" * 100, "q")
        .sym("l" * 120, "t" * 300).hard("h" * 150, "n" * 200)],
    "pax-long-names": lambda: [
        Layer(PAX).file("n" * 255, "n").file("p/" * 90 + "q" * 100, "q")
        .sym("l" * 120, "t" * 300).hard("h" * 150, "n" * 255)],
    "ustar-prefix": lambda: [
        Layer(tarfile.USTAR_FORMAT).file("prefix/" * 15 + "n" * 90, "n")],
    "odd-names": lambda: [
        Layer().file("with space", "1").file("new\nline", "2").file("back\\slash", "3")
        .file("-dash", "4").file("quote'\"", "5").file("ünï", "6").file("\udcff\udcfe", "7")
        .file("%41", "8").sym("tab\tlink", "a b\nc").file(" lead and trail ", "9").file("...", "10")],
    "written-forms": lambda: [
        Layer().file("./dot", "1").file("/absolute", "2").file("a//b/./c", "3").dir("d/")
        .hard("h", "./dot").hard("i", "//absolute")],
    "twice-in-a-layer": lambda: [
        Layer().file("a", "first").hard("keep", "a").file("a", "second").dir("d").file("d/x", "x")
        .file("d", "file").dir("d", 0o700)],
    "special-files": lambda: [
        Layer().add(tarfile.FIFOTYPE, "fifo", 0o622).add(tarfile.CHRTYPE, "null", 0o666)
        .add(tarfile.BLKTYPE, "disk", 0o660).dir("dev").add(tarfile.CHRTYPE, "dev/null", 0o666)],
    "device-over-file": lambda: [base(), Layer().add(tarfile.CHRTYPE, "etc/a", 0o600)],
    "attributes": lambda: [
        Layer(PAX).file("ping", "ELF", 0o755, pax={
            "SCHILY.xattr.security.capability": b"\x01\0\0\x02\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
            .decode("utf-8")})
        .file("u", "u", pax={"SCHILY.xattr.user.note": "hello"}).dir("d", pax={"SCHILY.xattr.user.d": "d"})],
    "attributes-replaced": lambda: [
        Layer(PAX).file("u", "u", pax={"SCHILY.xattr.user.note": "hello"})
        .dir("d", pax={"SCHILY.xattr.user.d": "d"}),
        Layer(PAX).file("u", "u").dir("d", pax={"SCHILY.xattr.user.e": "e"})],
    "empty-layer": lambda: [base(), Layer(), Layer().file("last", "l")],
    "many-layers": lambda: [base()] + [
        Layer().file("etc/n%d" % (i % 7), str(i)).gone("etc/n%d" % ((i + 3) % 7)) for i in range(60)],
    "deep": lambda: [deep(300)],
    "sparse-gnu": lambda: [Raw(gnu_sparse(["--format=gnu"]))],
    "sparse-pax-0.0": lambda: [Raw(gnu_sparse(["--format=pax", "--sparse-version=0.0"]))],
    "sparse-pax-0.1": lambda: [Raw(gnu_sparse(["--format=pax", "--sparse-version=0.1"]))],
    "sparse-pax-1.0": lambda: [Raw(gnu_sparse(["--format=pax", "--sparse-version=1.0"]))],
    "large-file": lambda: [
        Layer().file("big", bytes(range(256)) * 20000).file("tail", b"t" * 131073), Layer().hard("b2", "big")],
}

CONFIG = {"Env": ["PATH=/usr/bin:/bin", "A=b"], "Entrypoint": ["/usr/bin/sh"], "Cmd": ["-c", "true"],
          "User": "agent:staff", "WorkingDir": "/etc", "Labels": {"k": "v"}}


def pack(data, packing):
    if packing == "gzip":
        return gzip.compress(data, 6, mtime=0)
    if packing == "zstd":
        return subprocess.run(["zstd", "-qc"], input=data, check=True, stdout=subprocess.PIPE).stdout
    return data


def image_config(layers):
    return json.dumps({
        "architecture": "amd64", "os": "linux", "created": "2024-01-02T03:04:05Z", "config": CONFIG,
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(d).hexdigest() for d in layers]},
        "history": [{"created_by": "test"} for _ in layers],
    }).encode()


def write_oci(case, out, packing="none"):
    layers = [layer.bytes() for layer in CASES[case]()]
    blobs = out + "/blobs/sha256"
    os.makedirs(blobs)

    def put(data, media):
        digest = hashlib.sha256(data).hexdigest()
        with open(blobs + "/" + digest, "wb") as f:
            f.write(data)
        return {"mediaType": "application/vnd.oci.image." + media, "digest": "sha256:" + digest, "size": len(data)}

    end = {"none": "", "gzip": "+gzip", "zstd": "+zstd"}[packing]
    manifest = put(json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": put(image_config(layers), "config.v1+json"),
        "layers": [put(pack(d, packing), "layer.v1.tar" + end) for d in layers],
    }).encode(), "manifest.v1+json")
    manifest["annotations"] = {"org.opencontainers.image.ref.name": "latest"}
    with open(out + "/oci-layout", "w") as f:
        json.dump({"imageLayoutVersion": "1.0.0"}, f)
    with open(out + "/index.json", "w") as f:
        json.dump({"schemaVersion": 2, "manifests": [manifest]}, f)


def write_docker(case, path):
    """The old form: ID/layer.tar, equal layers as symlinks to the first."""
    layers = [layer.bytes() for layer in CASES[case]()]
    config = image_config(layers)
    name = hashlib.sha256(config).hexdigest() + ".json"
    outer = Layer()
    first = {}
    paths = []
    for i, data in enumerate(layers):
        digest = hashlib.sha256(data).hexdigest()
        paths.append("layer%d/layer.tar" % i)
        outer.dir("layer%d" % i).file("layer%d/VERSION" % i, "1.0")
        if digest in first:
            outer.sym(paths[-1], "../" + first[digest])
        else:
            first[digest] = paths[-1]
            outer.file(paths[-1], data)
    outer.file(name, config)
    outer.file("manifest.json", json.dumps([{"Config": name, "RepoTags": ["test:latest"], "Layers": paths}]))
    with open(path, "wb") as f:
        f.write(outer.bytes())


def bad_checksum():
    data = bytearray(base().bytes())
    data[512 * 3 + 148] ^= 1
    return bytes(data)


def header(name, kind=b"0", size=0, raw_size=None, magic=b"ustar  \0", link=b""):
    h = bytearray(512)
    h[0:len(name)] = name
    h[100:108] = b"0000644\0"
    h[108:116] = h[116:124] = b"0000000\0"
    h[124:136] = raw_size or b"%011o\0" % size
    h[136:148] = b"%011o\0" % TIME
    h[156:157] = kind
    h[157:157 + len(link)] = link
    h[257:265] = magic
    h[148:156] = b" " * 8
    h[148:156] = b"%06o\0 " % sum(h)
    return bytes(h)


def huge_sparse(size, stretches=(), stored=0):
    """One old GNU header: a file of that size with little or no data."""
    h = bytearray(header(b"holes", b"S", stored))
    for i, (at, length) in enumerate(stretches):
        h[386 + 24 * i:410 + 24 * i] = b"%011o\0%011o\0" % (at, length)
    h[483:495] = b"\x80\0\0\0" + struct.pack(">Q", size)
    h[148:156] = b" " * 8
    h[148:156] = b"%06o\0 " % sum(h)
    return bytes(h) + bytes(stored + 1024)


def many(n):
    """n files of no content, in 100 folders."""
    return b"".join(header(b"d%d/%d" % (i % 100, i)) for i in range(n)) + bytes(1024)


def far(n, last):
    """n names below a path of 3 750 spaces, which the index escapes."""
    folder = "/".join(" " * 250 for _ in range(15)) + "/"
    layer = Layer(PAX)
    for i in range(n):
        last(layer, folder + "%d" % i, folder + "0")
    return gzip.compress(layer.bytes(), 1)


def padded_links():
    """254 links, each padded to the longest target, on the way to 10 000 files."""
    layer = Layer(PAX)
    for i in range(253):
        layer.sym("l%d" % i, "./" * 2040 + "l%d" % (i + 1))
    layer.dir("l253")
    for i in range(10000):
        layer.file("l0/%d" % i)
    return gzip.compress(layer.bytes(), 1)


def write_gigabyte(path):
    """20 000 small files and one of 1 GiB of zeros, which the disk does not hold."""
    with open(path, "wb") as f:
        f.write(many(20000)[:-1024] + header(b"zeros", size=1 << 30))
        f.truncate(f.tell() + (1 << 30) + 1024)


def peak(args):
    """Run a command; print the most memory, in KiB, that it itself had."""
    p = subprocess.Popen(args, stdout=subprocess.DEVNULL)
    most = 0
    while p.poll() is None:
        try:
            with open("/proc/%d/status" % p.pid) as f:
                most = max([most] + [int(line.split()[1]) for line in f if line.startswith("VmHWM")])
        except OSError:
            pass
        time.sleep(0.01)
    print(most)
    sys.exit(p.returncode)


def variant(name, out):
    """An OCI layout with something wrong in it, or several images."""
    write_oci("plain", out)
    index = json.load(open(out + "/index.json"))
    first = index["manifests"][0]
    blob = out + "/blobs/sha256/"
    manifest = json.load(open(blob + first["digest"][7:]))
    layer = blob + manifest["layers"][0]["digest"][7:]
    if name == "damaged-layer":
        data = bytearray(open(layer, "rb").read())
        data[-1] ^= 1
        open(layer, "wb").write(data)
    elif name == "missing-layer":
        os.unlink(layer)
    elif name == "damaged-config":
        open(blob + manifest["config"]["digest"][7:], "a").write(" ")
    elif name == "two-images":
        second = dict(first, annotations={"org.opencontainers.image.ref.name": "other"})
        index["manifests"].append(second)
    elif name == "other-machine":
        first["platform"] = {"os": "linux", "architecture": "arm64"}
    elif name == "attestation":
        index["manifests"].append(dict(first, platform={"os": "unknown", "architecture": "unknown"},
                                       annotations={"vnd.docker.reference.type": "attestation-manifest"}))
    elif name == "digest-is-a-path":
        first["digest"] = "sha256:../../../etc/passwd"
    elif name == "index-is-no-json":
        index = None
    with open(out + "/index.json", "w") as f:
        f.write("{" if index is None else json.dumps(index))


HOSTILE = {
    "empty": lambda: b"",
    "text": lambda: b"this is no archive\n" * 100,
    "truncated-header": lambda: base().bytes()[:512 * 4 + 100],
    "truncated-content": lambda: Layer().file("a", "x" * 5000).bytes()[:3000],
    "no-end-mark": lambda: base().bytes()[:512 * 8],
    "bad-checksum": bad_checksum,
    "dot-dot": lambda: Layer().file("../evil", "x").bytes(),
    "dot-dot-inside": lambda: Layer().file("a/../../evil", "x").bytes(),
    "dot-dot-hard-link": lambda: Layer().file("a", "a").hard("b", "../../etc/passwd").bytes(),
    "hard-link-missing": lambda: Layer().hard("b", "/etc/passwd").bytes(),
    "hard-link-to-folder": lambda: Layer().dir("d").hard("b", "d").bytes(),
    "hard-link-to-itself": lambda: Layer().hard("b", "b").bytes(),
    "under-a-file": lambda: Layer().file("a", "a").file("a/b", "b").bytes(),
    "link-loop": lambda: Layer().sym("a", "b").sym("b", "a").file("a/x", "x").bytes(),
    "link-growth": lambda: Layer(PAX).sym("a", "a/" * 1500 + "b").file("a/x", "x").bytes(),
    "root-is-a-link": lambda: Layer().sym("./", "/etc").bytes(),
    "name-too-long": lambda: Layer().file("n" * 256, "x").bytes(),
    "path-too-long": lambda: Layer().file("abcdefgh/" * 500 + "x", "x").bytes(),
    "target-too-long": lambda: Layer().sym("a", "t" * 5000).bytes(),
    "empty-target": lambda: header(b"a", b"2") + bytes(1024),
    "unknown-type": lambda: header(b"a", b"Q") + bytes(1024),
    "size-of-all-bits": lambda: header(b"a", raw_size=b"\xff" * 12) + bytes(1024),
    "size-of-2-to-62": lambda: header(b"a", raw_size=b"\x80" + bytes(3) + b"\x40" + bytes(7)) + bytes(1024),
    "size-not-octal": lambda: header(b"a", raw_size=b"0000000009\0\0") + bytes(1024),
    "long-name-of-1-gib": lambda: header(b"././@LongLink", b"L", 1 << 30) + bytes(4096),
    "pax-without-entry": lambda: header(b"x", b"x", 0) + bytes(1024),
    "pax-bad-record": lambda: header(b"x", b"x", 10) + b"99 path=a\n" + bytes(502) + header(b"a") + bytes(1024),
    "pax-zero-record": lambda: header(b"x", b"x", 10) + b"0 path=ab\n" + bytes(502) + header(b"a") + bytes(1024),
    "pax-nul-in-path": lambda: header(b"x", b"x", 10) + b"10 path=\0\n" + bytes(502) + header(b"a") + bytes(1024),
    "sparse-10-gb": lambda: huge_sparse(10 << 30),
    "sparse-2-to-62": lambda: huge_sparse(1 << 62),
    "sparse-backwards": lambda: huge_sparse(5000, [(1024, 512), (0, 512)], 1024),
    "sparse-overlaps": lambda: huge_sparse(5000, [(0, 512), (256, 512)], 1024),
    "sparse-lacks-data": lambda: huge_sparse(5000, [(0, 512), (1024, 512)], 512),
    "sparse-past-its-end": lambda: huge_sparse(5000, [(4999, 512)], 512),
    "million-entries": lambda: gzip.compress(header(b"a") * 1000001 + bytes(1024), 1),
    "far-links": lambda: far(800, lambda t, name, first: t.sym(name, "x")),
    "far-programs": lambda: far(800, lambda t, name, first: t.file(name, "#!/bin/x" + name[-3:], 0o755)),
    "far-names-of-one": lambda: far(800, lambda t, name, first: t.file(name, "#!", 0o755) if name == first else t.hard(name, first)),
    "short-links": lambda: gzip.compress(b"".join(header(b"%d/%d" % (i % 300, i), b"2", link=b"x") for i in range(210000)) + bytes(1024), 1),
    "padded-links": padded_links,
    "crowded-folder": lambda: gzip.compress(b"".join(header(b"%d" % i) for i in range(230000)) + bytes(1024), 1),
    "zeros-behind-its-end": lambda: gzip.compress(base().bytes() + bytes(20 << 20), 1),
    "xz": lambda: b"\xfd7zXZ\0" + bytes(600),
    "gzip-truncated": lambda: gzip.compress(base().bytes())[:-40],
    "gzip-of-text": lambda: gzip.compress(b"this is no archive\n" * 100),
    "gzip-damaged": lambda: gzip.compress(base().bytes())[:-8] + b"12345678",
}


def entry_line(path, kind, mode, uid, gid, size, sha, link, mtime, xattrs, same):
    return "%s %s %04o %d:%d size=%d sha=%s link=%s time=%s xattr=%s same=%s" % (
        json.dumps(path), kind, mode, uid, gid, size, sha, json.dumps(link), mtime, json.dumps(xattrs), json.dumps(same))


def text(raw):
    return os.fsdecode(raw)


def show(rows):
    """rows: path -> dict; groups of one inode are named by their first path."""
    names = {}
    for path in sorted(rows):
        names.setdefault(rows[path]["inode"], path)
    for path in sorted(rows):
        r = rows[path]
        same = names[r["inode"]] if r["kind"] == "file" else path
        # Folders that no layer names have the time of unpacking elsewhere.
        when = r["mtime"] if r["kind"] == "file" else "-"
        print(entry_line(path, r["kind"], r["mode"], r["uid"], r["gid"], r["size"], r["sha"], r["link"], when,
                         sorted(r["xattrs"].items()), "" if same == path else same).encode("utf-8", "backslashreplace")
              .decode())


def list_dir(top):
    rows = {}
    top = os.fsencode(top)
    todo = [b""]
    while todo:
        rel = todo.pop()
        full = os.path.join(top, rel) if rel else top
        st = os.lstat(full)
        kind = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "sym", stat.S_IFIFO: "fifo"}.get(
            stat.S_IFMT(st.st_mode))
        if kind is None:
            continue
        xattrs = {n: os.getxattr(full, n, follow_symlinks=False).hex()
                  for n in os.listxattr(full, follow_symlinks=False) if n.startswith(("user.", "security.capability"))}
        row = {"kind": kind, "mode": 0o777 if kind == "sym" else stat.S_IMODE(st.st_mode), "uid": st.st_uid,
               "gid": st.st_gid, "size": 0, "sha": "-", "link": "", "mtime": int(st.st_mtime), "xattrs": xattrs,
               "inode": st.st_ino}
        if kind == "file":
            row["size"] = st.st_size
            with open(full, "rb") as f:
                row["sha"] = hashlib.file_digest(f, "sha256").hexdigest() if hasattr(hashlib, "file_digest") \
                    else hashlib.sha256(f.read()).hexdigest()
        elif kind == "sym":
            row["link"] = text(os.readlink(full))
        elif kind == "dir":
            todo += [os.path.join(rel, n) for n in os.listdir(full)]
        rows["/" + text(rel)] = row
    show(rows)


def list_tar(name):
    f = sys.stdin.buffer if name == "-" else open(name, "rb")
    rows = {}
    with tarfile.open(fileobj=f, mode="r|", errors="surrogateescape") as tar:
        for m in tar:
            path = "/" + os.path.normpath(m.name).lstrip("/")
            path = "/" if path == "/." else path
            if m.islnk():
                rows[path] = rows["/" + os.path.normpath(m.linkname).lstrip("/")]
                continue
            kind = "file" if m.isreg() else "dir" if m.isdir() else "sym" if m.issym() else "fifo" if m.isfifo() else None
            if kind is None:
                continue
            xattrs = {k[13:]: v.encode("utf-8", "surrogateescape").hex() for k, v in m.pax_headers.items()
                      if k.startswith("SCHILY.xattr.")}
            row = {"kind": kind, "mode": 0o777 if kind == "sym" else m.mode, "uid": m.uid, "gid": m.gid, "size": 0,
                   "sha": "-", "link": m.linkname if kind == "sym" else "", "mtime": int(m.mtime), "xattrs": xattrs,
                   "inode": path}
            if kind == "file":
                h = hashlib.sha256()
                data = tar.extractfile(m)
                for chunk in iter(lambda: data.read(1 << 20), b""):
                    h.update(chunk)
                row["size"], row["sha"] = m.size, h.hexdigest()
            rows[path] = row
    show(rows)


def main(args):
    if args[0] == "cases":
        print("\n".join(CASES))
    elif args[0] == "oci":
        write_oci(*args[1:])
    elif args[0] == "docker":
        write_docker(*args[1:])
    elif args[0] == "oci-all":
        for case in CASES:
            write_oci(case, args[1] + "/" + case)
    elif args[0] == "hostile-all":
        os.mkdir(args[1])
        for name, data in HOSTILE.items():
            with open(args[1] + "/" + name, "wb") as f:
                f.write(data())
    elif args[0] == "list-all":
        for case in CASES:
            path = args[1] + "/" + case
            with open(path + ".want", "w") as f, contextlib.redirect_stdout(f):
                list_dir(path + ".root")
            with open(path + ".got", "w") as f, contextlib.redirect_stdout(f):
                list_tar(path + ".ours")
    elif args[0] == "rootfs":
        with open(args[2], "wb") as f:
            f.write(CASES[args[1]]()[0].bytes())
    elif args[0] == "variant":
        variant(*args[1:])
    elif args[0] == "gigabyte":
        write_gigabyte(args[1])
    elif args[0] == "many":
        with open(args[2], "wb") as f:
            f.write(many(int(args[1])))
    elif args[0] == "peak":
        peak(args[1:])
    elif args[0] == "list-dir":
        list_dir(args[1])
    elif args[0] == "list-tar":
        list_tar(args[1])
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
