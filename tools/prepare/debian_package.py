"""A package of Debian's, fetched and checked, not installed: what the scripts of this folder make data sets of."""

import hashlib
import pathlib
import subprocess
import sys
import tarfile
import tempfile

CACHE = pathlib.Path.home() / ".cache/partita/packages"


def fetched(package, version, sha256, script):
    """The path of the package, in a folder that is kept. Ends `script` with a sentence if it is another one."""
    CACHE.mkdir(parents=True, exist_ok=True)
    path = CACHE / f"{package}_{version.replace(':', '%3a')}_all.deb"
    if not path.exists():
        command = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", f"{package}={version}"]
        with tempfile.TemporaryDirectory(dir=CACHE, prefix=".unfinished_") as unfinished:
            done = subprocess.run(command, cwd=unfinished, check=False)
            whole = pathlib.Path(unfinished) / path.name
            if done.returncode != 0 or not whole.exists():
                sys.exit(f"{script}: apt-get has no {package} {version}; {path} of snapshot.debian.org does as well")
            whole.rename(path)  # it has its name when all of it is there
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        sys.exit(f"{script}: {path}: found the sha256 {found}, expected is {sha256}")
    return path


def files(path):
    """(name, bytes) of the files of a package, in its order."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE) as unpacked:
        with tarfile.open(fileobj=unpacked.stdout, mode="r|") as archive:
            for member in archive:
                if member.isfile():
                    yield member.name, archive.extractfile(member).read()
