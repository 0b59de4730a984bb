"""Compares shipped models that read weights of torchvision, timm and transformers with the packages' own.

Each has random weights and statistics. The trainer reads them with --map and predicts; the logits are to be the
package's. Then convert writes them back, and load_state_dict is to take the file strictly, with every value as it was.

    python3 tests/importer/name_maps/packages.py FOLDER_OF_TRAINER_AND_BUILD_MODEL [PACKAGE/MODEL ...]

It needs torch, torchvision, timm, transformers, safetensors and numpy.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy
import safetensors.torch
import timm
import torch
import torchvision
import transformers

IMAGES = 224
WORDS = 64  # of a sequence


def torchvision_model(name, **settings):
    return lambda: getattr(torchvision.models, name)(**settings)


def transformers_model(kind, config, **settings):
    return lambda: getattr(transformers, kind)(getattr(transformers, config)(**settings))


# By map: the package's model, and flags of build_model by which ours computes what that one does.
CASES = {
    "torchvision/resnet-50": (torchvision_model("resnet50"), []),
    "torchvision/alexnet": (torchvision_model("alexnet"), []),
    "torchvision/vgg-16": (torchvision_model("vgg16"), []),
    "torchvision/mobilenet-v3-large": (torchvision_model("mobilenet_v3_large"), []),
    "torchvision/efficientnet-b0": (torchvision_model("efficientnet_b0"), []),
    "torchvision/convnext-tiny": (torchvision_model("convnext_tiny"), []),
    "torchvision/vit-b-16": (torchvision_model("vit_b_16"), []),
    "torchvision/inception-v3": (torchvision_model("inception_v3", init_weights=False, transform_input=False),
                                 ["--auxiliary-head", "--count-padding"]),
    "torchvision/swin-t": (torchvision_model("swin_t"), []),
    "timm/resnet-50": (lambda: timm.create_model("resnet50"), []),
    "timm/vgg-16": (lambda: timm.create_model("vgg16"), []),
    "timm/mobilenet-v3-large": (lambda: timm.create_model("mobilenetv3_large_100"), ["--batch-norm-epsilon=1e-5"]),
    "timm/efficientnet-b0": (lambda: timm.create_model("efficientnet_b0"), ["--batch-norm-epsilon=1e-5"]),
    "timm/convnext-tiny": (lambda: timm.create_model("convnext_tiny"), []),
    "timm/vit-b-16": (lambda: timm.create_model("vit_base_patch16_224"), []),
    "timm/swin-t": (lambda: timm.create_model("swin_tiny_patch4_window7_224"), []),
    "timm/inception-v3": (lambda: timm.create_model("inception_v3"), ["--count-padding"]),
    "huggingface/resnet-50": (transformers_model("ResNetForImageClassification", "ResNetConfig", num_labels=1000), []),
    "huggingface/convnext-tiny": (transformers_model("ConvNextForImageClassification", "ConvNextConfig",
                                                     num_labels=1000), []),
    "huggingface/vit-b-16": (transformers_model("ViTForImageClassification", "ViTConfig", num_labels=1000,
                                                layer_norm_eps=1e-6), []),
    "huggingface/gpt2": (transformers_model("GPT2LMHeadModel", "GPT2Config"), [f"--length={WORDS}"]),
    "huggingface/t5-small": (transformers_model("T5ForConditionalGeneration", "T5Config"),
                             [f"--source-length={WORDS}", f"--target-length={WORDS}"]),
    "huggingface/bert-base": (transformers_model("BertForMaskedLM", "BertConfig"), [f"--length={WORDS}"]),
    "huggingface/bert-base classifier": (transformers_model("BertForSequenceClassification", "BertConfig"),
                                         [f"--length={WORDS}", "--head=classifier"]),
}


def randomize(model):
    """Statistics and scales that would show if they were exchanged, with activations of about one."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, tensor in list(model.named_parameters()) + list(model.named_buffers()):
            if not tensor.is_floating_point():
                continue
            noise = torch.randn(tensor.shape, generator=generator)
            if name.endswith("running_var"):
                tensor.copy_(1 + 0.2 * noise.abs())
            elif name.endswith("running_mean") or tensor.dim() <= 1 and not name.endswith("weight"):
                tensor.copy_(0.1 * noise)
            elif tensor.dim() <= 1:
                tensor.copy_(1 + 0.1 * noise)
            elif not tensor.any():  # a head that begins with zeros would hide all before it
                tensor.copy_(0.05 * noise)
            elif tensor.dim() == 3 and tensor.shape[1:] == (1, 1):  # scales of layers
                tensor.copy_(0.3 + 0.1 * noise)


