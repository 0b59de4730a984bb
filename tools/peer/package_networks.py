"""Models of torchvision and transformers, and a U-Net of PyTorch's layers, with their parameters under our names, and how
they are trained. They answer as networks.Network does."""

import torch
import torchvision
import transformers
from torch import nn
from torch.nn import functional
from transformer_networks import AdamWTraining
from transformers.models.t5 import modeling_t5


class OurNames:
    """The module's parameters by our name. `view` gives a view of a parameter in our layout."""

    def __init__(self, module):
        self.of = dict(module.named_parameters())
        self.ours = {}

    def add(self, name, theirs, view=lambda x: x):
        self.ours[name] = (self.of[theirs], view)

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

    def convolution(self, name, theirs):
        self.add(name + "/weights", theirs + ".weight", lambda x: x.permute(0, 2, 3, 1))


def bert_names(module):
    names = OurNames(module)
    base = "bert." if any(name.startswith("bert.") for name in names.of) else ""
    names.add("words/table", base + "embeddings.word_embeddings.weight")
    names.add("positions/table", base + "embeddings.position_embeddings.weight")
    names.add("segments/table", base + "embeddings.token_type_embeddings.weight")
    names.norm("embedding/norm", base + "embeddings.LayerNorm")
    for i in range(module.config.num_hidden_layers):
        block, layer = f"block{i + 1}", f"{base}encoder.layer.{i}."
        for ours, theirs in (("query", "attention.self.query"), ("key", "attention.self.key"),
                             ("value", "attention.self.value"), ("output", "attention.output.dense")):
            names.dense(f"{block}/{ours}", layer + theirs)
        names.norm(block + "/norm1", layer + "attention.output.LayerNorm")
        names.dense(block + "/up", layer + "intermediate.dense")
        names.dense(block + "/down", layer + "output.dense")
        names.norm(block + "/norm2", layer + "output.LayerNorm")
    if "cls.predictions.bias" in names.of:
        names.dense("transform", "cls.predictions.transform.dense")
        names.norm("transform/norm", "cls.predictions.transform.LayerNorm")
        names.add("logits/bias/values", "cls.predictions.bias")
    else:
        names.dense("pooler", "bert.pooler.dense")
        names.dense("logits", "classifier")
    return names


def swin_names(module, stages):
    """`stages`: how many blocks each has."""
    names = OurNames(module)
    names.convolution("patches", "features.0.0")
    names.add("patches/bias/values", "features.0.0.bias")
    names.norm("patches/norm", "features.0.2")
    for s, count in enumerate(stages):
        if s > 0:
            names.norm(f"stage{s + 1}/merge/norm", f"features.{2 * s}.norm")
            names.matmul(f"stage{s + 1}/merge", f"features.{2 * s}.reduction")
        for b in range(count):
            block, layer = f"stage{s + 1}/{b + 1}", f"features.{2 * s + 1}.{b}."
            names.norm(block + "/norm1", layer + "norm1")
            width = len(names.of[layer + "norm1.weight"])
            for part, ours in enumerate(("query", "key", "value")):
                names.dense(f"{block}/{ours}", layer + "attn.qkv", slice(part * width, (part + 1) * width))
            names.add(block + "/positions/table", layer + "attn.relative_position_bias_table")
            names.dense(block + "/output", layer + "attn.proj")
            names.norm(block + "/norm2", layer + "norm2")
            names.dense(block + "/up", layer + "mlp.0")
            names.dense(block + "/down", layer + "mlp.3")
    names.norm("norm", "norm")
    names.dense("logits", "head")
    return names


