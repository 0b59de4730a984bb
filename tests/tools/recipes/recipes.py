"""Follows the "To add" recipes of the READMEs on a copy of the tree: adds what each one asks for, builds it and runs it.

  recipes.py           all recipes
  recipes.py NAME...   these

A recipe is a .toml file beside this one:

  readme = "ops/README.md"        says how, and contains
  says = "**To add an optimizer**"
  most_files = 2                  that may change, tests not counted
  [[file]] path, text             a new file
  [[edit]] path, find, replace    in a file of the tree, which has `find` once
  [[given]] path, text            what the commands read; counts for nothing
  [[command]] run, prints         for a shell; what its output must contain, a regular expression

A step of tools/test --all: Bazel runs no test that runs Bazel.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib

FOLDER = os.path.dirname(os.path.realpath(__file__))
ROOT = FOLDER.rsplit("/", 3)[0]
sys.path.insert(0, ROOT)

from tests.tools.bazel.linked_tree import LinkedTree  # noqa: E402


def read_recipe(name):
    with open(os.path.join(FOLDER, name + ".toml"), "rb") as file:
        return tomllib.load(file)


def add(recipe, tree):
    """Changes the tree as the recipe says; gives the paths that it changed, without those of tests."""
    for given in recipe.get("given", []):
        tree.write(given["path"], given["text"])
    for new in recipe.get("file", []):
        if os.path.exists(os.path.join(ROOT, new["path"])):
            raise ValueError(f"{new['path']} exists already")
        tree.write(new["path"], new["text"])
    for edit in recipe.get("edit", []):
        text = tree.read(edit["path"])
        if text.count(edit["find"]) != 1:
            raise ValueError(f"{edit['path']} has {text.count(edit['find'])} times: {edit['find']}")
        tree.write(edit["path"], text.replace(edit["find"], edit["replace"]))
    paths = {change["path"] for change in recipe.get("file", []) + recipe.get("edit", [])}
    return {path for path in paths if not path.startswith("tests/")}


def follow(name, tree, base):
    recipe = read_recipe(name)
    with open(os.path.join(ROOT, recipe["readme"]), encoding="utf-8") as file:
        if recipe["says"] not in " ".join(file.read().split()):
            raise ValueError(f"{recipe['readme']} does not say: {recipe['says']}")
    changed = add(recipe, tree)
    if len(changed) > recipe["most_files"]:
        raise ValueError(f"{len(changed)} files change, allowed are {recipe['most_files']}: {', '.join(sorted(changed))}")
    # Bazel's server belongs to the copy, and what the copy's .bazelrc says holds for it.
    shell = f'set -e; bazel() {{ command bazel "--output_base={base}" "$1" --noshow_progress --symlink_prefix=/ "${{@:2}}"; }}\n'
    for command in recipe["command"]:
        done = subprocess.run(["bash", "-c", shell + command["run"].replace("{tree}", tree.place)], cwd=tree.place,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if done.returncode != 0 or not re.search(command["prints"], done.stdout):
            raise ValueError(f"{command['run']}: exit code {done.returncode}, no '{command['prints']}' in:\n{done.stdout}")
    return len(changed)


def main(names):
    names = names or sorted(name[:-len(".toml")] for name in os.listdir(FOLDER) if name.endswith(".toml"))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        base, place = os.path.join(folder, "base"), os.path.join(folder, "tree")
        for name in names:
            start = time.monotonic()
            tree = LinkedTree(place)
            try:
                files = follow(name, tree, base)
                print(f"recipe {name}: {files} files, {time.monotonic() - start:.0f} s", flush=True)
            except ValueError as error:
                failed += 1
                print(f"recipe {name}: FAILED: {error}", flush=True)
            tree.remove()
        LinkedTree(place)  # a workspace, for the server to end in
        subprocess.run(["bazel", "--output_base=" + base, "clean", "--expunge"], cwd=place, check=False,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(f"recipes: {len(names) - failed} hold, {failed} do not")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
