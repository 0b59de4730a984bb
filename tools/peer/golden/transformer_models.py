"""Computes one step of small models of transformers and torchvision, and of a small U-Net, in f64 and writes the numbers
beside which the tests hold ours:

  PYTHONPATH=tools/peer PYTHON tools/peer/golden/transformer_models.py > tests/tools/models/peer_transformers.h

PYTHON has torch, torchvision and transformers. What the models begin with and read are the formulas that the header
repeats; a parameter has our name and layout there, and its place in the list is `k` of the formula."""
import torch
import torchvision
import transformers
from package_networks import OurNames, Unet, bert_names, swin_names, t5_names, unet_names
from torch.nn import functional

BERT = {"samples": 3, "places": 7, "positions": 9, "words": 17, "segments": 2, "width": 12, "heads": 3, "layers": 2,
        "classes": 4}
VIT = {"samples": 3, "image": 12, "patch": 4, "channels": 3, "classes": 5, "width": 12, "heads": 3, "layers": 2}
SWIN = {"samples": 3, "image": 16, "patch": 2, "channels": 3, "window": 2, "classes": 5, "width": 6}
SWIN_STAGES = ((2, 2), (3, 3))  # blocks and heads
T5 = {"samples": 3, "source": 7, "target": 5, "words": 17, "width": 12, "heads": 3, "layers": 2, "distances": 8,
      "longest": 6}
UNET = {"samples": 3, "image": 8, "channels": 2, "classes": 3, "width": 4, "halvings": 2}
SMOOTHING = 0.11


def value(k, i):
    return ((7 * i + 13 * k + 5 * (i * i % 11)) % 23 - 11) / 32


def values(k, shape, gain):
    elements = torch.Size(shape).numel()
    return torch.tensor([gain + value(k, i) for i in range(elements)], dtype=torch.float64).reshape(shape)


def pattern(elements):
    return torch.tensor([(5 * i + 3) % 7 - 3 for i in range(elements)], dtype=torch.float64)


def fill(names):
    with torch.no_grad():
        for k, (name, (tensor, view)) in enumerate(names.ours.items()):
            of_us = view(tensor)
            of_us.copy_(values(k, of_us.shape, 1 if name.endswith(("/gain", "/gamma")) else 0))


def gradients(names):
    for name, (tensor, view) in names.ours.items():
        gradient = view(tensor.grad).contiguous().flatten()
        yield name, (gradient @ pattern(len(gradient))).item(), gradient.norm().item()


def step(names, loss):
    loss.backward()
    return loss.item(), gradients(names)


def bert_batch():
    samples, places = BERT["samples"], BERT["places"]
    lengths = torch.tensor([places - 2 * n for n in range(samples)])
    ids = torch.tensor([[1 + (5 * n + 3 * t) % (BERT["words"] - 1) if t < lengths[n] else 0 for t in range(places)]
                        for n in range(samples)])
    segments = torch.tensor([[int(t > 2 + n) for t in range(places)] for n in range(samples)])
    mask = (torch.arange(places) < lengths.unsqueeze(1)).long()
    return {"input_ids": ids, "token_type_ids": segments, "attention_mask": mask}


def word_labels():
    return torch.tensor([[(7 * n + 2 * t) % BERT["words"] if (n + t) % 3 == 0 and t < BERT["places"] - 2 * n else -100
                          for t in range(BERT["places"])] for n in range(BERT["samples"])])


def bert_config():
    return transformers.BertConfig(
        vocab_size=BERT["words"], hidden_size=BERT["width"], num_hidden_layers=BERT["layers"],
        num_attention_heads=BERT["heads"], intermediate_size=4 * BERT["width"], hidden_dropout_prob=0,
        attention_probs_dropout_prob=0, max_position_embeddings=BERT["positions"], type_vocab_size=BERT["segments"],
        num_labels=BERT["classes"])


def bert_of_words():
    module = transformers.BertForMaskedLM(bert_config()).double().train()
    names = bert_names(module)
    fill(names)
    loss = module(**bert_batch(), labels=word_labels()).loss
    return step(names, loss)


