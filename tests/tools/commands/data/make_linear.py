"""Makes linear.pt2, a layer of six numbers to four classes, and linear.json: what PyTorch computes of it. Needs torch
and scikit-learn: python3 make_linear.py."""

import json
import math
import pathlib

import numpy
import torch
import torch.nn.functional as F
from sklearn.metrics import f1_score
from sklearn.utils.class_weight import compute_class_weight

FOLDER = pathlib.Path(__file__).parent
TRAIN, TEST, FEATURES, CLASSES, RATE = 12, 9, 6, 4, 0.5


def points(count, first):
    """The same as in linear_case.py."""
    return torch.tensor([math.sin(0.7 * (i + first)) for i in range(count * FEATURES)]).reshape(count, FEATURES)


def classes(count, first):
    return torch.tensor([min((i + first) % 7, CLASSES - 1) for i in range(count)])


def several(count, first):
    return torch.tensor([[float((i + first) * (c + 2) % 3 == 0) for c in range(CLASSES)] for i in range(count)])


def weighed(model, weight):
    """Losses of both sets and the weights behind a step of gradient descent."""
    weight = torch.tensor(weight, dtype=torch.float32)
    layer = torch.nn.Linear(FEATURES, CLASSES)
    layer.load_state_dict(model.state_dict())
    loss = F.cross_entropy(layer(points(TRAIN, 0)), classes(TRAIN, 0), weight=weight)
    loss.backward()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter -= RATE * parameter.grad
        test = F.cross_entropy(layer(points(TEST, 5)), classes(TEST, 5), weight=weight)
    return {"loss": loss.item(), "test_loss": test.item(), "weight": layer.weight.flatten().tolist(),
            "bias": layer.bias.tolist()}


def main():
    torch.manual_seed(1)
    model = torch.nn.Linear(FEATURES, CLASSES).eval()
    batch = torch.export.Dim("batch", min=2)
    torch.export.save(torch.export.export(model, (points(4, 0),), dynamic_shapes=({0: batch},)), FOLDER / "linear.pt2")
    labels = classes(TRAIN, 0).numpy()
    balanced = compute_class_weight("balanced", classes=numpy.arange(CLASSES), y=labels).tolist()
    golden = {"balanced": balanced, "weighed": {name: weighed(model, weight) for name, weight in
                                               {"1,2.5,0.5,4": [1, 2.5, 0.5, 4], "balanced": balanced}.items()}}
    with torch.no_grad():
        logits, targets = model(points(TEST, 5)), several(TEST, 5)
        predicted = (logits >= 0).float()
        golden["several"] = {"loss": F.binary_cross_entropy_with_logits(logits, targets).item(),
                             "label_accuracy": (predicted == targets).float().mean().item(),
                             "f1": f1_score(targets, predicted, average="micro")}
    (FOLDER / "linear.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
