"""Computes one step of small models of transformers and torchvision, and of a small U-Net, in f64 and writes the numbers beside which the
tests hold ours:

  PYTHON tools/peer/transformer_models.py > tests/tools/models/peer_transformers.h

PYTHON has torch, torchvision and transformers. What the models begin with and read are the formulas that the header
repeats; a parameter has our name and layout there, and its place in the list is `k` of the formula."""
import torch
import torchvision
import transformers
from torch import nn
from torch.nn import functional
from transformers.models.t5 import modeling_t5

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

    def matmul(self, name, theirs):
        self.add(name + "/weights", theirs + ".weight", lambda x: x.T)

    def norm(self, name, theirs):
        self.add(name + "/gain", theirs + ".weight")
        self.add(name + "/offset", theirs + ".bias")

    def fill(self):
        with torch.no_grad():
            for k, (name, (theirs, to_ours)) in enumerate(self.ours.items()):
                view = to_ours(self.of[theirs])
                view.copy_(values(k, view.shape, 1 if name.endswith(("/gain", "/gamma")) else 0))

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


def swin():
    blocks, heads = zip(*SWIN_STAGES, strict=True)
    module = torchvision.models.SwinTransformer(
        [SWIN["patch"]] * 2, SWIN["width"], list(blocks), list(heads), [SWIN["window"]] * 2, stochastic_depth_prob=0.0,
        num_classes=SWIN["classes"]).double()
    found, width = Parameters(module), SWIN["width"]
    found.add("patches/weights", "features.0.0.weight", lambda x: x.permute(0, 2, 3, 1))
    found.add("patches/bias/values", "features.0.0.bias")
    found.norm("patches/norm", "features.0.2")
    for s, (count, _) in enumerate(SWIN_STAGES):
        if s > 0:
            found.norm(f"stage{s + 1}/merge/norm", f"features.{2 * s}.norm")
            found.matmul(f"stage{s + 1}/merge", f"features.{2 * s}.reduction")
            width *= 2
        for b in range(count):
            block, layer = f"stage{s + 1}/{b + 1}", f"features.{2 * s + 1}.{b}."
            found.norm(block + "/norm1", layer + "norm1")
            for part, ours in enumerate(("query", "key", "value")):
                found.dense(f"{block}/{ours}", layer + "attn.qkv", slice(part * width, (part + 1) * width))
            found.add(block + "/positions/table", layer + "attn.relative_position_bias_table")
            found.dense(block + "/output", layer + "attn.proj")
            found.norm(block + "/norm2", layer + "norm2")
            found.dense(block + "/up", layer + "mlp.0")
            found.dense(block + "/down", layer + "mlp.3")
    found.norm("norm", "norm")
    found.dense("logits", "head")
    found.fill()
    size, channels = SWIN["image"], SWIN["channels"]
    images = values(100, (SWIN["samples"], size, size, channels), 0).permute(0, 3, 1, 2)
    labels = torch.tensor([(2 * n + 1) % SWIN["classes"] for n in range(SWIN["samples"])])
    loss = functional.cross_entropy(module(images), labels, label_smoothing=SMOOTHING)
    loss.backward()
    return loss.item(), found.gradients()


def t5_stack(found, stack, layers):
    found.add(f"{stack}/distances/table", f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight")
    for i in range(layers):
        block, layer = f"{stack}{i + 1}", f"{stack}.block.{i}.layer."
        attentions = [(block, block + "/norm1", "SelfAttention", 0)]
        if stack == "decoder":
            attentions.append((block + "/source", block + "/source/norm", "EncDecAttention", 1))
        for ours, norm, kind, place in attentions:
            found.add(norm + "/gain", f"{layer}{place}.layer_norm.weight")
            for part, theirs in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "o")):
                found.matmul(f"{ours}/{part}", f"{layer}{place}.{kind}.{theirs}")
        last = len(attentions)
        found.add(block + "/norm2/gain", f"{layer}{last}.layer_norm.weight")
        found.matmul(block + "/up", f"{layer}{last}.DenseReluDense.wi")
        found.matmul(block + "/down", f"{layer}{last}.DenseReluDense.wo")
    found.add(stack + "/norm/gain", stack + ".final_layer_norm.weight")


def norm_of_squares(self, x):
    """T5LayerNorm's, which computes the mean of the squares in f32 whatever the type."""
    return self.weight * (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.variance_epsilon))