def convnext_names(module, stages):
    names = OurNames(module)
    of_pixels = lambda x: x[:, None, None, :]  # a dense layer of each pixel is a convolution of 1 x 1 in ours

    def convolution(name, theirs):
        names.convolution(name, theirs)
        names.add(name + "/bias/values", theirs + ".bias")

    convolution("stem", "features.0.0")
    names.norm("stem/norm", "features.0.1")
    for s, count in enumerate(stages):
        if s > 0:
            names.norm(f"stage{s + 1}/norm", f"features.{2 * s}.0")
            convolution(f"stage{s + 1}/down", f"features.{2 * s}.1")
        for b in range(count):
            block, layer = f"stage{s + 1}/{b + 1}", f"features.{2 * s + 1}.{b}."
            convolution(block + "/depthwise", layer + "block.0")
            names.norm(block + "/norm", layer + "block.2")
            for ours, theirs in (("up", "3"), ("down", "5")):
                names.add(f"{block}/{ours}/weights", f"{layer}block.{theirs}.weight", of_pixels)
                names.add(f"{block}/{ours}/bias/values", f"{layer}block.{theirs}.bias")
            names.add(block + "/scale", layer + "layer_scale", lambda x: x.flatten())
    names.norm("norm", "classifier.0")
    names.dense("classifier", "classifier.2")
    return names


def t5_stack(names, stack, layers):
    names.add(f"{stack}/distances/table", f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight")
    for i in range(layers):
        block, layer = f"{stack}{i + 1}", f"{stack}.block.{i}.layer."
        attentions = [(block, block + "/norm1", "SelfAttention", 0)]
        if stack == "decoder":
            attentions.append((block + "/source", block + "/source/norm", "EncDecAttention", 1))
        for ours, norm, kind, place in attentions:
            names.add(norm + "/gain", f"{layer}{place}.layer_norm.weight")
            for part, theirs in (("query", "q"), ("key", "k"), ("value", "v"), ("output", "o")):
                names.matmul(f"{ours}/{part}", f"{layer}{place}.{kind}.{theirs}")
        last = len(attentions)
        names.add(block + "/norm2/gain", f"{layer}{last}.layer_norm.weight")
        names.matmul(block + "/up", f"{layer}{last}.DenseReluDense.wi")
        names.matmul(block + "/down", f"{layer}{last}.DenseReluDense.wo")
    names.add(stack + "/norm/gain", stack + ".final_layer_norm.weight")


def t5_names(module):
    names = OurNames(module)
    names.add("words/table", "shared.weight")
    for stack in ("encoder", "decoder"):
        t5_stack(names, stack, module.config.num_layers)
    return names


def norm_of_squares(self, x):
    """T5LayerNorm's, which computes the mean of the squares in f32 whatever the type."""
    return self.weight * (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.variance_epsilon))


modeling_t5.T5LayerNorm.forward = norm_of_squares


