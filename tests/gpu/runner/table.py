"""What a run of a GPU bundle found, as Markdown for tests/gpu/RESULTS.md: table.txt of its folder, or of a results.json
that is named."""

import json
import sys

HEAD = """| model | precision | batch | Partita | of the limit | PyTorch, best form | Partita by PyTorch |
|---|---|---|---|---|---|---|"""


def cell(text):
    """The end, where programs say why they ended."""
    return " ".join(text.replace("|", "/").split())[-200:]


def row_of(result):
    """The line of a benchmark's row; a check without one says why."""
    if "row" not in result:
        why = cell(": ".join(filter(None, (result["outcome"], result["detail"]))))
        return f"| {result['name'].removeprefix('steps of ')} | | | {why} | | | |"
    row = result["row"]
    best = next((other for other in row["others"] if other["name"] == row["best"]), None)
    peer = cell("; ".join(f"{other['name']}: {other['failure']}" for other in row["others"])) or "not measured"
    ratio = ""
    if best is not None:
        peer = f"{best['per_s']['median']:.0f} ({best['name']})"
        ratio = f"{row['ratio']['median']:.2f} ({row['ratio']['low']:.2f} to {row['ratio']['high']:.2f})"
    ours = f"{row['ours']['per_s']['median']:.0f} {row['unit']}"
    return (f"| {row['model']} | {row['precision']} | {row['batch']} | {ours} | {100 * row['limit_share']:.0f} % | {peer} "
            f"| {ratio} |")


def ceilings(rows):
    """The fastest product that the benchmark found in each precision, and who the peer is."""
    most = {}
    for row in rows:
        most[row["precision"]] = max(most.get(row["precision"], 0), row.get("product_flops_per_s", 0))
    lines = [f"Fastest product in {precision}: {flops / 1e12:.0f} TFLOP/s." for precision, flops in most.items() if flops]
    peers = sorted({row["peer"] for row in rows if row["peer"]})
    return lines + [f"Beside {', '.join(peers)}, in the same run on the same GPU, in turns."] * bool(peers)


def not_run(saved):
    """Names of checks that have no result, because the run ended before them or a flag excluded them."""
    found = {result["name"] for result in saved["results"]}
    tests = {name.partition(": ")[0] for name in found}
    return [name for name in saved.get("checks", []) if name not in found and name not in tests]


def steps_table(results, missing):
    if not (results or missing):
        return []
    rows = [*map(row_of, results), *(row_of({"name": name, "outcome": "not run", "detail": ""}) for name in missing)]
    return [HEAD, *rows, "", *ceilings([step["row"] for step in results if "row" in step]), ""]


def table(saved):
    results = saved["results"]
    of = {outcome: [r for r in results if r["outcome"] == outcome] for outcome in ("passed", "failed", "skipped")}
    lines = [f"## {saved['time'][:10]}, {saved['machine']}, {saved['revision'][:12] or 'no revision'}", "",
             f"{len(of['passed'])} checks passed, {len(of['failed'])} failed, {len(of['skipped'])} were skipped.", ""]
    lines += ["```", saved["versions"], "```", ""]
    is_steps = lambda name: name.startswith("steps of ")
    missing = not_run(saved)
    steps = [result for result in results if is_steps(result["name"])]
    lines += steps_table(steps, list(filter(is_steps, missing)))
    for outcome in ("failed", "skipped"):
        # Of a case that its test skips the test's name says enough: it is counted above.
        named = [result for result in of[outcome] if result not in steps and result["detail"]]
        if named:
            lines += [f"{outcome.capitalize()}:", ""]
            lines += [f"- {result['name']}: {cell(result['detail'])}" for result in named] + [""]
    others = [name for name in missing if not is_steps(name)]
    return "\n".join(lines + [f"Not run: {'; '.join(others)}.", ""] * bool(others))


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
