"""What tools/package builds, as somebody without this tree uses it: the archive unpacked anywhere, a program in C built
against it, the wheel under an interpreter that knows nothing else, and the Debian packages' contents. Called by
`tools/test --all`, because it builds."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Packages(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        told = subprocess.run([ROOT / "tools/package", f"--output={cls.folder / 'packages'}"], check=True,
                              capture_output=True, text=True).stdout
        cls.packages = [pathlib.Path(path) for path in re.findall(r"^package: (\S+) ", told, re.MULTILINE)]
        run("tar", "-C", cls.folder, "-xzf", cls.one(".tar.gz"))
        cls.unpacked, = cls.folder.glob("partita-*")

    @classmethod
    def one(cls, ending):
        return next(path for path in cls.packages if path.name.endswith(ending))

    def test_the_archive_trains_anywhere(self):
        graph = self.unpacked / "share/doc/partita/examples/models/mlp.pbtxt"
        told = run(self.unpacked / "bin/trainer", "train", "--mock-data", "--steps=3", "--dp=2", graph, cwd="/",
                   env={"HOME": str(self.folder)})
        self.assertIn("rank 1", told)
        needed = run("ldd", self.unpacked / "bin/trainer") + run("ldd", self.unpacked / "lib/libpartita.so.0")
        self.assertNotIn("not found", needed)
        foreign = [line for line in needed.splitlines() if "=> /" in line and str(self.unpacked) not in line]
        for line in foreign:
            self.assertRegex(line, r"\t(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux-x86-64)\.so")

    def test_a_program_is_built_against_the_archive(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.unpacked / "lib/pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "partita", env=environment).split()
        program = self.folder / "program"
        run("gcc", "-Wall", "-Werror", self.unpacked / "share/doc/partita/examples/train_and_predict.c", *flags,
            f"-Wl,-rpath,{self.unpacked}/lib", "-o", program)
        self.assertIn("is larger", run(program, env={}))
        source = (ROOT / "tests/partita/c/header_test.cc").read_text()
        (self.folder / "program.cc").write_text(source.replace('"partita/c/partita.hpp"', "<partita.hpp>"))
        run("g++", "-std=c++17", "-Wall", "-Werror", "-pthread", self.folder / "program.cc", *flags,
            f"-Wl,-rpath,{self.unpacked}/lib", "-o", program)
        self.assertEqual(run(program, cwd=self.folder, env={}), "")

    def test_the_wheel_trains(self):
        site = self.folder / "site"
        with zipfile.ZipFile(self.one(".whl")) as wheel:
            wheel.extractall(site)
        wheels = pathlib.Path(run("bazel", "info", "output_base", cwd=ROOT).strip()) / "external/python_wheels/site"
        code = ("import numpy, partita\n"
                "data = {'images': numpy.random.rand(64, 28, 28, 1), 'labels': numpy.zeros(64, int)}\n"
                "data = {'images': data['images'].astype('f4'), 'labels': data['labels'].astype('i4')}\n"
                f"session = partita.fit({str(ROOT / 'tools/models/examples/mlp.pbtxt')!r}, data, devices=2, epochs=2)\n"
                "print(len(session.epochs), partita.__file__)\n")
        told = run(sys.executable, "-c", code, cwd=self.folder,
                   env={"PYTHONPATH": f"{site}{os.pathsep}{wheels}", "HOME": str(self.folder)})
        self.assertEqual(told, f"2 {site}/partita/__init__.py\n")

    def test_programs_have_pages_and_completions(self):
        share, installed = self.unpacked / "share", self.folder / "installed"
        run("dpkg-deb", "--extract", next(one for one in self.packages if one.name.startswith("partita_")), installed)
        for program in (self.unpacked / "bin").iterdir():
            page = share / f"man/man1/{program.name}.1"
            self.assertEqual(run("gzip", "-dc", installed / f"usr/share/man/man1/{page.name}.gz"), page.read_text())
            completion = f"bash-completion/completions/{program.name}"
            self.assertEqual((installed / "usr/share" / completion).read_text(), (share / completion).read_text())
        self.assertIn("\n.BI \\-\\-epochs= N\n", (share / "man/man1/trainer-train.1").read_text())
        self.assertTrue((share / "doc/partita/examples/jobs/slurm.sh").is_file())

    def test_the_debian_packages_have_what_they_say(self):
        expected = {
            "partita": "./usr/bin/trainer",
            "libpartita0": "./usr/lib/x86_64-linux-gnu/libpartita.so.0",
            "libpartita-dev": "./usr/include/partita.h",
        }
        for name, path in expected.items():
            package = next(one for one in self.packages if one.name.startswith(name + "_"))
            self.assertIn(f" {path}\n", run("dpkg-deb", "--contents", package))
            depends = run("dpkg-deb", "--field", package, "Depends")
            self.assertIn("libpartita0 (= " if name != "libpartita0" else "libprotobuf32", depends)


if __name__ == "__main__":
    unittest.main()
