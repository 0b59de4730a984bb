"""Makes net.pt2, a network of linear layers, and what PyTorch and PEFT compute with it in f64, for adapters_test.cc.

    python3 tests/importer/adapters/make.py      (torch, peft, safetensors)

peft/ is what PEFT saves of adapters of q and v (rank 2, alpha 3) with a new head. expected.safetensors has, of one
batch: loss, gradients and logits with these adapters, parameters after three steps of SGD and of AdamW, and the weights
that PEFT merges; and all parameters after three steps of AdamW in groups, without adapters.
"""

import os
import shutil

import peft
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
PREFIX = "base_model.model."


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(6, 7)
        self.norm = nn.LayerNorm(7)
        self.v = nn.Linear(7, 5, bias=False)
        self.head = nn.Linear(5, 3)

    def logits(self, x):
        return self.head(torch.tanh(self.v(self.norm(F.gelu(self.q(x))))).mean(1))

    def forward(self, x, label):
        return F.cross_entropy(self.logits(x), label)


def own_name(name):
    """Of a parameter of the adapted model, as files have it."""
    for more in (".default", ".modules_to_save", ".base_layer"):
        name = name.replace(more, "")
    return name.removeprefix(PREFIX)


def adapted(start):
    torch.manual_seed(1)
    net = Net().double()
    net.load_state_dict(start)
    config = peft.LoraConfig(r=2, lora_alpha=3, target_modules=["q", "v"], modules_to_save=["head"])
    model = peft.get_peft_model(net, config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.copy_(torch.randn_like(parameter))
    return model


def trained(model):
    return {own_name(name): parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def three_steps(model, optimizer, batch):
    for _ in range(3):
        optimizer.zero_grad()
        model(*batch).backward()
        optimizer.step()


def make_half(model, x):
    """half/: the same adapters as float16 and bfloat16 in turn. half.safetensors: the logits with them, in f64."""
    folder = os.path.join(HERE, "half")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(HERE, "peft"), folder)
    path = os.path.join(folder, "adapter_model.safetensors")
    types = (torch.float16, torch.bfloat16)
    tensors = {name: value.to(types[i % 2]) for i, (name, value) in enumerate(sorted(load_file(path).items()))}
    save_file(tensors, path)
    peft.set_peft_model_state_dict(model, {name: value.double() for name, value in tensors.items()})
    with torch.no_grad():
        save_file({"logits": model.base_model.model.logits(x)}, os.path.join(HERE, "half.safetensors"))


def main():
    torch.manual_seed(0)
    net = Net().double()
    start = {name: value.clone() for name, value in net.state_dict().items()}
    batch = torch.randn(6, 4, 6).double(), torch.randint(0, 3, (6,))
    size = torch.export.Dim("batch", min=2)
    program = torch.export.export(net.train(), batch, dynamic_shapes=({0: size}, {0: size}))
    torch.export.save(program, os.path.join(HERE, "net.pt2"))

    model = adapted(start)
    folder = os.path.join(HERE, "peft")
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    os.remove(os.path.join(folder, "README.md"))

    expected = {"in/x": batch[0], "in/label": batch[1].int()}
    expected["logits"] = model.base_model.model.logits(batch[0])
    loss = model(*batch)
    loss.backward()
    expected["loss"] = loss.reshape(1)
    expected |= {"gradient/" + name: parameter.grad for name, parameter in trained(model).items()}

    make_half(model, batch[0])

    model = adapted(start)
    three_steps(model, torch.optim.SGD(trained(model).values(), lr=0.1), batch)
    expected |= {"sgd/" + name: parameter for name, parameter in trained(model).items()}
    merged = model.merge_and_unload()
    expected |= {"merged/" + name: value for name, value in merged.state_dict().items()}

    model = adapted(start)
    three_steps(model, torch.optim.AdamW(trained(model).values(), lr=0.01, weight_decay=0.1), batch)
    expected |= {"adamw/" + name: parameter for name, parameter in trained(model).items()}

    net.load_state_dict(start)
    groups = {}
    for name, parameter in net.named_parameters():
        rate = 0.001 if name.startswith("q.") else 0.05 if name.startswith("head.") else 0.01
        decay = 0 if name.endswith(".bias") or name.startswith("norm.") else 0.1
        groups.setdefault((rate, decay), []).append(parameter)
    three_steps(net, torch.optim.AdamW([{"params": parameters, "lr": rate, "weight_decay": decay}
                                        for (rate, decay), parameters in groups.items()]), batch)
    expected |= {"groups/" + name: parameter for name, parameter in net.named_parameters()}
    save_file({name: value.detach().clone().contiguous() for name, value in expected.items()},
              os.path.join(HERE, "expected.safetensors"))


if __name__ == "__main__":
    main()
