"""One training step in f32 of a graph of Partita and of the same network here: by how much losses and gradients differ.

From the same parameters, on the same random batch, without dropout. Gradients, and of tables whose gradients are rows
what the step makes of them, are held against a step in f64; told is the one that comes nearest to what is allowed:
twice PyTorch's own error, or what a relu makes that flips. `benchmark models` starts it, with the graph that it
measures: answers each line of standard input with a line of JSON.

  PEER/bin/python tools/peer/agree.py --model=inception-v3 --batch=2 STEP_VALUES GRAPH <<< step
"""

import argparse
import json
import sys
import tempfile

import check_networks
import networks
import torch

FLIP = 1e-2  # a value that one program rounds below zero and the other above makes several thousandths


def without_states(values):
    """Of large networks they would take much memory; but of tables one step of the optimizer says nothing more."""
    return {name: value for name, value in values.items() if not name.startswith("state/")}


def compare(options):
    with tempfile.TemporaryDirectory() as folder:
        comparison = check_networks.Comparison(options, folder, options.graph)
        exact = without_states(comparison.theirs(torch.float64))
        theirs = without_states(comparison.theirs(torch.float32))
        ours = without_states(comparison.ours(torch.float32))
    rows = check_networks.held_against_f64(ours, theirs, exact, updates=True)
    mine, other, largest = max((row[1:] for row in rows), key=lambda row: row[0] / max(2 * row[1], FLIP))
    loss = abs(ours["losses"][0] / theirs["losses"][0] - 1).item()
    return {"loss_difference": loss, "gradients": len(rows), "gradient_error": mine,
            "peer_error": other, "largest": largest.partition("/")[2]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("step_values")
    parser.add_argument("graph")
    parser.add_argument("--model", choices=networks.NAMES, required=True)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--image-size", type=int)
    parser.add_argument("--size", type=networks.size, action="append", default=[], help="of a model of words: NAME=NUMBER")
    parser.add_argument("--threads", type=int, default=2)
    parser.set_defaults(auxiliary_head=False, steps=1, seed=1, rate=1.0, clip_norm=None)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(torch.__version__, "ready", sep="\n", flush=True)
    for _ in sys.stdin:
        print(json.dumps(compare(options)), flush=True)


if __name__ == "__main__":
    main()
