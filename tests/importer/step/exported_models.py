"""exported_models.py ONE_STEP [MODEL...]: how many models of torchvision, timm and transformers Partita trains as
PyTorch does.

Each is exported with its loss in f64, with random weights (seed 0) and without dropout, and one step of it is compared:
the loss, and the norm of each gradient. ONE_STEP is the program //tests/importer/step:one_step, which runs the step on
one rank, on two replicas (--dp=2), with layers over two ranks (--mp=2) and by the plan that --search=auto finds for two
ranks. Prints a Markdown table and the numbers; exit
code 1 if a model is not read or differs. Needs torch, torchvision, timm, transformers and safetensors from PyPI; no
weights are downloaded. All take about an hour on two cores.

A model that PyTorch itself computes partly in f32 (its norms or its loss convert to float32) is equal to within 1e-6,
others to within 1e-9.
"""

import json
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import safetensors.torch
import torch
import torch.nn.functional as F
from torch import nn

BATCH, CLASSES, LENGTH, WORDS = 2, 10, 24, 97
TORCHVISION = """alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 maxvit_t
    mnasnet0_5 mobilenet_v2 mobilenet_v3_small regnet_y_400mf resnet18 resnet50 resnext50_32x4d shufflenet_v2_x1_0
    squeezenet1_1 swin_t swin_v2_t vgg11_bn vit_b_32""".split()
