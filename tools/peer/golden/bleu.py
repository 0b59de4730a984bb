"""Scores small corpora with sacreBLEU and writes the numbers beside which the tests hold ours:

  python3 -m venv SOMEWHERE && SOMEWHERE/bin/pip install sacrebleu==2.6.0
  SOMEWHERE/bin/python tools/peer/golden/bleu.py tests/runtime/scores
  clang-format -i tests/runtime/scores/sacrebleu_*.h

Lines have what tokenizers tell apart: punctuation between digits and not, entities, quotes and symbols of several
scripts, spaces that are none of ASCII's. MADE are lines of a formula that the test repeats."""
import json
import os
import sys

import sacrebleu
from sacrebleu.metrics.bleu import BLEU

RULES = {"none": "kNone", "13a": "k13a", "intl": "kInternational"}

LINES = [
    "The cat sat on the mat.",
    "It costs 1,234.50 dollars (or 3,5 %), doesn't it?",
    "  two  spaces\tand a tab \u00a0and a no-break one \u2003 ",
    "1990-1995, 4-door; pre-2000 a-b -- end-",
    "&quot;A&amp;B&quot; &lt;tag&gt; &amp;lt; <skipped>done",
    "\u00abGuillemets\u00bb, \u201cquotes\u201d \u2026 and an em\u2014dash; 5\u20ac 3\u00d74=12 \u00b12\u00b0",
    "Perch\u00e9 no? \u00c8 vero: l\u2019ha detto.",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u300c\u5f15\u7528\u300d\u0967\u0968,\u0969",
    "ends with a number 2024.",
    "...!?.,;: {[(<>)]} @#$%^&*_+=|\\~`/ 'x' \"y\"",
    "a.b,c 1.a a.1 1. .1 ,2 3,",
    "\u00bd\u2167.\u00b2 \u2460,x x,\u2460 \u0660.\u0661",
    "STRASSE \u00c9T\u00c9 \u0391\u0392\u0393 \u0416 \u0130x",
    "",
]

# Name, hypotheses, references.
CORPORA = [
    ("same", LINES, LINES),
    ("near", [
        "the cat sat on a mat .", "It costs 1,234.50 dollar (or 3,5%), doesn't it?", "",
        "\u201cQuotes\u201d \u2014 5\u20ac, 3\u00d74=12", "Perche no? \u00c8 vero: l'ha detto.", "a a a a the the"
    ], [
        "The cat sat on the mat.", "It costs 1,234.50 dollars (or 3,5 %), doesn't it?", "An empty line was here.",
        "\u00abQuotes\u00bb \u2013 5 \u20ac; 3\u00d74=12", "Perch\u00e9 no? \u00c8 vero: l\u2019ha detto.", "a the a"
    ]),
    ("short", ["a b", "c d e"], ["a b", "c x e f"]),
    ("smoothed", ["a b c d e f", "u v"], ["a x b y c z d", "u v w"]),
    ("none", ["a b c d e"], ["v w x y z"]),
    ("empty", ["", ""], ["a b c", "d"]),
]

MADE = 150  # lines


def made(i, of_hypothesis):
    """Words by a formula; of hypotheses each seventh is another one and each fifth line is shorter."""
    words = [f"W{(i * i + 3 * j * j) % 23}" for j in range(5 + i % 19)]
    if of_hypothesis:
        words = [f"w{j}" if (i + 2 * j) % 7 == 0 else word for j, word in enumerate(words)]
        words = words[:len(words) - (2 if i % 5 == 0 else 0)]
    return " ".join(words) + ("." if i % 3 == 0 else "")


def literal(text):
    """A C++ string in bytes, none of which runs on into a digit behind it."""
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03o}" for b in text.encode()) + '"'


def strings(lines, indent):
    return "{" + f",\n{indent}".join(literal(line) for line in lines) + "}"


def options(rule, lower_case):
    return f"{{TokenRule::{RULES[rule]}, {json.dumps(lower_case)}}}"


def metric(rule, lower_case):
    return BLEU(tokenize=rule, lowercase=lower_case, force=True)


def scores(hypotheses, references):
    for rule in RULES:
        for lower_case in (False, True):
            score = metric(rule, lower_case).corpus_score(hypotheses, [references])
            precisions = ", ".join(f"{p!r}" for p in score.precisions)
            yield (f"{{{options(rule, lower_case)}, {score.score!r}, {{{precisions}}}, {score.bp!r}, "
                   f"{score.sys_len}, {score.ref_len}}}")


def write(folder, name, what, includes, types, lines):
    guard = f"PARTITA_TESTS_RUNTIME_SCORES_{name.upper()}_H_"
    with open(os.path.join(folder, name + ".h"), "w", encoding="utf-8") as file:
        file.write(f"""\
// Written by tools/peer/golden/bleu.py with sacreBLEU {sacrebleu.__version__}: {what}.
#ifndef {guard}
#define {guard}

{"".join(f"#include <{each}>" + chr(10) for each in includes)}
#include "runtime/scores/tokens.h"

namespace partita::sacrebleu {{

{types}
{"".join(line + chr(10) for line in lines)}
}}  // namespace partita::sacrebleu

#endif  // {guard}
""")


TOKENIZED = """\
struct Tokenized {
  std::string line;
  TokenOptions options;
  std::string tokens;  // with a space between them
};
"""

SCORED = """\
struct Scored {
  TokenOptions options;
  double bleu;
  std::array<double, 4> precisions;
  double brevity_penalty;
  int64_t hypothesis_words, reference_words;
};

struct Corpus {
  std::string name;
  std::vector<std::string> hypotheses, references;
  std::vector<Scored> scores;
};
"""


def all_tokenized():
    yield "inline std::vector<Tokenized> AllTokenized() {\n  return {"
    for line in LINES:
        for rule in RULES:
            for lower_case in (False, True):
                # Split as counting does.
                tokens = " ".join(metric(rule, lower_case)._preprocess_segment(line).split())
                yield f"      {{{literal(line)}, {options(rule, lower_case)}, {literal(tokens)}}},"
    yield "  };\n}"


def all_scored():
    yield "inline std::vector<Corpus> AllCorpora() {\n  return {"
    for name, hypotheses, references in CORPORA:
        yield (f'      {{"{name}",\n       {strings(hypotheses, " " * 8)},\n       {strings(references, " " * 8)},\n'
               f'       {{' + ",\n        ".join(scores(hypotheses, references)) + "}},")
    yield "  };\n}\n"
    yield f"inline constexpr int kMadeLines = {MADE};  // of the test's own making\n"
    yield "inline std::vector<Scored> MadeScores() {\n  return {"
    for score in scores([made(i, True) for i in range(MADE)], [made(i, False) for i in range(MADE)]):
        yield f"      {score},"
    yield "  };\n}"


def main():
    (folder,) = sys.argv[1:]
    write(folder, "sacrebleu_tokens", "lines as its tokenizers take them apart", ["string", "vector"], TOKENIZED,
          all_tokenized())
    write(folder, "sacrebleu_scores", "corpora as it scores them", ["array", "cstdint", "string", "vector"], SCORED,
          all_scored())


if __name__ == "__main__":
    main()
