"""Makes the files of name_maps_test.cc: what packages call their models' tensors, and small models with their logits.

    python3 tests/importer/name_maps/make.py      (torch, torchvision, timm, transformers, safetensors)

tensors/PACKAGE/MODEL.txt has a line for each tensor of the model's state_dict: its name and sizes. MODEL.safetensors has
the weights of a small model, MODEL.half.safetensors the same as float16 and bfloat16 in turn, and
expected.safetensors inputs and logits.
"""

import os

import timm
import torch
import torchvision
import transformers
from safetensors.torch import save_file, save_model

HERE = os.path.dirname(os.path.abspath(__file__))

TORCHVISION = {"resnet-50": "resnet50", "alexnet": "alexnet", "vgg-16": "vgg16", "mobilenet-v3-large": "mobilenet_v3_large",
               "efficientnet-b0": "efficientnet_b0", "convnext-tiny": "convnext_tiny", "vit-b-16": "vit_b_16",
               "swin-t": "swin_t"}
TIMM = {"resnet-50": "resnet50", "vgg-16": "vgg16", "mobilenet-v3-large": "mobilenetv3_large_100",
        "efficientnet-b0": "efficientnet_b0", "convnext-tiny": "convnext_tiny", "vit-b-16": "vit_base_patch16_224",
        "inception-v3": "inception_v3", "swin-t": "swin_tiny_patch4_window7_224"}
TRANSFORMERS = {"resnet-50": ("ResNetForImageClassification", "ResNetConfig", {"num_labels": 1000}),
                "convnext-tiny": ("ConvNextForImageClassification", "ConvNextConfig", {"num_labels": 1000}),
                "vit-b-16": ("ViTForImageClassification", "ViTConfig", {"num_labels": 1000}),
                "gpt2": ("GPT2LMHeadModel", "GPT2Config", {}),
                "bert-base": ("BertForMaskedLM", "BertConfig", {}),
                "t5-small": ("T5ForConditionalGeneration", "T5Config", {})}


def transformers_model(kind, config, settings):
    return getattr(transformers, kind)(getattr(transformers, config)(**settings))


def write_names(package, name, model):
    folder = os.path.join(HERE, "tensors", package)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name + ".txt"), "w", encoding="utf-8") as file:
        for tensor, value in model.state_dict().items():
            if not tensor.endswith(("num_batches_tracked", "relative_position_index")):
                file.write(f"{tensor} {','.join(map(str, value.shape))}\n")


def write_all_names():
    with torch.device("meta"):
        for name, own in TORCHVISION.items():
            write_names("torchvision", name, getattr(torchvision.models, own)())
        write_names("torchvision", "inception-v3", torchvision.models.inception_v3(init_weights=False))
        for name, own in TIMM.items():
            write_names("timm", name, timm.create_model(own))
        for name, own in TRANSFORMERS.items():
            write_names("huggingface", name, transformers_model(*own))


def randomized(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.5 * torch.randn_like(parameter))
    return model.eval()


def write_weights(name, model):
    save_model(model, os.path.join(HERE, name + ".safetensors"))
    half = {}
    for i, (tensor, value) in enumerate(model.state_dict().items()):
        half[tensor] = value.to(torch.float16 if i % 2 == 0 else torch.bfloat16).contiguous().clone()
    save_file(half, os.path.join(HERE, name + ".half.safetensors"))


def main():
    write_all_names()
    torch.manual_seed(0)
    ids = torch.randint(0, 20, (2, 6))
    expected = {"ids": ids.int()}
    gpt2 = randomized(transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=20, n_positions=6, n_embd=8, n_layer=2, n_head=2)))
    write_weights("gpt2", gpt2)
    images = torch.randn(2, 3, 8, 8)
    vit = randomized(torchvision.models.VisionTransformer(
        image_size=8, patch_size=4, num_layers=2, num_heads=2, hidden_dim=8, mlp_dim=32, num_classes=5))
    write_weights("vit", vit)
    with torch.no_grad():
        expected["gpt2"] = gpt2(input_ids=ids).logits
        expected["images"] = images.permute(0, 2, 3, 1).contiguous()
        expected["vit"] = vit(images)
    save_file(expected, os.path.join(HERE, "expected.safetensors"))


if __name__ == "__main__":
    main()