def t5():
    modeling_t5.T5LayerNorm.forward = norm_of_squares
    width, heads, words = T5["width"], T5["heads"], T5["words"]
    module = transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=words, d_model=width, d_kv=width // heads, d_ff=4 * width, num_layers=T5["layers"], num_heads=heads,
        relative_attention_num_buckets=T5["distances"], relative_attention_max_distance=T5["longest"],
        dropout_rate=0)).double().train()
    found = Parameters(module)
    found.add("words/table", "shared.weight")
    for stack in ("encoder", "decoder"):
        t5_stack(found, stack, T5["layers"])
    found.fill()
    samples, source, target = T5["samples"], T5["source"], T5["target"]
    lengths = torch.tensor([source - 2 * n for n in range(samples)])
    mask = torch.arange(source) < lengths.unsqueeze(1)
    words_of = lambda places, factor: torch.tensor(
        [[1 + (factor * n + 3 * t) % (words - 1) for t in range(places)] for n in range(samples)])
    written = torch.arange(target) < torch.tensor([target - n for n in range(samples)]).unsqueeze(1)
    loss = module(input_ids=words_of(source, 5) * mask, attention_mask=mask.long(),
                  decoder_input_ids=words_of(target, 7), labels=words_of(target, 2).masked_fill(~written, -100)).loss
    loss.backward()
    return loss.item(), found.gradients()


class Convolutions(nn.Sequential):
    def __init__(self, inputs, outputs):
        layers = []
        for width in (inputs, outputs):
            layers += [nn.Conv2d(width, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
        super().__init__(*layers)


class Unet(nn.Module):
    """As github.com/milesial/Pytorch-UNet has it, with bilinear off."""

    def __init__(self, image_channels, classes, channels, halvings):
        super().__init__()
        widths = [channels << s for s in range(halvings + 1)]
        self.down = nn.ModuleList([Convolutions(inputs, outputs)
                                   for inputs, outputs in zip([image_channels, *widths], widths, strict=False)])
        self.doubled = nn.ModuleList([nn.ConvTranspose2d(2 * width, width, 2, 2) for width in widths[:-1]])
        self.up = nn.ModuleList([Convolutions(2 * width, width) for width in widths[:-1]])
        self.logits = nn.Conv2d(channels, classes, 1)

    def forward(self, x):
        of_size = [self.down[0](x)]
        for layers in self.down[1:]:
            of_size.append(layers(functional.max_pool2d(of_size[-1], 2)))
        x = of_size.pop()
        for double, layers in zip(reversed(self.doubled), reversed(self.up), strict=True):
            x = layers(torch.cat((of_size.pop(), double(x)), 1))
        return self.logits(x)


def unet():
    module = Unet(UNET["channels"], UNET["classes"], UNET["width"], UNET["halvings"]).double().train()
    found = Parameters(module)

    def add_convolutions(name, theirs):
        for part in (0, 1):
            found.add(f"{name}/{part + 1}/conv/weights", f"{theirs}.{3 * part}.weight", lambda x: x.permute(0, 2, 3, 1))
            found.add(f"{name}/{part + 1}/batch_norm/gamma", f"{theirs}.{3 * part + 1}.weight")
            found.add(f"{name}/{part + 1}/batch_norm/beta", f"{theirs}.{3 * part + 1}.bias")

    for s in range(UNET["halvings"] + 1):
        add_convolutions(f"down{s}", f"down.{s}")
    for s in reversed(range(UNET["halvings"])):
        # [inputs, outputs, rows, columns]; a view has to stay one, so ours is of four dimensions here.
        found.add(f"up{s}/double/weights", f"doubled.{s}.weight", lambda x: x.permute(2, 3, 1, 0))
        found.add(f"up{s}/bias/values", f"doubled.{s}.bias")
        add_convolutions(f"up{s}", f"up.{s}")
    found.add("logits/weights", "logits.weight", lambda x: x.permute(0, 2, 3, 1))
    found.add("logits/bias/values", "logits.bias")
    found.fill()
    samples, size = UNET["samples"], UNET["image"]
    images = values(100, (samples, size, size, UNET["channels"]), 0).permute(0, 3, 1, 2)
    labels = torch.tensor([(2 * i + i // 7) % UNET["classes"] for i in range(samples * size * size)])
    loss = functional.cross_entropy(module(images), labels.reshape(samples, size, size))
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
                      for model, group in (("Bert", BERT), ("Vit", VIT), ("Swin", SWIN), ("T5", T5), ("Unet", UNET))
                      for key, each in group.items())
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
