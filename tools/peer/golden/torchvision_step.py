"""Writes what torchvision's networks compute in one training step in f64, beside which the tests hold ours:

  ~/.cache/partita/peer/bin/python tools/peer/golden/torchvision_step.py > tests/tools/models/torchvision_step.h

Parameters and images are the formulas that the header repeats. Of each parameter's gradient it has the norm and the
product with a tensor of that formula, in the layout of our parameter. There is no dropout and no stochastic depth."""
import math

import torch
import torchvision
from torch import nn
from torch.nn import functional
from torchvision.models import convnext

BATCH, SIZE, CLASSES = 4, 64, 1000
IMAGES, PROBES = 1000, 2000

NETWORKS = {
    "mobilenet-v3-large": lambda: torchvision.models.mobilenet_v3_large(),
    "efficientnet-b0": lambda: torchvision.models.efficientnet_b0(stochastic_depth_prob=0.0),
    "convnext-tiny": lambda: small_convnext([(8, 16, 1), (16, 32, 1), (32, 64, 2), (64, None, 1)]),
}


def small_convnext(stages):
    settings = [convnext.CNBlockConfig(*stage) for stage in stages]
    return convnext.ConvNeXt(settings, stochastic_depth_prob=0.0, num_classes=CLASSES)


def parameters(network):
    """By name, in our order: the scales of a block are behind its other parameters."""
    own = dict(network.named_parameters())
    places = {name: place for place, name in enumerate(own)}
    for scale in [name for name in own if name.endswith("layer_scale")]:
        block = scale.removesuffix("layer_scale")
        places[scale] = max(place for name, place in places.items() if name.startswith(block)) + 0.5
    return sorted(own.items(), key=lambda item: places[item[0]])


def hashed(tensor, elements):
    """Numbers in [-1, 1) that look random: those of tensor number `tensor`."""
    mask = 0xFFFFFFFF
    x = (torch.arange(elements, dtype=torch.int64) + tensor * 0x9E3779B1) & mask
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = ((x ^ (x >> shift)) * factor) & mask
    x = x ^ (x >> 16)
    return x.double() / 2**31 - 1


def to_ours(name, tensor):
    """Convolutions have [out, height, width, in], as have dense layers of each pixel; other dense layers [in, out]."""
    if name.endswith(("fc1.weight", "fc2.weight")):
        tensor = tensor.flatten(1)
    if name.endswith(("block.3.weight", "block.5.weight")):  # of ConvNeXt
        return tensor[:, None, None, :]
    if tensor.dim() == 3:
        return tensor.flatten()
    if tensor.dim() == 4:
        return tensor.permute(0, 2, 3, 1)
    return tensor.t() if tensor.dim() == 2 else tensor


def initial(number, shape, is_gain):
    values = hashed(number, math.prod(shape)).reshape(shape)
    if len(shape) == 1:
        return values / 4 + (1 if is_gain else 0)
    fan_in = math.prod(shape[1:]) if len(shape) == 4 else shape[0]
    return values * math.sqrt(6 / fan_in)


class HardSigmoid(nn.Module):
    """In f64 nn.Hardsigmoid's gradient has a sixth as f32 holds it."""

    def forward(self, x):
        return functional.relu6(x + 3) / 6


def step(network):
    for module in list(network.modules()):
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "scale_activation", None), nn.Hardsigmoid):
            module.scale_activation = HardSigmoid()
    network.double().train()
    norms = (nn.BatchNorm2d, nn.LayerNorm)
    gains = {name + ".weight" for name, module in network.named_modules() if isinstance(module, norms)}
    with torch.no_grad():
        for number, (name, tensor) in enumerate(parameters(network)):
            ours = to_ours(name, tensor)
            ours.copy_(initial(number, ours.shape, name in gains or name.endswith("layer_scale")))
    images = hashed(IMAGES, BATCH * SIZE * SIZE * 3).reshape(BATCH, SIZE, SIZE, 3).permute(0, 3, 1, 2)
    labels = torch.tensor([(37 * n + 11) % CLASSES for n in range(BATCH)])
    loss = functional.cross_entropy(network(images), labels)
    loss.backward()
    rows = []
    for number, (name, tensor) in enumerate(parameters(network)):
        gradient = to_ours(name, tensor.grad).flatten()
        rows.append((name, gradient.norm().item(), (gradient @ hashed(PROBES + number, gradient.numel())).item()))
    return loss.item(), rows


def main():
    torch.manual_seed(1)
    version = torch.__version__.split("+")[0], torchvision.__version__.split("+")[0]
    print(f"""\
// Written by tools/peer/golden/torchvision_step.py with PyTorch {version[0]} and torchvision {version[1]}: the loss of a step
// in f64, and of each gradient its norm and its product with a tensor.
#ifndef PARTITA_TESTS_TOOLS_MODELS_TORCHVISION_STEP_H_
#define PARTITA_TESTS_TOOLS_MODELS_TORCHVISION_STEP_H_

#include <cstdint>
#include <string>
#include <vector>

namespace partita::torchvision {{

inline constexpr int64_t kBatch = {BATCH}, kSize = {SIZE}, kClasses = {CLASSES};
// Which tensors: parameter k is tensor k, and its gradient is multiplied by tensor kProbes + k.
inline constexpr int64_t kImages = {IMAGES}, kProbes = {PROBES};

// Element `i` of tensor number `tensor`, in [-1, 1).
inline double Hashed(int64_t tensor, int64_t i) {{
  auto x = static_cast<uint32_t>(i + tensor * 0x9E3779B1);
  x = (x ^ x >> 16) * 0x7FEB352D;
  x = (x ^ x >> 15) * 0x846CA68B;
  return static_cast<double>(x ^ x >> 16) / 2147483648.0 - 1;
}}
inline int64_t Label(int64_t n) {{ return (37 * n + 11) % kClasses; }}

struct Gradient {{
  const char* parameter;  // torchvision's name
  double norm, product;
}};

struct Step {{
  const char* model;  // our name
  double loss;
  std::vector<Gradient> gradients;  // in the order of the parameters
}};

inline std::vector<Step> Steps() {{
  return {{""")
    for model, make in NETWORKS.items():
        loss, rows = step(make())
        print(f'      {{"{model}",\n       {loss!r},\n       {{')
        for name, norm, product in rows:
            print(f'           {{"{name}", {norm!r}, {product!r}}},')
        print("       }},")
    print("""\
  };
}

}  // namespace partita::torchvision

#endif  // PARTITA_TESTS_TOOLS_MODELS_TORCHVISION_STEP_H_""")


if __name__ == "__main__":
    main()
