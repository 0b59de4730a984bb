"""Computes one step of small models of transformers and torchvision in f64 and writes the numbers beside which the
tests hold ours:

  PYTHON tools/peer/transformer_models.py > tests/tools/models/peer_transformers.h

PYTHON has torch, torchvision and transformers. What the models begin with and read are the formulas that the header
repeats; a parameter has our name and layout there, and its place in the list is `k` of the formula."""
import torch
import torchvision
import transformers
from torch.nn import functional

BERT = {"samples": 3, "places": 7, "positions": 9, "words": 17, "segments": 2, "width": 12, "heads": 3, "layers": 2,
        "classes": 4}
VIT = {"samples": 3, "image": 12, "patch": 4, "channels": 3, "classes": 5, "width": 12, "heads": 3, "layers": 2}
SMOOTHING = 0.11


def value(k, i):
    return ((7 * i + 13 * k + 5 * (i * i % 11)) % 23 - 11) / 32


def values(k, shape, gain):
    elements = torch.Size(shape).numel()
    return torch.tensor([gain + value(k, i) for i in range(elements)], dtype=torch.float64).reshape(shape)


def pattern(elements):
    return torch.tensor([(5 * i + 3) % 7 - 3 for i in range(elements)], dtype=torch.float64)


class Parameters:
    """Ours, by name: each is a view of a part of PyTorch's, in our layout."""

    def __init__(self, module):
        self.of = dict(module.named_parameters())
        self.ours = {}

    def add(self, name, theirs, to_ours=lambda x: x):
        self.ours[name] = (theirs, to_ours)

    def dense(self, name, theirs, rows=slice(None)):
        self.add(name + "/weights", theirs + ".weight" if theirs + ".weight" in self.of else theirs + "_weight",
                 lambda x: x[rows].T)
        self.add(name + "/bias/values", theirs + ".bias" if theirs + ".bias" in self.of else theirs + "_bias",
                 lambda x: x[rows])

    def norm(self, name, theirs):
        self.add(name + "/gain", theirs + ".weight")
        self.add(name + "/offset", theirs + ".bias")

    def fill(self):
        with torch.no_grad():
            for k, (name, (theirs, to_ours)) in enumerate(self.ours.items()):
                view = to_ours(self.of[theirs])
                view.copy_(values(k, view.shape, 1 if name.endswith("/gain") else 0))

    def gradients(self):
        for name, (theirs, to_ours) in self.ours.items():
            gradient = to_ours(self.of[theirs].grad).contiguous().flatten()
            yield name, (gradient @ pattern(len(gradient))).item(), gradient.norm().item()


def bert_parameters(module):
    found = Parameters(module)
    base = "bert." if any(name.startswith("bert.") for name in found.of) else ""
    found.add("words/table", base + "embeddings.word_embeddings.weight")
    found.add("positions/table", base + "embeddings.position_embeddings.weight")
    found.add("segments/table", base + "embeddings.token_type_embeddings.weight")
    found.norm("embedding/norm", base + "embeddings.LayerNorm")
    for i in range(BERT["layers"]):
        block, layer = f"block{i + 1}", f"{base}encoder.layer.{i}."
        for ours, theirs in (("query", "attention.self.query"), ("key", "attention.self.key"),
                             ("value", "attention.self.value"), ("output", "attention.output.dense")):
            found.dense(f"{block}/{ours}", layer + theirs)
        found.norm(block + "/norm1", layer + "attention.output.LayerNorm")
        found.dense(block + "/up", layer + "intermediate.dense")
        found.dense(block + "/down", layer + "output.dense")
        found.norm(block + "/norm2", layer + "output.LayerNorm")
    return found


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
    found = bert_parameters(module)
    found.dense("transform", "cls.predictions.transform.dense")
    found.norm("transform/norm", "cls.predictions.transform.LayerNorm")
    found.add("logits/bias/values", "cls.predictions.bias")
    found.fill()
    loss = module(**bert_batch(), labels=word_labels()).loss
    loss.backward()
    return loss.item(), found.gradients()


def bert_classifier():
    module = transformers.BertForSequenceClassification(bert_config()).double().train()
    found = bert_parameters(module)
    found.dense("pooler", "bert.pooler.dense")
    found.dense("logits", "classifier")
    found.fill()
    loss = module(**bert_batch(), labels=torch.tensor([n % BERT["classes"] for n in range(BERT["samples"])])).loss
    loss.backward()
    return loss.item(), found.gradients()


def vit_parameters(module):
    found, width = Parameters(module), VIT["width"]
    found.add("patches/conv/weights", "conv_proj.weight", lambda x: x.permute(0, 2, 3, 1))
    found.add("patches/bias/values", "conv_proj.bias")
    found.add("class/token", "class_token", lambda x: x[0])
    found.add("positions/table", "encoder.pos_embedding", lambda x: x[0])
    for i in range(VIT["layers"]):
        block, layer = f"block{i + 1}", f"encoder.layers.encoder_layer_{i}."
        found.norm(block + "/norm1", layer + "ln_1")
        for part, ours in enumerate(("query", "key", "value")):
            found.dense(f"{block}/{ours}", layer + "self_attention.in_proj", slice(part * width, (part + 1) * width))
        found.dense(block + "/output", layer + "self_attention.out_proj")
        found.norm(block + "/norm2", layer + "ln_2")
        found.dense(block + "/up", layer + "mlp.0")
        found.dense(block + "/down", layer + "mlp.3")
    found.norm("norm", "encoder.ln")
    found.dense("logits", "heads.head")
    return found


def vit():
    module = torchvision.models.VisionTransformer(VIT["image"], VIT["patch"], VIT["layers"], VIT["heads"],
                                                  VIT["width"], 4 * VIT["width"], num_classes=VIT["classes"]).double()
    found = vit_parameters(module)
    found.fill()
    size, channels = VIT["image"], VIT["channels"]
    images = values(100, (VIT["samples"], size, size, channels), 0).permute(0, 3, 1, 2)
    labels = torch.tensor([(2 * n + 1) % VIT["classes"] for n in range(VIT["samples"])])
    loss = functional.cross_entropy(module(images), labels, label_smoothing=SMOOTHING)
    loss.backward()
    return loss.item(), found.gradients()


def show(name, says, step):
    loss, gradients = step
    print(f"\n// {says}\ninline PeerStep {name}() {{\n  return {{{loss!r},\n          {{")
    for ours, along, norm in gradients:
        print(f'              {{"{ours}", {along!r}, {norm!r}}},')
    print("          }};\n}")


def main():
    sizes = "\n".join(f"inline constexpr int64_t k{model}{key.capitalize()} = {each};"
                      for model, group in (("Bert", BERT), ("Vit", VIT)) for key, each in group.items())
    print(f"""\
// Written by tools/peer/transformer_models.py with transformers {transformers.__version__}, torchvision {
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

// Element i of parameter k of a step's list; 1 more if it is a gain. Pictures are as parameter 100.
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
    print("""
}  // namespace partita

#endif  // PARTITA_TESTS_TOOLS_MODELS_PEER_TRANSFORMERS_H_""")


if __name__ == "__main__":
    main()