def bert_classifier():
    module = transformers.BertForSequenceClassification(bert_config()).double().train()
    names = bert_names(module)
    fill(names)
    loss = module(**bert_batch(), labels=torch.tensor([n % BERT["classes"] for n in range(BERT["samples"])])).loss
    return step(names, loss)


def vit_names(module):
    names, width = OurNames(module), VIT["width"]
    names.add("patches/conv/weights", "conv_proj.weight", lambda x: x.permute(0, 2, 3, 1))
    names.add("patches/bias/values", "conv_proj.bias")
    names.add("class/token", "class_token", lambda x: x[0])
    names.add("positions/table", "encoder.pos_embedding", lambda x: x[0])
    for i in range(VIT["layers"]):
        block, layer = f"block{i + 1}", f"encoder.layers.encoder_layer_{i}."
        names.norm(block + "/norm1", layer + "ln_1")
        for part, ours in enumerate(("query", "key", "value")):
            names.dense(f"{block}/{ours}", layer + "self_attention.in_proj", slice(part * width, (part + 1) * width))
        names.dense(block + "/output", layer + "self_attention.out_proj")
        names.norm(block + "/norm2", layer + "ln_2")
        names.dense(block + "/up", layer + "mlp.0")
        names.dense(block + "/down", layer + "mlp.3")
    names.norm("norm", "encoder.ln")
    names.dense("logits", "heads.head")
    return names


def vit():
    module = torchvision.models.VisionTransformer(VIT["image"], VIT["patch"], VIT["layers"], VIT["heads"],
                                                  VIT["width"], 4 * VIT["width"], num_classes=VIT["classes"]).double()
    names = vit_names(module)
    fill(names)
    size, channels = VIT["image"], VIT["channels"]
    images = values(100, (VIT["samples"], size, size, channels), 0).permute(0, 3, 1, 2)
    labels = torch.tensor([(2 * n + 1) % VIT["classes"] for n in range(VIT["samples"])])
    loss = functional.cross_entropy(module(images), labels, label_smoothing=SMOOTHING)
    return step(names, loss)


def swin():
    blocks, heads = zip(*SWIN_STAGES, strict=True)
    module = torchvision.models.SwinTransformer(
        [SWIN["patch"]] * 2, SWIN["width"], list(blocks), list(heads), [SWIN["window"]] * 2, stochastic_depth_prob=0.0,
        num_classes=SWIN["classes"]).double()
    names = swin_names(module, blocks)
    fill(names)
    size, channels = SWIN["image"], SWIN["channels"]
    images = values(100, (SWIN["samples"], size, size, channels), 0).permute(0, 3, 1, 2)
    labels = torch.tensor([(2 * n + 1) % SWIN["classes"] for n in range(SWIN["samples"])])
    loss = functional.cross_entropy(module(images), labels, label_smoothing=SMOOTHING)
    return step(names, loss)


def t5():
    width, heads, words = T5["width"], T5["heads"], T5["words"]
    module = transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=words, d_model=width, d_kv=width // heads, d_ff=4 * width, num_layers=T5["layers"], num_heads=heads,
        relative_attention_num_buckets=T5["distances"], relative_attention_max_distance=T5["longest"],
        dropout_rate=0)).double().train()
    names = t5_names(module)
    fill(names)
    samples, source, target = T5["samples"], T5["source"], T5["target"]
    lengths = torch.tensor([source - 2 * n for n in range(samples)])
    mask = torch.arange(source) < lengths.unsqueeze(1)
    words_of = lambda places, factor: torch.tensor(
        [[1 + (factor * n + 3 * t) % (words - 1) for t in range(places)] for n in range(samples)])
    written = torch.arange(target) < torch.tensor([target - n for n in range(samples)]).unsqueeze(1)
    loss = module(input_ids=words_of(source, 5) * mask, attention_mask=mask.long(),
                  decoder_input_ids=words_of(target, 7), labels=words_of(target, 2).masked_fill(~written, -100)).loss
    return step(names, loss)


