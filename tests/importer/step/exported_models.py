"""exported_models.py ONE_STEP [--read] [--results=FILE] [--keep=FOLDER] [MODEL...]: how many models of torchvision,
timm, transformers and segmentation_models_pytorch, and networks written by hand, Partita trains as PyTorch does.

Each model of zoo/ is exported with its loss in f64, with random weights (seed 0) and without dropout, and one step of it
is compared: the loss, and the norm of each gradient. ONE_STEP is the program //tests/importer/step:one_step, which runs
the step on one rank, on two replicas (--dp=2), with layers over two ranks (--mp=2) and by the plan that --search=auto
finds for two ranks. MODEL is FAMILY/NAME, and may be a pattern (timm/vit_*).

--read           only read the models, which takes seconds each
--results=FILE   add each model's row to FILE (lines of JSON), and skip those that it has: a run resumes there
--keep=FOLDER    leave the exported files of models that are not equal in FOLDER/FAMILY/NAME, and use them again

Prints a Markdown table and the numbers; exit code 1 if a model is not read or differs. Needs torch, torchvision, timm,
transformers, segmentation_models_pytorch and safetensors from PyPI; no weights are downloaded. All take hours.

A model that PyTorch itself computes partly in f32 (its norms or its loss convert to float32) is equal to within 1e-6,
others to within 1e-9.
"""

import argparse
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import safetensors.torch
import torch
import zoo
from zoo.case import Trained

SPLITS = {"one rank": [], "--dp=2": ["2", "1"], "--mp=2": ["1", "2"], "found plan": ["found"]}


def without_dropout(module):
    for part in module.modules():
        for name, value in list(vars(part).items()):
            if isinstance(value, float) and ("drop" in name or name == "p"):
                setattr(part, name, 0.0)


def export(module, batch, path):
    """Whether PyTorch computes a part of it in f32."""
    samples = torch.export.Dim("batch", min=2)
    try:
        program = torch.export.export(module, (), batch, dynamic_shapes={"batch": {name: {0: samples} for name in batch}})
    except Exception:  # a model that works for one size of the batch
        program = torch.export.export(module, (), batch)
    torch.export.save(program, path)
    graphs = [module.graph for module in program.graph_module.modules() if hasattr(module, "graph")]  # blocks too
    return any("torch.float32" in str(node.kwargs.get("dtype", "")) or torch.float32 in node.args
               for graph in graphs for node in graph.nodes)


def made(name):
    """The module with its loss, and a batch, in f64."""
    torch.manual_seed(0)
    case = zoo.case(name)
    module = Trained(case).double().train()
    without_dropout(module)
    return module, {key: value.double() if value.is_floating_point() else value for key, value in case.batch.items()}


def write(name, folder):
    """Exports a model with its batch, and what PyTorch computes: model.pt2, inputs.safetensors and expected.json."""
    module, batch = made(name)
    narrow = export(module, batch, os.path.join(folder, "model.pt2"))
    loss = module(**batch)
    loss.backward()
    gradients = {n: p.grad.norm().item() for n, p in module.named_parameters() if p.grad is not None}
    if module(**batch).item() != loss.item():
        raise ValueError("it draws random numbers")
    safetensors.torch.save_file({key: (value if value.is_floating_point() else value.int()).contiguous()
                                 for key, value in batch.items()}, os.path.join(folder, "inputs.safetensors"))
    with open(os.path.join(folder, "expected.json"), "w", encoding="utf-8") as file:
        json.dump({"loss": loss.item(), "gradient_norms": gradients, "narrow": narrow}, file)


def difference(step, expected):
    """Of the loss and of the gradient that differs most, relative to its norm or to a billionth of all."""
    loss, gradients, norms = expected["loss"], expected["gradient_norms"], step["gradient_norms"]
    whole = sum(g * g for g in gradients.values()) ** 0.5
    tied = [g for name, g in norms.items() if name not in gradients]
    worst = abs(step["loss"] - loss) / max(abs(loss), 1e-12)
    for name, wanted in gradients.items():
        found = norms.get(name, min(tied, key=lambda g: abs(g - wanted), default=0.0))
        # Gradients that are 0 but for rounding, as of a bias in front of a norm, have no digits to compare.
        worst = max(worst, 1e-3 * abs(found - wanted) / max(wanted, 1e-6 * whole))
    return worst


def compared(one_step, folder, reads):
    path, inputs = os.path.join(folder, "model.pt2"), os.path.join(folder, "inputs.safetensors")
    with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    answers = []
    for split in [["--read"]] if reads else SPLITS.values():
        ran = subprocess.run([one_step, path, inputs, *split], capture_output=True, text=True)
        if ran.returncode != 0:
            answers.append(ran.stderr.strip().replace(path, "model.pt2").replace("|", "/") or f"exit code {ran.returncode}")
        elif reads:
            answers.append("read")
        else:
            off = difference(json.loads(ran.stdout), expected)
            answers.append("equal" if off < (1e-6 if expected["narrow"] else 1e-9) else f"differs by {off:.1e}")
        if not answers[0].startswith(("equal", "differs", "read")):
            break
    return answers


def row(name, options):
    folder = os.path.join(options.keep, name) if options.keep else tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    try:
        if not os.path.exists(os.path.join(folder, "expected.json")):
            write(name, folder)
        answers = compared(options.one_step, folder, options.read)
    except Exception as error:
        answers = [f"not exported: {type(error).__name__}: {(str(error) or '?').splitlines()[0][:160]}"]
    if not options.keep or all(answer in ("equal", "read") for answer in answers):
        shutil.rmtree(folder, ignore_errors=True)
    return answers


def chosen(patterns):
    return [name for name in zoo.names() if not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]


def saved(path):
    if not path or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return {entry["model"]: entry["answers"] for entry in map(json.loads, file)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("one_step")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--read", action="store_true")
    parser.add_argument("--results")
    parser.add_argument("--keep")
    options = parser.parse_intermixed_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    models, known = chosen(options.models), saved(options.results)
    columns = ["read"] if options.read else list(SPLITS)
    print("| model | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    rows = {}
    for name in models:
        rows[name] = known.get(name) or row(name, options)
        if name not in known and options.results:
            with open(options.results, "a", encoding="utf-8") as file:
                file.write(json.dumps({"model": name, "answers": rows[name]}) + "\n")
        cells = [*rows[name], *[""] * (len(columns) - len(rows[name]))]
        print("| " + " | ".join([name, *(cell.splitlines()[0][:300] if cell else "" for cell in cells)]) + " |", flush=True)
    sys.exit(0 if summary(rows, columns) else 1)


def summary(rows, columns):
    """Prints the numbers of each family; whether all models that PyTorch exports are equal everywhere."""
    counts = {}
    for name, answers in rows.items():
        exported = not answers[0].startswith("not exported")
        read = answers[0].startswith(("equal", "differs", "read"))
        equal = [len(answers) > i and answers[i] in ("equal", "read") for i in range(len(columns))]
        for family in (name.split("/")[0], "all"):
            before = counts.get(family, [0] * (3 + len(columns)))
            counts[family] = [old + new for old, new in zip(before, [1, exported, read, *equal])]
    print("\n| family | models | exported | read | " + " | ".join(columns) + " |\n|---|---|---|---|" + "---|" * len(columns))
    for family in [*(family for family in counts if family != "all"), "all"]:
        print("| " + " | ".join([family, *map(str, counts[family])]) + " |")
    return min(counts["all"][2:]) == counts["all"][1]


if __name__ == "__main__":
    main()