SEGMENTATION = "deeplabv3_mobilenet_v3_large fcn_resnet50 lraspp_mobilenet_v3_large".split()
TIMM = """beit_base_patch16_224 cait_xxs24_224 coatnet_nano_rw_224 convnextv2_atto crossvit_9_240 deit_tiny_patch16_224
    edgenext_xx_small efficientvit_b0 gcvit_xxtiny hrnet_w18_small mobilenetv4_conv_small mvitv2_tiny nest_tiny
    poolformerv2_s12 pvt_v2_b0 regnety_002 res2net50_26w_4s resnetrs50 seresnet50 tf_mixnet_s vovnet39a
    xcit_nano_12_p16_224""".split()
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
TRANSFORMERS = {
    "bert": ("BertForMaskedLM", "BertConfig", SMALL),
    "electra": ("ElectraForMaskedLM", "ElectraConfig", {**SMALL, "embedding_size": 32}),
    "distilbert": ("DistilBertForMaskedLM", "DistilBertConfig", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"n_embd": 32, "n_layer": 2, "n_head": 4}),
    "gpt_neox": ("GPTNeoXForCausalLM", "GPTNeoXConfig", SMALL),
    "llama": ("LlamaForCausalLM", "LlamaConfig", {**SMALL, "num_key_value_heads": 2}),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", {**SMALL, "num_key_value_heads": 2, "head_dim": 8}),
    "t5": ("T5ForConditionalGeneration", "T5Config",
           {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}),
    "bart": ("BartForConditionalGeneration", "BartConfig",
             {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
              "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}),
}


class Trained(nn.Module):
    """A model and its loss: what is exported."""

    def __init__(self, model, loss):
        super().__init__()
        self.model = model
        self.__dict__["loss"] = loss

    def forward(self, x, y):
        return self.loss(self.model, x, y)


def class_loss(model, x, y):
    out = model(x)
    logits = getattr(out, "logits", out)
    further = [weight * F.cross_entropy(getattr(out, name), y)
               for name, weight in (("aux_logits", 0.4), ("aux_logits1", 0.3), ("aux_logits2", 0.3)) if hasattr(out, name)]
    return sum(further, F.cross_entropy(logits, y))


def pixel_loss(model, x, y):
    return F.cross_entropy(model(x)["out"], y, ignore_index=255)


def language_loss(model, x, y):
    return model(input_ids=x, labels=y).loss


def made(name):
    """The module with its loss, and a batch."""
    torch.manual_seed(0)
    family, model = name.split("/")
    if family == "transformers":
        import transformers
        kind, config, options = TRANSFORMERS[model]
        options = {"vocab_size": WORDS, "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2, **options}
        net = getattr(transformers, kind)(getattr(transformers, config)(use_cache=False, **options))
        x, y = torch.randint(3, WORDS, (BATCH, LENGTH)), torch.randint(3, WORDS, (BATCH, LENGTH))
        return Trained(net, language_loss), x, y
    if family == "timm":
        import timm
        net = timm.create_model(model, pretrained=False, num_classes=CLASSES)
        size = net.pretrained_cfg["input_size"][-1]
        return Trained(net, class_loss), torch.randn(BATCH, 3, size, size), torch.randint(0, CLASSES, (BATCH,))
    import torchvision
    if family == "segmentation":
        net = getattr(torchvision.models.segmentation, model)(weights=None, weights_backbone=None, num_classes=CLASSES)
        return Trained(net, pixel_loss), torch.randn(BATCH, 3, 96, 96), torch.randint(0, CLASSES, (BATCH, 96, 96))
    options = {"init_weights": False} if model in ("inception_v3", "googlenet") else {}
    net = getattr(torchvision.models, model)(weights=None, num_classes=CLASSES, **options)
    size = 299 if model == "inception_v3" else 224
    return Trained(net, class_loss), torch.randn(BATCH, 3, size, size), torch.randint(0, CLASSES, (BATCH,))


def without_dropout(module):
    for part in module.modules():
        if isinstance(part, nn.modules.dropout._DropoutNd):
            part.p = 0.0
        for name in ("dropout", "drop_prob", "attention_dropout", "activation_dropout", "layerdrop", "p"):
            if isinstance(getattr(part, name, None), float):
                setattr(part, name, 0.0)
        if hasattr(part, "attn_drop") and isinstance(part.attn_drop, float):
            part.attn_drop = 0.0


def export(module, x, y, path):
    batch = torch.export.Dim("batch", min=2)
    try:
        program = torch.export.export(module, (x, y), dynamic_shapes={"x": {0: batch}, "y": {0: batch}})
    except Exception:  # a model that works for one size of the batch
        program = torch.export.export(module, (x, y))
    torch.export.save(program, path)
    graphs = [module.graph for module in program.graph_module.modules() if hasattr(module, "graph")]  # blocks too
    return any("torch.float32" in str(node.kwargs.get("dtype", "")) or torch.float32 in node.args
               for graph in graphs for node in graph.nodes)


def difference(step, loss, gradients):
    """Of the loss and of the gradient that differs most, relative to its norm or to a billionth of all."""
    whole = sum(g * g for g in gradients.values()) ** 0.5
    norms = step["gradient_norms"]
    tied = [g for name, g in norms.items() if name not in gradients]
    worst = abs(step["loss"] - loss) / max(abs(loss), 1e-12)
    for name, wanted in gradients.items():
        found = norms.get(name, min(tied, key=lambda g: abs(g - wanted), default=0.0))
        # Gradients that are 0 but for rounding, as of a bias in front of a norm, have no digits to compare.
        worst = max(worst, 1e-3 * abs(found - wanted) / max(wanted, 1e-6 * whole))
    return worst


def compared(name, one_step, folder):
    module, x, y = made(name)
    module = module.double().train()
    without_dropout(module)
    x = x.double() if x.is_floating_point() else x
    path, inputs = os.path.join(folder, "model.pt2"), os.path.join(folder, "inputs.safetensors")
    narrow = export(module, x, y, path)
    loss = module(x, y)
    loss.backward()
    gradients = {n: p.grad.norm().item() for n, p in module.named_parameters() if p.grad is not None}
    if module(x, y).item() != loss.item():
        return ["not compared: it draws random numbers"]
    safetensors.torch.save_file({n: t if t.is_floating_point() else t.int() for n, t in (("x", x), ("y", y))}, inputs)
    answers = []
    for split in ([], ["2", "1"], ["1", "2"], ["found"]):
        ran = subprocess.run([one_step, path, inputs, *split], capture_output=True, text=True)
        if ran.returncode != 0:
            answers.append(ran.stderr.strip().replace(path, "model.pt2").replace("|", "/")[:240])
            continue
        off = difference(json.loads(ran.stdout), loss.item(), gradients)
        answers.append("equal" if off < (1e-6 if narrow else 1e-9) else f"differs by {off:.1e}")
    return answers


def names():
    return [f"torchvision/{n}" for n in TORCHVISION] + [f"segmentation/{n}" for n in SEGMENTATION] + \
        [f"timm/{n}" for n in TIMM] + [f"transformers/{n}" for n in TRANSFORMERS]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    models = sys.argv[2:] or names()
    equal = [0, 0, 0, 0]
    read = 0
    print("| model | one rank | --dp=2 | --mp=2 | found plan |\n|---|---|---|---|---|")
    for name in models:
        with tempfile.TemporaryDirectory() as folder:
            try:
                answers = compared(name, sys.argv[1], folder)
            except Exception as error:
                answers = [f"not exported: {str(error).splitlines()[0][:160]}"]
        answers += [""] * (4 - len(answers))
        read += answers[0].startswith(("equal", "differs"))
        equal = [count + (answer == "equal") for count, answer in zip(equal, answers)]
        print("| " + " | ".join([name, *answers]) + " |", flush=True)
    print(f"\n{read} of {len(models)} read; equal to PyTorch on one rank {equal[0]}, with --dp=2 {equal[1]}, "
          f"with --mp=2 {equal[2]}, by a found plan {equal[3]}")
    sys.exit(0 if min(equal) == len(models) else 1)


if __name__ == "__main__":
    main()
