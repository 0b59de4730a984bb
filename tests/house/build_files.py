"""What BUILD files say: targets, what they are made of, what they depend on. A BUILD file can be run as Python."""

import builtins
import collections
import fnmatch
import os
import sys

Target = collections.namedtuple("Target", "label kind line srcs hdrs deps")


class _Build(dict):
    """The names of a BUILD file. Of a name that is not known a call is a rule, and its value an empty list."""

    def __init__(self, base, package, files):
        super().__init__()
        self.base, self.package, self.files = base, package, files
        self.targets = []
        self.rules = {}  # that have another name in this file
        self["load"] = self.load
        self["package"] = self["package_group"] = self["exports_files"] = self["licenses"] = lambda *_, **__: None
        self["select"] = self.select
        self["glob"] = self.glob

    def load(self, _file, *names, **renamed):
        self.update({name: [] for name in names if name.isupper()})
        self.rules.update(renamed)

    def __missing__(self, name):
        if not name.islower() or hasattr(builtins, name):
            raise KeyError(name)
        return lambda **attributes: self.add(self.rules.get(name, name), sys._getframe(1).f_lineno, attributes)

    @staticmethod
    def select(branches):
        """All branches one after the other: what may be a part of the target."""
        values = list(branches.values())
        return sum(values, []) if isinstance(values[0], list) else values[0]

    def glob(self, include, exclude=()):
        def matches(patterns):
            return {f for f in self.files for p in patterns if fnmatch.fnmatch(f, p) and ("/" in p or "/" not in f)}
        return sorted(matches(include) - matches(exclude))

    def label(self, name):
        """//folder:name in full, of a label in any form."""
        if name.startswith(":"):
            return f"//{self.package}{name}"
        if name.startswith("//") and ":" not in name:
            return name + ":" + name.rsplit("/", 1)[1]
        return name

    def add(self, kind, line, attributes):
        def paths(attribute):
            named = [f for f in attributes.get(attribute, []) if not f.startswith(("//", "@", ":"))]
            return [os.path.join(self.package, f) for f in named]
        if "name" in attributes:
            self.targets.append(Target(self.label(":" + attributes["name"]), kind, line, paths("srcs"),
                                       paths("hdrs") + paths("textual_hdrs"),
                                       [self.label(dep) for dep in attributes.get("deps", [])]))


def packages(paths):
    return [os.path.dirname(path) for path in paths if os.path.basename(path) == "BUILD"]


def files_of(package, paths):
    """Those that belong to the package and to no package below it, from its folder."""
    prefix = package + "/" if package else ""
    below = [p + "/" for p in packages(paths) if p != package and p.startswith(prefix)]
    return [f[len(prefix):] for f in paths if f.startswith(prefix) and not f.startswith(tuple(below))]


def targets_of(base, package, paths):
    with open(os.path.join(base, package, "BUILD"), encoding="utf-8") as file:
        build = _Build(base, package, files_of(package, paths))
        exec(compile(file.read(), f"{package}/BUILD", "exec"), build)  # the repository's own, like this test
    return build.targets


def targets(base, paths):
    return [target for package in packages(paths) for target in targets_of(base, package, paths)]
