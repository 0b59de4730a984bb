"""A copy of the checkout that can be changed and built: links, but for the folders in which something is written."""

import os
import shutil

ROOT = os.path.realpath(__file__).rsplit("/", 4)[0]


class LinkedTree:
    def __init__(self, place):
        self.place = place
        os.mkdir(place)
        for name in os.listdir(ROOT):
            if not name.startswith("bazel-") and name != ".git":
                os.symlink(os.path.join(ROOT, name), os.path.join(place, name))

    def read(self, path):
        with open(os.path.join(self.place, path), encoding="utf-8") as file:
            return file.read()

    def write(self, path, text):
        """A file of the copy's own, new or in place of the checkout's."""
        self.open(os.path.dirname(path))
        place = os.path.join(self.place, path)
        if os.path.islink(place):
            os.unlink(place)
        with open(place, "w", encoding="utf-8") as file:
            file.write(text)

    def open(self, folder):
        """Makes the folder one of the copy's own, with links to what the checkout's has."""
        path = os.path.join(self.place, folder)
        if os.path.dirname(folder):
            self.open(os.path.dirname(folder))
        if os.path.islink(path):
            os.unlink(path)
            os.mkdir(path)
            for name in os.listdir(os.path.join(ROOT, folder)):
                os.symlink(os.path.join(ROOT, folder, name), os.path.join(path, name))
        os.makedirs(path, exist_ok=True)

    def remove(self):
        shutil.rmtree(self.place)
