"""What the scripts take out of small packages that are made up: which files, which words, in which form."""

import gzip
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.abspath("tools/prepare")
sys.path.insert(0, FOLDER)


def script(name):
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(FOLDER, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


class ExtractionTest(unittest.TestCase):

    def package(self, files):
        """A Debian package with these files, by their path below its root."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = os.path.join(folder.name, "root")
        control = "Package: words\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: none\n"
        for name, contents in {"DEBIAN/control": control.encode(), **files}.items():
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(contents)
        path = os.path.join(folder.name, "words.deb")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, path], check=True, stdout=subprocess.DEVNULL)
        return path

    def test_the_kernels_words(self):
        kernel_words = script("kernel_words")
        inside = "usr/share/doc/linux-doc-6.1/Documentation/"
        package = self.package({
            inside + "b.txt": b"Plain text\n",
            inside + "a/index.rst.gz": gzip.compress("The CPU\u2019s 2 caches,\nread-only; don't\n \n*Next* one.".encode()),
            inside + "translations/it/a.rst": b"altro\n",
            inside + "picture.svg": b"<svg/>",
            "usr/share/doc/linux-doc-6.1/copyright.txt": b"mine\n"})
        texts = kernel_words.texts(package)
        self.assertEqual([name for name, _ in texts], ["a/index.rst", "b.txt"])
        self.assertEqual([list(kernel_words.paragraphs(text)) for _, text in texts],
                         [[["the", "cpu", "s", "caches", "read-only", "don't"], ["next", "one"]], [["plain", "text"]]])

    def test_pronunciations(self):
        pronunciations = script("pronunciations")
        dictionary = (b'MNCL\n("read" nil (((r eh d) 1)))\n("read" nil (((r iy d) 1)))\n("USA" nil (((y uw) 1)))\n'
                      b'("ability" nil (((ax) 0) ((b ih l) 1) ((ax t) 0) ((iy) 0)))\n("it\'s" nil (((ih t s) 1)))\n')
        package = self.package({"usr/share/festival/dicts/cmu/cmudict-0.4.out": dictionary,
                                "usr/share/festival/dicts/cmu/other.out": b'("a" nil (((ey) 1)))\n'})
        self.assertEqual(pronunciations.pronunciations(package),
                         {"read": ["R", "EH1", "D"],
                          "ability": ["AX0", "B", "IH1", "L", "AX0", "T", "IY0"]})

    def test_descriptions(self):
        descriptions = script("descriptions")
        english = descriptions.descriptions(
            "Package: libfoo1\nDescription-md5: 1\nDescription-en: Foo library\n It does\n things.\n .\n Two:\n"
            "  * one\n  * and\n    more\n\nPackage: libfoo-dev\nDescription-md5: 1\nDescription-en: same\n\n"
            "Package: bar\nDescription-md5: 2\nDescription-en: Bar\n\n")
        self.assertEqual(english, {"1": ("libfoo1", ["foo library", "it does things.", "two:", "one", "and more"]),
                                   "2": ("bar", ["bar"])})
        italian = {"1": ("libfoo1", ["foo", "fa cose.", "due:", "one", "e altro"]), "2": ("bar", ["a", "b"])}
        pairs = descriptions.aligned(english, italian)
        self.assertEqual(sorted(pairs["train"] + pairs["test"]),  # what is not translated is no pair
                         [("and more", "e altro"), ("foo library", "foo"), ("it does things.", "fa cose."),
                          ("two:", "due:")])
        self.assertEqual(descriptions.family("libfoo1"), descriptions.family("libfoo-dev"))


if __name__ == "__main__":
    unittest.main()
