"""Reads the pages that commands write, as a browser without a network has them."""

import html.parser
import re

VOID = {"meta"}
LOADING = {"src", "srcset", "href", "xlink:href", "data", "action", "background", "poster"}


class Page(html.parser.HTMLParser):
    """Tables by caption, text, elements; fails where elements are not closed in turn or something would be loaded."""

    def __init__(self, path):
        super().__init__()
        self.tables, self.elements, self.open, self.cells = {}, [], [], []
        with open(path, encoding="utf-8") as file:
            self.source = file.read()
        self.text = ""
        self.feed(self.source)
        self.close()
        assert not self.open, self.open
        assert self.source.endswith("</body></html>\n"), "the page is cut off"
        assert not re.search(r"https?:|@import|url\(", self.source)
        assert "default-src 'none'" in self.source

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        assert tag not in ("script", "link", "iframe", "img", "object", "embed"), tag
        for name, value in names.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in LOADING or value.startswith("#"), (tag, name, value)
        self.elements.append((tag, names))
        if tag in VOID:
            return
        self.open.append(tag)
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag
        if tag == "table":
            self.tables[self.caption] = self.cells
            self.cells = []

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data
        if self.open and self.open[-1] == "caption":
            self.caption = data
        if self.cells and self.open[-1] in ("td", "th"):
            self.cells[-1][-1] += data

    def table(self, caption):
        """Rows as objects by the names of the columns."""
        (rows,) = [rows for name, rows in self.tables.items() if name.startswith(caption)]
        return [dict(zip(rows[0], row)) for row in rows[1:]]

    def count(self, tag, **attributes):
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return sum(tag == one and wanted.items() <= names.items() for one, names in self.elements)


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055)**2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Of WCAG 2: 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def themes(source):
    """The colours of the light and of the dark theme, by name."""
    light, dark = source.split("prefers-color-scheme: dark")
    return [dict(re.findall(r"--(\w+): (#\w{6});", theme)) for theme in (light, dark)]