def unet():
    module = Unet(UNET["channels"], UNET["classes"], UNET["width"], UNET["halvings"]).double().train()
    names = unet_names(module)
    fill(names)
    samples, size = UNET["samples"], UNET["image"]
    images = values(100, (samples, size, size, UNET["channels"]), 0).permute(0, 3, 1, 2)
    labels = torch.tensor([(2 * i + i // 7) % UNET["classes"] for i in range(samples * size * size)])
    loss = functional.cross_entropy(module(images), labels.reshape(samples, size, size))
    return step(names, loss)


def show(name, says, computed):
    loss, rows = computed
    print(f"\n// {says}\ninline PeerStep {name}() {{\n  return {{{loss!r},\n          {{")
    for ours, along, norm in rows:
        print(f'              {{"{ours}", {along!r}, {norm!r}}},')
    print("          }};\n}")


def main():
    sizes = "\n".join(f"inline constexpr int64_t k{model}{key.capitalize()} = {each};"
                      for model, group in (("Bert", BERT), ("Vit", VIT), ("Swin", SWIN), ("T5", T5), ("Unet", UNET))
                      for key, each in group.items())
    print(f"""\
// Written by tools/peer/golden/transformer_models.py with transformers {transformers.__version__}, torchvision {
    torchvision.__version__.split("+")[0]} and PyTorch {torch.__version__.split("+")[0]}:
// losses and gradients of one step in f64.
#ifndef PARTITA_TESTS_TOOLS_MODELS_PEER_TRANSFORMERS_H_
#define PARTITA_TESTS_TOOLS_MODELS_PEER_TRANSFORMERS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace partita {{

{sizes}
inline constexpr double kVitSmoothing = {SMOOTHING};

// Element i of parameter k of a step's list; 1 more if it is a gain or gamma. Pictures are as parameter 100.
inline double PeerValue(int64_t k, int64_t i) {{
  return static_cast<double>((7 * i + 13 * k + 5 * (i * i % 11)) % 23 - 11) / 32;
}}
inline int64_t PeerLength(int64_t n) {{ return kBertPlaces - 2 * n; }}
// Word 0 is padding, whose row has no gradient there.
inline int64_t PeerWord(int64_t n, int64_t t) {{ return t < PeerLength(n) ? 1 + (5 * n + 3 * t) % (kBertWords - 1) : 0; }}
inline int64_t PeerSegment(int64_t n, int64_t t) {{ return t > 2 + n ? 1 : 0; }}
inline int64_t PeerLabel(int64_t n, int64_t t) {{
  return (n + t) % 3 == 0 && t < PeerLength(n) ? (7 * n + 2 * t) % kBertWords : -100;
}}
inline int64_t PeerClass(int64_t n) {{ return n % kBertClasses; }}
inline int64_t PeerPicture(int64_t n) {{ return (2 * n + 1) % kVitClasses; }}
inline int64_t PeerPixel(int64_t i) {{ return (2 * i + i / 7) % kUnetClasses; }}
// Of T5: word t of sample n, times 5 in what is read, 7 in what the decoder reads and 2 in what follows there.
inline int64_t PeerPairWord(int64_t n, int64_t t, int64_t factor) {{ return 1 + (factor * n + 3 * t) % (kT5Words - 1); }}
inline int64_t PeerSourceLength(int64_t n) {{ return kT5Source - 2 * n; }}
inline int64_t PeerTargetLength(int64_t n) {{ return kT5Target - n; }}
// The factor of element i of a gradient in PeerGradient::along.
inline double PeerPattern(int64_t i) {{ return static_cast<double>((5 * i + 3) % 7 - 3); }}

struct PeerGradient {{
  std::string parameter;
  double along, norm;  // its product with the pattern, and its norm
}};

struct PeerStep {{
  double loss;
  std::vector<PeerGradient> gradients;
}};""")
    show("BertOfWords", "BertForMaskedLM.", bert_of_words())
    show("BertClassifier", "BertForSequenceClassification.", bert_classifier())
    show("VitStep", "VisionTransformer.", vit())
    show("SwinStep", "SwinTransformer.", swin())
    show("T5Step", "T5ForConditionalGeneration.", t5())
    show("UnetStep", "A U-Net of PyTorch's layers.", unet())
    print("""
}  // namespace partita

#endif  // PARTITA_TESTS_TOOLS_MODELS_PEER_TRANSFORMERS_H_""")


if __name__ == "__main__":
    main()
