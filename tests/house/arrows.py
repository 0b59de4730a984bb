"""Rules for includes, over the table of tools/bazel/arrows.bzl, of which BUILD files make their visibility."""

import collections
import os
import re

from tests.house import repository


def read_table():
    with open(os.path.join(repository.root(), "tools/bazel/arrows.bzl"), encoding="utf-8") as file:
        names = {}
        exec(file.read(), names)  # the repository's own, like this test
    return names["ARROWS"]


ARROWS = read_table()

# Who may include everything but those that stand on it: tools not tests. That they have an order is tested.
TOPS = {"tools": ("tests",), "tests": ()}


def folder(path):
    return os.path.dirname(path)


def top(path):
    return path.split("/", 1)[0]


def may_include(source, target, arrows=None):
    """`source` and `target` are folders."""
    arrows = ARROWS if arrows is None else arrows
    if source == target:
        return True
    if top(source) in TOPS:
        return top(target) not in TOPS[top(source)]
    return target in arrows.get(source, "").split()


def against_the_arrows(includes):
    """A sentence for each include that is not allowed."""
    return [f"{i.file}:{i.line} includes {i.header}; {folder(i.file)} may include: {ARROWS.get(folder(i.file), '')}"
            for i in includes if not may_include(folder(i.file), folder(i.header))]


def written_by_hand(path, build):
    """A sentence for each visibility in a BUILD file that is wider than what includers() makes of the table."""
    return [f"{path}: {label} is not of the table: write includers()"
            for label in re.findall(r'"(//[\w/]+:__subpackages__)"', build)
            if folder(path) in ARROWS and top(label[len("//"):].split(":")[0]) not in TOPS]


def graph_of(includes):
    """What each folder includes."""
    edges = collections.defaultdict(set)
    for include in includes:
        if folder(include.file) != folder(include.header):
            edges[folder(include.file)].add(folder(include.header))
    return edges


def circle(edges):
    """Folders that lead back to the first of them, or nothing."""
    done = set()

    def search(node, path):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return []
        for following in sorted(edges.get(node, ())):
            found = search(following, path + [node])
            if found:
                return found
        done.add(node)
        return []

    for start in sorted(edges):
        found = search(start, [])
        if found:
            return found
    return []
