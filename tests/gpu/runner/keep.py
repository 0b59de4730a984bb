"""What a run leaves in its folder: at most five files, each whole at every moment, so that what is copied back from a
borrowed machine is of use whenever its lease ends. results.json and table.txt; plans.zip, the libraries' timed plans;
timeline.json.gz; and log.txt (log.py), which only grows."""

import contextlib
import gzip
import io
import os
import zipfile

LARGEST = 16 << 20  # bytes of a file that may be left out: a timeline, plans


def write_whole(path, data):
    """A reader sees the old file or the new one. OSError: the old one is still there."""
    new = path + ".new"
    try:
        with open(new, "wb") as file:
            file.write(data)
        os.replace(new, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.remove(new)
        raise


class Keeper:
    """Plans of the session's bundle go to its folder after each check that found some, and from there into a bundle
    that has none."""

    def __init__(self, session):
        self.cache, self.plans = session.path("cache"), os.path.join(session.out, "plans.zip")
        self.timeline = session.path("models", "timeline.json")
        self.kept_timeline = os.path.join(session.out, "timeline.json.gz")
        self.known = set()

    def restore_plans(self):
        if os.path.isdir(self.cache) or not os.path.exists(self.plans):
            return
        with zipfile.ZipFile(self.plans) as archive:
            archive.extractall(self.cache)

    def found_plans(self):
        # PyTorch keeps code in the same cache.
        for folder, _, names in os.walk(os.path.join(self.cache, "partita")):
            for name in names:
                path = os.path.join(folder, name)
                yield os.path.relpath(path, self.cache), path

    def keep(self):
        self.keep_plans()
        self.keep_timeline()

    def keep_plans(self):
        found = dict(self.found_plans())
        if set(found) <= self.known:
            return
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, path in sorted(found.items()):
                archive.write(path, name)
        if data.tell() <= LARGEST:
            write_whole(self.plans, data.getvalue())
        self.known = set(found)

    def keep_timeline(self):
        if not os.path.exists(self.timeline):
            return
        with open(self.timeline, "rb") as file:
            data = gzip.compress(file.read())
        os.remove(self.timeline)
        if len(data) <= LARGEST:
            write_whole(self.kept_timeline, data)
