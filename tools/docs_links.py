"""A hook of MkDocs (tools/docs.yml): makes links of citations such as `docs/design.md 5.2`, and text of links to files
that are not part of the site.
"""

import os
import re
import sys

from markdown.extensions.toc import slugify

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from tests.house import documents  # noqa: E402

# Code and links stay as they are.
KEPT = re.compile(r"^```.*?^```$|`[^`]*`|\[[^\]]*\]\([^)]*\)", re.MULTILINE | re.DOTALL)


def anchors(path):
    """The anchor of each numbered section of a document."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = documents.FENCE.sub("", file.read())
    return {heading.split()[0]: slugify(heading.replace("`", ""), "-")
            for heading in re.findall(r"^#+ (\d.*)$", text, re.MULTILINE)}


def linked(match, folder):
    """A citation whose document and sections are links."""
    path, numbers = match.group(1), match.group(2)
    if not path.startswith("docs/"):
        return match.group()
    target = os.path.relpath(path, folder)
    if numbers is None:
        return f"[{path}]({target})"
    of = anchors(path)
    before = match.group()[:match.start(2) - match.start()]
    first, *others = re.split(rf"({documents.NUMBER})", numbers)[1:]
    rest = "".join(f"[{part}]({target}#{of[part]})" if part in of else part for part in others)
    return f"[{' '.join(before.split())} {first}]({target}#{of[first]}){rest}"


def kept(match, folder):
    """Code, or a link; the text of a link that leaves docs/."""
    link = documents.LINK.fullmatch(match.group())
    if link is None or "://" in link.group(1):
        return match.group()
    path = os.path.normpath(os.path.join(folder, link.group(1).partition("#")[0]))
    return match.group() if path.startswith("docs") else f"`{path}`"


def on_page_markdown(markdown, page, **_):
    folder = os.path.dirname(os.path.join("docs", page.file.src_uri))
    parts, end = [], 0
    for match in KEPT.finditer(markdown):
        parts += [documents.DOCUMENT.sub(lambda cited: linked(cited, folder), markdown[end:match.start()]),
                  kept(match, folder)]
        end = match.end()
    return "".join(parts) + documents.DOCUMENT.sub(lambda cited: linked(cited, folder), markdown[end:])
