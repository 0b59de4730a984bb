"""Rules for what comments and documents say of each other. Each gives sentences that say what is wrong and where.

A citation is `docs/NAME.md 5.2`, `docs/NAME.md 1.8 and 1.9` or `docs/NAME.md section 3`, perhaps over two lines of a
comment.
"""

import math
import os
import re

from tests.house import repository

SOURCES = (".h", ".cc", ".cu", ".py", ".proto", ".bzl", ".md", ".pbtxt", "BUILD", "WORKSPACE")
FOLDERS = ("docs", "graph", "ops", "partitioner", "proto", "runtime", "tests", "tools")
OWN = ("tests/house/documents_test.py",)  # plants errors
PLACEHOLDERS = ("NAME", "FILE", "GRAPH")  # that stand for any name

# A folder's README says what lives there, what it may know and how one more is added: at most so many lines of so many
# columns, headings and empty lines not counted. The main README is what a newcomer reads in five minutes.
README_LINES = 15
MAIN_README_LINES = 100
COLUMNS = 120

GAP = r"(?:[ \t]+|[ \t]*\n[ \t]*(?://|\#|\*)?[ \t]*)"  # between words, also over the end of a line of a comment
NUMBER = r"\d+(?:\.\d+)*"
NUMBERS = rf"{GAP}(?:sections?{GAP})?({NUMBER}(?:(?:,{GAP}|{GAP}and{GAP}|{GAP}to{GAP}){NUMBER})*)"
DOCUMENT = re.compile(rf"(?<![\w/.-])((?:[\w.-]+/)*[\w-]+\.md)\b(?:{NUMBERS})?")
HEADING = re.compile(rf"^#+ ({NUMBER})\b", re.MULTILINE)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
MENTION = re.compile(
    rf"(?<![\w/.{{<@-])((?:{'|'.join(FOLDERS)})/[\w./-]*\w\.(?:h|cc|cu|py|proto|md|bzl|pbtxt))(?![\w*{{])"
)
NOT_COMMENTS = re.compile(r'^\s*#(?:include|ifndef|define|endif).*$|"[^"\n]*"', re.MULTILINE)
ARXIV = re.compile(r"(?<![\w.])(\d{4}\.\d{5})(?![\w.])")
AUTHORS = rf"([A-Z][A-Za-z]+)(?:{GAP}et{GAP}al\.|{GAP}and{GAP}[A-Z][A-Za-z]+)"
WORK = re.compile(rf"{AUTHORS},?{GAP}\(?(?:[A-Z]\w+{GAP})?((?:19|20)\d\d)\b")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


class Tree:
    """The text files of a checkout, by their path from its root."""

    def __init__(self, root):
        self.root = root
        paths = [path for path in repository.files(root) if path.endswith(SOURCES) and path not in OWN]
        self.texts = {path: self.read(path) for path in paths}

    def read(self, path):
        return repository.read(self.root, path)

    def has(self, path):
        return os.path.exists(os.path.join(self.root, path))

    def find(self, path, source):
        """A path as `source` may write it: from the root, or from its own folder."""
        for candidate in (path, os.path.join(os.path.dirname(source), path)):
            if self.has(candidate):
                return os.path.normpath(candidate)
        return None


def place(path, text, offset):
    return f"{path}:{text.count(chr(10), 0, offset) + 1}"


def is_placeholder(path):
    return os.path.basename(path).split(".")[0] in PLACEHOLDERS


def blank(match):
    """As many lines and columns of nothing."""
    return re.sub(r"[^\n]", " ", match.group(0))


def broken_citations(tree):
    """Documents that are not there, and sections that they do not have."""
    for path, text in tree.texts.items():
        for match in DOCUMENT.finditer(text):
            document, numbers = match.groups()
            if is_placeholder(document):
                continue
            found = tree.find(document, path)
            if found is None:
                yield f"{place(path, text, match.start())}: {document} is not there"
                continue
            sections = HEADING.findall(tree.read(found))
            for number in re.findall(NUMBER, numbers or ""):
                if number not in sections:
                    yield f"{place(path, text, match.start())}: {document} has no section {number}"


