#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""packages.py DIR: the package `greet` as a wheel, a tar of sources and a deb."""
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile


def wheel(folder):
    info = "greet-1.0.dist-info/"
    files = {
        "greet/__init__.py": "def main():\n    print('greetings from a wheel')\n",
        info + "METADATA": "Metadata-Version: 2.1\nName: greet\nVersion: 1.0\n",
        info + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[info + "RECORD"] = "".join(name + ",,\n" for name in [*files, info + "RECORD"])
    with zipfile.ZipFile(folder + "/greet-1.0-py3-none-any.whl", "w") as z:
        for name, text in files.items():
            z.writestr(name, text)


def sources(folder):
    files = {
        "greet/configure": "echo 'out=greet' >config; echo configured\n",
        "greet/install": ". ./config; mkdir -p $1/bin; cp greet.sh $1/bin/$out; chmod 755 $1/bin/$out\n",
        "greet/greet.sh": "#!/bin/sh\necho greetings from sources\n",
    }
    with tarfile.open(folder + "/greet.tar.gz", "w:gz") as t:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            entry.mode = 0o755
            t.addfile(entry, io.BytesIO(text.encode()))


def deb(folder):
    with tempfile.TemporaryDirectory() as stage:
        for name, mode, text in (
                ("DEBIAN/control", 0o644, "Package: greet\nVersion: 1.0\nArchitecture: all\n"
                 "Maintainer: nobody <nobody@example.invalid>\nDescription: greets\n"),
                ("usr/bin/greet", 0o755, "#!/bin/sh\necho greetings from a deb\n")):
            os.makedirs(os.path.dirname(f"{stage}/{name}"), 0o755, exist_ok=True)
            with open(f"{stage}/{name}", "w", encoding="ascii") as f:
                f.write(text)
            os.chmod(f"{stage}/{name}", mode)
        os.chmod(stage, 0o755)
        subprocess.check_call(["dpkg-deb", "--root-owner-group", "-Zxz", "-b", stage, folder + "/greet.deb"],
                              stdout=subprocess.DEVNULL)


os.umask(0o022)
wheel(sys.argv[1])
sources(sys.argv[1])
deb(sys.argv[1])
