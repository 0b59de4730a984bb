#!/usr/bin/env python3
"""Prints what a run of a GPU bundle found as Markdown for tests/gpu/RESULTS.md:

    ./table out/results.json
"""

import json
import sys

HEAD = """| model | precision | batch | Partita | of the limit | PyTorch, best form | Partita by PyTorch |
|---|---|---|---|---|---|---|"""


def row_of(result):
    """The line of a benchmark's row; a check without one says why."""
    if result["outcome"] != "passed":
        return f"| {result['name'].removeprefix('steps of ')} | | | {result['outcome']}: {result['detail']} | | | |"
    row = result["row"]
    best = next((other for other in row["others"] if other["name"] == row["best"]), None)
    peer, ratio = "not measured", ""
    if best is not None:
        peer = f"{best['per_s']['median']:.0f} ({best['name']})"
        ratio = f"{row['ratio']['median']:.2f} ({row['ratio']['low']:.2f} to {row['ratio']['high']:.2f})"
    return (f"| {row['model']} | {row['precision']} | {row['batch']} | {row['ours']['per_s']['median']:.0f} {row['unit']} "
            f"| {100 * row['limit_share']:.0f} % | {peer} | {ratio} |")


def table(saved):
    results = saved["results"]
    of = {outcome: [r for r in results if r["outcome"] == outcome] for outcome in ("passed", "failed", "skipped")}
    lines = [f"## {saved['time'][:10]}, {saved['machine']}, {saved['revision'][:12] or 'no revision'}", "",
             f"{len(of['passed'])} checks passed, {len(of['failed'])} failed, {len(of['skipped'])} were skipped.", ""]
    lines += ["```", saved["versions"], "```", ""]
    steps = [result for result in results if result["name"].startswith("steps of ")]
    if steps:
        lines += [HEAD, *map(row_of, steps), ""]
    for outcome in ("failed", "skipped"):
        named = [result for result in of[outcome] if result not in steps]
        if named:
            lines += [f"{outcome.capitalize()}:", ""]
            lines += [f"- {result['name']}: {' '.join(result['detail'].split())[-200:]}" for result in named] + [""]
    return "\n".join(lines)


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    try:
        with open(arguments[0], encoding="utf-8") as file:
            print(table(json.load(file)))
    except OSError as error:
        sys.exit(f"{arguments[0]}: {error.strerror}; expected the results of ./run")


if __name__ == "__main__":
    main(sys.argv[1:])