class Convolutions(nn.Sequential):
    def __init__(self, inputs, outputs):
        layers = []
        for width in (inputs, outputs):
            layers += [nn.Conv2d(width, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(True)]
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


def unet_names(module):
    names = OurNames(module)

    def add_convolutions(name, theirs):
        for part in (0, 1):
            names.convolution(f"{name}/{part + 1}/conv", f"{theirs}.{3 * part}")
            names.add(f"{name}/{part + 1}/batch_norm/gamma", f"{theirs}.{3 * part + 1}.weight")
            names.add(f"{name}/{part + 1}/batch_norm/beta", f"{theirs}.{3 * part + 1}.bias")

    halvings = len(module.up)
    for s in range(halvings + 1):
        add_convolutions(f"down{s}", f"down.{s}")
    for s in reversed(range(halvings)):
        # [row, column, outputs, inputs]; ours has the first three as one, of which there is no view.
        names.add(f"up{s}/double/weights", f"doubled.{s}.weight", lambda x: x.permute(2, 3, 1, 0))
        names.add(f"up{s}/bias/values", f"doubled.{s}.bias")
        add_convolutions(f"up{s}", f"up.{s}")
    names.convolution("logits", "logits")
    names.add("logits/bias/values", "logits.bias")
    return names


class PackageNetwork(nn.Module):
    """`names`: the OurNames of `module`. A network says of its training in `training_of` what AdamWTraining takes."""

    drawn = {}  # values that ours draws and `loss` takes: none
    tables = ()  # parameters whose gradients are rows, by our names
    # Gradients that are 0 but for rounding, from which Adam makes steps of the rate's size: a softmax does not see what
    # all of its scores have in common.
    vanishing = ("/key/bias/values",)

    def __init__(self, settings, module, names):
        super().__init__()
        self.settings, self.module, self.names = settings, module, names

    def forget(self):
        """Nothing goes on from batch to batch."""

    def named_tensors(self):
        for ours, (tensor, view) in self.names.ours.items():
            yield ours, tensor, True, view

    def recipe(self, batch, rate=1.0, clip_norm=None):
        training = {"clip_norm": 0.0, "decay": 0.0, "betas": (0.9, 0.999), "decays": lambda name: True,
                    **self.training_of(batch)}
        if clip_norm is not None:
            training["clip_norm"] = clip_norm
        return AdamWTraining(self, rate * training.pop("rate"), **training)


class OfImages(PackageNetwork):
    def batches(self, count, batch):
        size = self.settings["image_size"]
        images = torch.randn(count, batch, 3, size, size)
        labels = torch.randint(self.settings["classes"], (count, *self.labels_of(batch)))
        return [{"images": images[i].to(memory_format=torch.channels_last), "labels": labels[i]} for i in range(count)]

    def labels_of(self, batch):
        return (batch,)

    def to_ours(self, batch, dtype):
        return {"images": batch["images"].to(dtype).permute(0, 2, 3, 1).contiguous(), "labels": batch["labels"].int()}

    def loss(self, images, labels):
        return functional.cross_entropy(self.module(images), labels, label_smoothing=self.settings["smoothing"])


def only_matrices(name):
    return not name.endswith(("bias", "relative_position_bias_table", "layer_scale")) and "norm" not in name


class ConvNextTiny(OfImages):
    DEFAULTS = {"image_size": 224, "classes": 1000, "smoothing": 0.1}

    def __init__(self, settings):
        module = torchvision.models.convnext_tiny(stochastic_depth_prob=0.0, num_classes=settings["classes"])
        super().__init__(settings, module, convnext_names(module, (3, 3, 9, 3)))

    def training_of(self, batch):
        norms = {name + ".weight" for name, module in self.named_modules() if isinstance(module, nn.LayerNorm)}
        return {"rate": 4e-3 * batch / 4096, "decay": 0.05,
                "decays": lambda name: only_matrices(name) and name not in norms}


class SwinTiny(OfImages):
    DEFAULTS = {"image_size": 224, "classes": 1000, "smoothing": 0.1}
    STAGES = (2, 2, 6, 2)

    def __init__(self, settings):
        module = torchvision.models.SwinTransformer([4, 4], 96, list(self.STAGES), [3, 6, 12, 24], [7, 7],
                                                    stochastic_depth_prob=0.0, num_classes=settings["classes"])
        super().__init__(settings, module, swin_names(module, self.STAGES))

    def training_of(self, batch):
        norms = {name + ".weight" for name, module in self.named_modules() if isinstance(module, nn.LayerNorm)}
        return {"rate": 1e-3 * batch / 1024, "decay": 0.05, "clip_norm": 5.0,
                "decays": lambda name: only_matrices(name) and name not in norms}


class OfPixels(OfImages):
    """The U-Net, which gives each pixel a class."""
    DEFAULTS = {"image_size": 256, "classes": 2, "width": 64, "halvings": 4, "smoothing": 0.0}

    def __init__(self, settings):
        module = Unet(3, settings["classes"], settings["width"], settings["halvings"])
        super().__init__(settings, module, unet_names(module))

    def labels_of(self, batch):
        size = self.settings["image_size"]
        return (batch, size, size)

    def named_tensors(self):
        for ours, tensor, is_parameter, view in super().named_tensors():
            if ours.endswith("/double/weights"):
                yield ours, tensor, True, lambda x: x.permute(2, 3, 1, 0).reshape(-1, 1, 1, len(x))
            else:
                yield ours, tensor, is_parameter, view
        for name, layer in self.module.named_modules():
            if isinstance(layer, nn.BatchNorm2d):
                ours = self.norm_of(name)
                yield ours + "/running_mean", layer.running_mean, False, lambda x: x
                yield ours + "/running_variance", layer.running_var, False, lambda x: x

    def norm_of(self, theirs):
        side, size, place = theirs.split(".")
        return f"{side}{size}/{1 + int(place) // 3}/batch_norm"

    def training_of(self, batch):
        return {"rate": 1e-3, "clip_norm": 1.0}


class Bert(PackageNetwork):
    """A masked language model. About a quarter of the places do not count in the loss, as in our random batches."""
    DEFAULTS = {"vocabulary": 30_522, "length": 128, "hidden": 768, "layers": 12, "heads": 12, "dropout": 0.1}

    def __init__(self, settings):
        width = settings["hidden"]
        module = transformers.BertForMaskedLM(transformers.BertConfig(
            vocab_size=settings["vocabulary"], hidden_size=width, num_hidden_layers=settings["layers"],
            num_attention_heads=settings["heads"], intermediate_size=4 * width,
            hidden_dropout_prob=settings["dropout"], attention_probs_dropout_prob=settings["dropout"]))
        super().__init__(settings, module, bert_names(module))

    def batches(self, count, batch):
        shape = (count, batch, self.settings["length"])
        # Word 0 is padding, whose row of the table has no gradient here.
        words, labels = (torch.randint(1, self.settings["vocabulary"], shape) for _ in range(2))
        counts = torch.rand(shape) >= 0.25
        counts[..., 0] = True
        fields = {"ids": words, "segments": torch.randint(2, shape), "labels": torch.where(counts, labels, -100)}
        return [{name: field[i] for name, field in fields.items()} for i in range(count)]

    def to_ours(self, batch, dtype):
        lengths = torch.full((len(batch["ids"]),), self.settings["length"], dtype=torch.int32)
        return {"lengths": lengths, **{name: field.int().contiguous() for name, field in batch.items()}}

    def loss(self, ids, segments, labels):
        return self.module(input_ids=ids, token_type_ids=segments, labels=labels).loss

    def training_of(self, batch):
        decays = lambda name: not name.endswith("bias") and "LayerNorm" not in name
        return {"rate": 1e-4, "decay": 0.01, "epsilon": 1e-6, "decays": decays, "clip_norm": 1.0}


class T5(PackageNetwork):
    DEFAULTS = {"vocabulary": 32_128, "source-length": 128, "target-length": 128, "hidden": 512, "layers": 6, "heads": 8,
                "dropout": 0.1}
    vanishing = ()  # no layer of it has a bias

    def __init__(self, settings):
        width, heads, layers = settings["hidden"], settings["heads"], settings["layers"]
        module = transformers.T5ForConditionalGeneration(transformers.T5Config(
            vocab_size=settings["vocabulary"], d_model=width, d_kv=width // heads, d_ff=4 * width, num_layers=layers,
            num_heads=heads, dropout_rate=settings["dropout"]))
        super().__init__(settings, module, t5_names(module))

    def batches(self, count, batch):
        words = lambda places: torch.randint(self.settings["vocabulary"], (count, batch, places))
        target = self.settings["target-length"]
        fields = {"source": words(self.settings["source-length"]), "ids": words(target), "targets": words(target)}
        return [{name: field[i] for name, field in fields.items()} for i in range(count)]

    def to_ours(self, batch, dtype):
        source, target = batch["source"], batch["targets"]
        return {"source_lengths": torch.full((len(source),), source.shape[1], dtype=torch.int32),
                "weights": torch.ones(target.shape, dtype=dtype),
                **{name: field.int().contiguous() for name, field in batch.items()}}

    def loss(self, source, ids, targets):
        return self.module(input_ids=source, decoder_input_ids=ids, labels=targets).loss

    def training_of(self, batch):
        return {"rate": 1e-3, "decay": 0.01, "clip_norm": 1.0}


NETWORKS = {"bert-base": Bert, "t5-small": T5, "swin-t": SwinTiny, "convnext-tiny": ConvNextTiny, "unet": OfPixels}
