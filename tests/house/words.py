"""Phrases that Partita's prose does not use, and what to write instead.

Only phrases that are always wrong here are listed. Words that are right in another sense ("of which", "place", "given")
are left to reviewers.
"""

import re

# The phrase, with one space for any white space, and what to write.
PHRASES = (
    (r"reckon\w*", "estimate, compute"),
    (r"(?:go|goes|going|gone|went) on(?: with| from| to| at| after| as| where| until|[,.;:])", "resume, continue"),
    (r"(?:how|so) manyth", "the sequence number"),
    (r"told(?! apart)|tells? of", "report, receive, pass, know"),
    (r"nobody|noone|anybody|everybody", "no caller, any thread: name who"),
    (r"whoever", "the caller, the thread that"),
    (r"so often(?:[,;:]| in| when)|so many", "every N, N, at most N"),
    (r"to the bit", "bitwise identical"),
    (r"(?:hold|holds|holding|held)(?: [\w'-]+){0,4} against", "compare with"),
    (r"by what(?! is| are| was| each)", "how, by the key that"),
    (r"(?:leave|leaves|leaving|left) out", "skip, omit"),
    (r"(?:hand|hands|handed|handing) out", "distribute, assign, return"),
    (r"before (?:they|it) sleeps?", "before blocking"),
    (r"people", "users"),
    (r"ways to choose a strategy", "strategy search"),
)
SLIP = re.compile(
    "|".join(rf"(?P<p{i}>\b(?:{phrase}))(?!\w)".replace(" ", r"\s+") for i, (phrase, _) in enumerate(PHRASES)),
    re.IGNORECASE)

QUOTED = re.compile(r'``.*?``|`[^`\n]*`|"[^"\n]*"')
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"//(.*)$", re.MULTILINE)
HELP = re.compile(r'\bhelp:(?:\s*"(?:[^"\\\n]|\\.)*")+')
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def only(matches, text):
    """The text with everything blank but what group 1 of each match has, at the same place."""
    kept, end = [], 0
    for match in matches:
        kept += [blank(text[end:match.start(1)]), match.group(1)]
        end = match.end(1)
    return "".join(kept) + blank(text[end:])


def prose(path, text):
    """What of a file is prose: a document, the comments of a header, the help texts of flags in a proto."""
    if path.endswith(".md"):
        text = FENCE.sub(lambda match: blank(match.group()), text)
    elif path.endswith(".h"):
        text = only(COMMENT.finditer(text), text)
    else:
        return "".join(only(LITERAL.finditer(call), call) if HELP.fullmatch(call) else blank(call)
                       for call in re.split(f"({HELP.pattern})", text))
    return QUOTED.sub(lambda match: blank(match.group()), text)


def slips(path, text):
    """A sentence for each phrase of the list in a file's prose."""
    found = prose(path, text)
    for match in SLIP.finditer(found):
        instead = PHRASES[int(match.lastgroup[1:])][1]
        line = found.count("\n", 0, match.start()) + 1
        yield f"{path}:{line}: '{' '.join(match.group().split())}'; write: {instead}"
