"""round_trip.py TRAINER: adapters of real models go from Partita to PEFT and back.

Each model is exported with random weights and fine-tuned with adapters for five steps of random data. Then PEFT loads
the adapters strictly, load_state_dict accepts the merged weights strictly, and both predict what `trainer predict` does
with the adapters; and adapters that PEFT saved are loaded, with the same predictions. Needs torch, peft, timm and
transformers.
"""

import os
import subprocess
import sys
import tempfile

import numpy
import peft
import safetensors.torch
import timm
import torch
import transformers

TOLERANCE = 2e-4  # of logits near 1, in f32


def gpt2():
    config = transformers.GPT2Config(n_layer=2, n_embd=48, n_head=4, vocab_size=97, n_positions=16, num_labels=3,
                                     pad_token_id=0, attn_pdrop=0, embd_pdrop=0, resid_pdrop=0)

    class Classifier(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = transformers.GPT2Model(config)
            self.head = torch.nn.Linear(48, 3)

        def forward(self, ids):
            return self.head(self.body(input_ids=ids, use_cache=False)[0].mean(1))

    return Classifier(), {"ids": torch.randint(0, 97, (8, 12))}, ["--lora=*.c_attn.weight,*.c_fc.weight"], "head"


def vit():
    model = timm.create_model("vit_tiny_patch16_224", img_size=32, depth=2, num_classes=5)
    return model, {"x": torch.randn(8, 3, 32, 32)}, [], "head"


def sequential():
    layers = torch.nn.Sequential(torch.nn.Linear(9, 13), torch.nn.GELU(),
                                 torch.nn.Sequential(torch.nn.Linear(13, 13), torch.nn.Tanh()), torch.nn.Linear(13, 4))
    return layers, {"input": torch.randn(8, 9)}, ["--lora=0.weight"], "3"


class Case:
    def __init__(self, trainer, folder):
        self.trainer, self.folder = trainer, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *arguments):
        done = subprocess.run([self.trainer, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"trainer {' '.join(arguments)}: {done.stderr}")

    def predict(self, *flags):
        self.run("predict", "--loss=cross_entropy", "--data=" + self.path("data.npz"), "--batch=8",
                 "--output=" + self.path("p.npy"), *flags, self.path("model.pt2"))
        return numpy.load(self.path("p.npy"))


def show(name, what, found, wanted):
    largest = float(numpy.abs(found - wanted).max())
    print(f"{name:12} {what:34} largest difference {largest:.1e}", "" if largest < TOLERANCE else "  DIFFERS")
    return largest < TOLERANCE


def round_trip(trainer, make, folder):
    torch.manual_seed(0)
    model, inputs, flags, head = make()
    name = make.__name__
    model.eval()
    batch = torch.export.Dim("batch", min=2)
    case = Case(trainer, folder)
    torch.export.save(torch.export.export(model, tuple(inputs.values()), dynamic_shapes=tuple(
        {0: batch} for _ in inputs)), case.path("model.pt2"))
    arrays = {}
    for field, tensor in inputs.items():
        array = tensor.numpy().astype(numpy.int32 if tensor.dtype == torch.int64 else numpy.float32)
        array = array.transpose(0, 2, 3, 1) if array.ndim == 4 else array
        arrays |= {"train/" + field: array, "test/" + field: array}
    label = torch.randint(0, 3, (8,)).numpy().astype(numpy.int32)
    numpy.savez(case.path("data.npz"), **arrays, **{"train/label": label, "test/label": label})
    case.run("train", "--loss=cross_entropy", "--data=" + case.path("data.npz"), "--batch=8", "--steps=5",
             "--lora-rank=3", "--lora-alpha=6", f"--lora-train={head}.*", *flags, "--optimizer=adamw",
             "--learning-rate=0.05", "--dp=2", "--save-adapter=" + case.path("adapter"), case.path("model.pt2"))
    wanted = case.predict("--load-adapter=" + case.path("adapter"))
    before = model(*inputs.values()).detach().numpy()
    equal = float(numpy.abs(wanted - before).max()) > 100 * TOLERANCE
    print(f"{name:12} {'trained' if equal else 'NOT TRAINED'}")

    case.run("convert", "--loss=cross_entropy", "--load-adapter=" + case.path("adapter"),
             "--output=" + case.path("merged.safetensors"), case.path("model.pt2"))
    fresh = make()[0].eval()
    fresh.load_state_dict(safetensors.torch.load_file(case.path("merged.safetensors")), strict=True)
    equal &= show(name, "merged, load_state_dict", fresh(*inputs.values()).detach().numpy(), wanted)

    adapted = peft.PeftModel.from_pretrained(model, case.path("adapter"))
    stored = safetensors.torch.load_file(case.path("adapter/adapter_model.safetensors"))
    own = peft.get_peft_model_state_dict(adapted)
    if set(stored) != set(own) or any(not torch.equal(stored[key], own[key]) for key in own):
        raise RuntimeError(f"{name}: PEFT has {sorted(own)}, the folder {sorted(stored)}")
    adapted.eval()
    equal &= show(name, "PeftModel.from_pretrained", adapted(*inputs.values()).detach().numpy(), wanted)

    with torch.no_grad():
        for key, parameter in adapted.named_parameters():
            if "lora_" in key:
                parameter += 0.1 * torch.randn_like(parameter)
    adapted.save_pretrained(case.path("theirs"))
    return equal & show(name, "saved by PEFT, loaded here", case.predict("--load-adapter=" + case.path("theirs")),
                        adapted(*inputs.values()).detach().numpy())


def main():
    equal = []
    for make in (sequential, gpt2, vit):
        with tempfile.TemporaryDirectory() as folder:
            equal.append(round_trip(sys.argv[1], make, folder))
    print(f"{sum(equal)} of {len(equal)} models equal")
    sys.exit(0 if all(equal) else 1)


if __name__ == "__main__":
    main()
