"""onnx_models.py ONE_STEP [--exporter=script|export] [MODEL...]: how many ONNX models of torchvision, timm and
transformers Partita trains as PyTorch does.

The models are of those of exported_models.py, FAMILY/NAME; patterns name several. They have random weights, in f64 and
in evaluation. Each is exported by both
exporters of torch.onnx.export, that of TorchScript and that of torch.export, returns its predictions, and gets a cross
entropy from --loss. One step is compared with PyTorch's, with batch norms by their running statistics: the loss, and the
norms of the gradients of parameters that the file has as they are or transposed, once. Exporters fold others, as those
of batch norms into convolutions. Prints a Markdown table and the numbers; exit code 1 if a model differs. Needs what
exported_models.py needs, onnx and onnxscript.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings

import onnx
import safetensors.torch
import torch
import torch.nn.functional as F
import zoo
from exported_models import chosen
from onnx import numpy_helper
from torch import nn

DEFAULT = """torchvision/* segmentation/* timm/beit_* timm/cait_* timm/coatnet_* timm/convnextv2_* timm/crossvit_*
    timm/deit_* timm/edgenext_* timm/efficientvit_b0 timm/gcvit_* timm/hrnet_* timm/mobilenetv4_conv_small timm/mvitv2_*
    timm/nest_* timm/poolformerv2_* timm/pvt_v2_* timm/regnety_* timm/res2net50_* timm/resnetrs50 timm/seresnet50
    timm/tf_mixnet_s timm/vovnet39a timm/xcit_* transformers/bart transformers/bert transformers/distilbert
    transformers/electra transformers/gemma transformers/gpt2 transformers/gpt_neox transformers/llama
    transformers/t5""".split()


class Predicts(nn.Module):
    """A model that returns logits alone."""

    def __init__(self, model, language):
        super().__init__()
        self.model, self.language = model, language

    def forward(self, x):
        if not self.language:
            y = self.model(x)
            return y["out"] if isinstance(y, dict) else getattr(y, "logits", y)
        encodes = getattr(self.model.config, "is_encoder_decoder", False)
        return self.model(input_ids=x, **({"decoder_input_ids": x} if encodes else {})).logits


@contextlib.contextmanager
def quiet():
    """Without what exporters print, also from C++."""
    kept = os.dup(1), os.dup(2)
    with open(os.devnull, "w", encoding="utf-8") as sink:
        os.dup2(sink.fileno(), 1)
        os.dup2(sink.fileno(), 2)
        try:
            yield
        finally:
            sys.stdout.flush()
            for to, of in enumerate(kept, 1):
                os.dup2(of, to)
                os.close(of)


def export(exporter, module, x, path):
    with quiet():
        if exporter == "script":
            torch.onnx.export(module, (x,), path, dynamo=False, input_names=["x"], dynamic_axes={"x": {0: "batch"}},
                              opset_version=17)
        else:
            batch = torch.export.Dim("batch", min=2)
            torch.onnx.export(module, (x,), path, dynamo=True, input_names=["x"], dynamic_shapes=({0: batch},),
                              external_data=False, verbose=False)


def gradients_of(path, module):
    """By the initializer's name: the norm of the gradient of the one parameter that has its values."""
    by_sum = {}
    parameters = dict(module.named_parameters())
    for name, parameter in parameters.items():
        by_sum.setdefault(parameter.numel(), []).append(name)
    owners, norms = {}, {}
    for initializer in onnx.load(path).graph.initializer:
        if initializer.data_type not in (1, 11):
            continue
        values = torch.from_numpy(numpy_helper.to_array(initializer).copy()).double()
        for name in [initializer.name] if initializer.name in parameters else by_sum.get(values.numel(), []):
            own = parameters[name].detach()
            same = torch.equal(values.squeeze(), own.squeeze()) or (own.dim() == 2 and torch.equal(values, own.T))
            if same and parameters[name].grad is not None:
                owners.setdefault(name, []).append(re.sub(r"[^\w./-]", "_", initializer.name))
                norms[owners[name][0]] = parameters[name].grad.norm().item()
    twice = {names[0] for names in owners.values() if len(names) > 1}
    shared = [names[0] for names in owners.values()]
    return {n: g for n, g in norms.items() if n not in twice and shared.count(n) == 1}


def difference(step, loss, gradients, whole):
    worst = abs(step["loss"] - loss) / max(abs(loss), 1e-12)
    for name, wanted in gradients.items():
        found = step["gradient_norms"].get(name, 0.0)
        worst = max(worst, 1e-3 * abs(found - wanted) / max(wanted, 1e-6 * whole))
    return worst


def compared(name, exporter, one_step, folder):
    torch.manual_seed(0)
    case = zoo.case(name)
    language = "input_ids" in case.batch
    x, y = (case.batch[key] for key in (("input_ids", "labels") if language else ("x", "y")))
    module = Predicts(case.model, language).double().eval()
    x = x.double() if x.is_floating_point() else x
    with torch.no_grad():  # exporters make one initializer of tensors that are equal, as of ones
        for tensor in [*module.parameters(), *(b for n, b in module.named_buffers() if "running" in n)]:
            tensor += 0.01 * torch.rand_like(tensor)
    path, inputs = os.path.join(folder, "model.onnx"), os.path.join(folder, "inputs.safetensors")
    logits = module(x)
    loss = F.cross_entropy(logits.transpose(1, 2) if language else logits, y)
    loss.backward()
    whole = sum(p.grad.norm().item() ** 2 for p in module.parameters() if p.grad is not None) ** 0.5
    with torch.no_grad():
        try:
            export(exporter, module, x, path)
        except Exception as error:
            return f"not exported: {str(error).splitlines()[0][:80]}"
    tensors = {"x": x, "label": y}
    safetensors.torch.save_file({n: t if t.is_floating_point() else t.int() for n, t in tensors.items()}, inputs)
    ran = subprocess.run([one_step, "--loss=cross_entropy", "--frozen", path, inputs], capture_output=True, text=True)
    if ran.returncode != 0:
        return ran.stderr.strip().replace(path, "model.onnx").replace("|", "/")[:300]
    gradients = gradients_of(path, module)
    off = difference(json.loads(ran.stdout), loss.item(), gradients, whole)
    # Models that PyTorch computes partly in f32, and constants that files have as f32.
    return f"equal ({len(gradients)} gradients)" if off < 1e-6 else f"differs by {off:.1e}"


def main():
    exporters = [word.split("=")[1] for word in sys.argv if word.startswith("--exporter=")] or ["script", "export"]
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if not words:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    names = chosen(words[1:] or DEFAULT)
    counts = {exporter: [0, 0, 0] for exporter in exporters}
    print("| model | " + " | ".join(exporters) + " |\n|---|" + "---|" * len(exporters))
    for name in names:
        answers = []
        for exporter in exporters:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    answers.append(compared(name, exporter, words[0], folder))
                except Exception as error:
                    answers.append(f"not compared: {str(error).splitlines()[0][:120]}")
            counts[exporter][0] += not answers[-1].startswith("not ")
            counts[exporter][1] += answers[-1].startswith(("equal", "differs"))
            counts[exporter][2] += answers[-1].startswith("equal")
        print("| " + " | ".join([name, *answers]) + " |", flush=True)
    for exporter, (exported, read, equal) in counts.items():
        print(f"{exporter}: {len(names)} models, {exported} exported, {read} read, {equal} equal to PyTorch")
    sys.exit(1 if any(read > equal for _, read, equal in counts.values()) else 0)


if __name__ == "__main__":
    main()