def broken_mentions(tree):
    """Files of ours that comments and documents name; includes and imports are the compilers' to check."""
    for path, text in tree.texts.items():
        comments = text if path.endswith(".md") else NOT_COMMENTS.sub(blank, text)
        for match in MENTION.finditer(comments):
            if not tree.has(match.group(1)) and not is_placeholder(match.group(1)):
                yield f"{place(path, text, match.start())}: {match.group(1)} is not there"


def anchor(heading):
    """A heading as GitHub makes a link of it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def broken_links(tree):
    """Relative links of documents, and the headings behind `#`."""
    for path, text in tree.texts.items():
        if not path.endswith(".md"):
            continue
        for match in LINK.finditer(FENCE.sub(blank, text)):
            target, _, heading = match.group(1).partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            linked = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            where = place(path, text, match.start())
            if not tree.has(linked):
                yield f"{where}: the link {match.group(1)} leads nowhere"
            elif heading and heading not in map(anchor, re.findall(r"^#+ (.*)$", tree.read(linked), re.MULTILINE)):
                yield f"{where}: {linked} has no heading #{heading}"


def lines_of(text):
    """Lines of text of COLUMNS columns, without headings, empty lines and the line under a table's head."""
    lines = [line for line in text.splitlines() if line.strip() and not re.match(r"#+ |\|[-| ]+\|$", line)]
    return sum(math.ceil(len(line) / COLUMNS) for line in lines)


def long_readmes(tree):
    """What README.md says of a folder: its own section, or that of a folder below."""
    for path, text in tree.texts.items():
        if os.path.basename(path) != "README.md":
            continue
        sections = [text] if path == "README.md" else re.split(r"^## ", text, flags=re.MULTILINE)
        most = MAIN_README_LINES if path == "README.md" else README_LINES
        for section in sections:
            if lines_of(section) > most:
                title = section.partition("\n")[0].lstrip("# ")
                yield f"{path}: {title}: has {lines_of(section)} lines of {COLUMNS} columns, at most {most} are allowed"


def unknown_works(tree):
    """Papers that sources name by arXiv number, or by author and year, and docs/papers.md does not."""
    papers = tree.texts["docs/papers.md"]
    for path, text in tree.texts.items():
        for match in ARXIV.finditer(text):
            if match.group(1) not in papers:
                yield f"{place(path, text, match.start())}: docs/papers.md does not know arXiv {match.group(1)}"
        for match in WORK.finditer(text):
            author, year = match.groups()
            if not re.search(rf"\b{author}\b[^#]*?\b{year}\b", papers):
                yield f"{place(path, text, match.start())}: docs/papers.md does not know {author} {year}"


def false_quotes(tree):
    """Blocks of docs/derivation.md section 4 are lines of the golden file that their section links to."""
    document = "docs/derivation.md"
    for section in re.split(r"^### ", tree.texts[document].partition("\n## 4 ")[2], flags=re.MULTILINE)[1:]:
        title = section.splitlines()[0]
        golden = re.search(r"\]\(\.\./(tests/graph/derivation/\w+\.txt)\)", section)
        block = re.search(r"^```\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        if golden is None or block is None or not tree.has(golden.group(1)):
            yield f"{document}: {title}: quotes no golden file"
            continue
        lines = set(tree.read(golden.group(1)).splitlines())
        for line in block.group(1).splitlines():
            if line not in lines:
                yield f"{document}: {title}: {golden.group(1)} has no line {line}"


def unchanged_version(tree):
    """The newest section of the changelog is the version that programs print."""
    newest = re.search(r"^## (\S+)", tree.texts.get("CHANGELOG.md", ""), re.MULTILINE)
    version = re.search(r'kToolVersion\[\] = "([^"]*)"', tree.texts.get("run/host/version.h", ""))
    if newest and version and newest.group(1) != version.group(1):
        yield f"CHANGELOG.md: the newest section is {newest.group(1)}; kToolVersion is {version.group(1)}"


def omitted_pages(tree):
    """Documents that the site's navigation lacks: tools/docs refuses them."""
    navigation = "tools/docs.yml"
    if not tree.has(navigation):
        return
    listed = re.findall(r": (\S+\.md)$", tree.read(navigation), re.MULTILINE)
    for path in tree.texts:
        if path.startswith("docs/") and path.removeprefix("docs/") not in listed:
            yield f"{navigation}: lacks {path}"


RULES = (broken_citations, broken_mentions, broken_links, long_readmes, unknown_works, false_quotes, unchanged_version,
         omitted_pages)