def data_and_logits(model, graph_name):
    torch.manual_seed(2)
    with torch.no_grad():
        if graph_name in ("gpt2", "bert-base"):
            ids = torch.randint(0, 30000, (2, WORDS))
            fields = {"ids": ids.int().numpy()}
            if graph_name == "gpt2":
                fields |= {"targets": ids.int().numpy(), "weights": numpy.ones((2, WORDS), numpy.float32)}
                return fields, model(input_ids=ids).logits.numpy()
            kinds = torch.randint(0, 2, (2, WORDS))
            lengths = torch.tensor([WORDS, WORDS - 20])
            logits = model(input_ids=ids, token_type_ids=kinds,
                           attention_mask=(torch.arange(WORDS)[None] < lengths[:, None]).long()).logits
            is_words = logits.dim() == 3
            labels = numpy.zeros((2, WORDS) if is_words else (2,), numpy.int32)
            fields |= {"segments": kinds.int().numpy(), "lengths": lengths.int().numpy(), "labels": labels}
            if is_words:  # places behind the end of a sequence are of no meaning
                logits[1, WORDS - 20:] = 0
            return fields, logits.numpy()
        if graph_name == "t5-small":
            source, ids = torch.randint(0, 30000, (2, 2, WORDS))
            lengths = torch.tensor([WORDS, WORDS - 20])
            logits = model(input_ids=source, attention_mask=(torch.arange(WORDS)[None] < lengths[:, None]).long(),
                           decoder_input_ids=ids).logits
            return {"source": source.int().numpy(), "source_lengths": lengths.int().numpy(), "ids": ids.int().numpy(),
                    "targets": ids.int().numpy(), "weights": numpy.ones((2, WORDS), numpy.float32)}, logits.numpy()
        size = 299 if graph_name == "inception-v3" else IMAGES
        images = torch.randn(2, 3, size, size)
        logits = model(images)
        logits = getattr(logits, "logits", logits)
        return {"images": images.permute(0, 2, 3, 1).contiguous().numpy(),
                "labels": numpy.zeros(2, numpy.int32)}, logits.numpy()


def compare(programs, case, folder):
    make, flags = CASES[case]
    package, graph_name = case.split()[0].split("/")
    torch.manual_seed(0)
    model = make().eval()
    randomize(model)
    graph, weights, back = folder / "graph.pbtxt", folder / "theirs.safetensors", folder / "back.safetensors"
    safetensors.torch.save_model(model, weights)
    run = lambda program, *words: subprocess.run([programs / program, *map(str, words)], check=True,
                                                 capture_output=True, text=True)
    run("build_model", graph_name, "--batch=2", f"--output={graph}", *flags)
    fields, wanted = data_and_logits(model, graph_name)
    numpy.savez(folder / "data.npz", **{f"{part}/{name}": value for part in ("train", "test")
                                        for name, value in fields.items()})
    run("trainer", "predict", graph, f"--load={weights}", f"--map={package}", f"--data={folder / 'data.npz'}",
        f"--output={folder / 'logits.npy'}")
    found = numpy.load(folder / "logits.npy").reshape(wanted.shape)
    if graph_name == "bert-base" and wanted.ndim == 3:
        found[1, WORDS - 20:] = 0
    difference = numpy.abs(found - wanted).max() / numpy.abs(wanted).max()
    ours = folder / "ours.safetensors"
    run("trainer", "convert", graph, f"--load={weights}", f"--map={package}", f"--output={ours}")
    run("trainer", "convert", graph, f"--load={ours}", f"--map={package}", f"--output={back}")
    written = safetensors.torch.load_file(back)
    fresh = make()
    # torchvision keeps the places of a window's patches as a buffer, which the graph has once.
    fresh.load_state_dict(written, strict=case != "torchvision/swin-t")
    state = model.state_dict()
    same = all(torch.equal(value, state[name]) for name, value in written.items())
    good = difference < 1e-4 and same
    print(f"{case:34} {len(written):4} tensors  logits {difference:.1e}  back {'equal' if same else 'DIFFERENT'}"
          f"{'' if good else '  FAILED'}", flush=True)
    return good


def main(programs, cases):
    good = 0
    for case in cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                good += compare(pathlib.Path(programs).resolve(), case, pathlib.Path(folder))
            except subprocess.CalledProcessError as error:
                print(f"{case:34} FAILED: {error.stderr.strip()[-600:]}", flush=True)
            except RuntimeError as error:  # of load_state_dict
                print(f"{case:34} FAILED: {str(error)[-600:]}", flush=True)
    print(f"{good} of {len(cases or CASES)} are equal")
    return good != len(cases or CASES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
