"""A file of the index of Debian's mirror that apt uses here, fetched and checked: descriptions of packages, say."""

import hashlib
import subprocess
import sys

from debian_package import CACHE

SUITE = "bookworm main"
HELPER = "/usr/lib/apt/apt-helper"  # fetches through apt's proxies, and goes on where a download was cut off


def mirror(script):
    """Where the suite lies."""
    command = ["apt-get", "indextargets", "--format", "$(CODENAME) $(COMPONENT) $(BASE_URI)", "Created-By: Packages"]
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        suite, _, base = line.rpartition(" ")
        if suite == SUITE:
            return base
    sys.exit(f"{script}: apt has no {SUITE}; a line for it in /etc/apt/sources.list.d is needed")


def fetched(folder, name, sha256, script):
    """The path of FOLDER/NAME with this sum, in a folder that is kept. Ends `script` with a sentence if there is none."""
    CACHE.mkdir(parents=True, exist_ok=True)
    path = CACHE / f"{sha256[:8]}_{name}"
    if not path.exists():
        unfinished = path.with_name("." + path.name)
        url = f"{mirror(script)}{folder}/by-hash/SHA256/{sha256}"
        options = ["-qq", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3"]
        command = [HELPER, *options, "download-file", url, unfinished, f"SHA256:{sha256}"]
        if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode != 0:
            sys.exit(f"{script}: {url} is not there; put {folder}/{name} of the release that has this sum at {path}")
        unfinished.rename(path)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        sys.exit(f"{script}: {path}: found the sha256 {found}, expected is {sha256}")
    return path
