"""Modules of PyTorch as files that Partita trains, and trained weights back in modules."""

import safetensors.torch
import torch

PREFIX = "model."  # of the module's names in the exported program


class _Trained(torch.nn.Module):
    """A module with its loss."""

    def __init__(self, model, loss):
        super().__init__()
        self.model = model
        self.__dict__["loss"] = loss


def _with_inputs(model, loss, names):
    """Its forward has the inputs' names, which are those of the fields of the data; the last is the label of a loss."""
    def forward(self, *inputs):
        if self.loss is None:
            return self.model(*inputs)
        return self.loss(self.model(*inputs[:-1]), inputs[-1])

    scope = {"forward": forward}
    exec(f"def named(self, {', '.join(names)}):\n    return forward(self, {', '.join(names)})", scope)  # noqa: S102
    return type("Trained", (_Trained,), {"forward": scope["named"]})(model, loss)


def export(model, example, loss, path):
    """Writes `model` with its loss as an exported program (.pt2), which Partita trains with any batch.

    example: a batch, a dict of tensors by field whose last entry is the label; the first dimension of each is the
        batch, of at least two samples. The model is called with the others in their order.
    loss: a function of the model's output and the label that gives a scalar, such as
        torch.nn.functional.cross_entropy. None: the example has no label, the program returns what the model does, and
        the loss is a flag of the trainer, for example --loss=cross_entropy.

    The model is exported as in training (`train()`), and left in the mode that it was in. Parameters that require no
    gradient stay as they are in training. TypeError or ValueError: the example does not say what to export. What
    torch.export cannot trace raises its errors.
    """
    wanted = "inputs" if loss is None else "inputs and a label"
    if not isinstance(example, dict) or len(example) < (1 if loss is None else 2):
        raise TypeError(f"example is {type(example).__name__} of {len(example)}; expected a dict of {wanted}")
    for name, tensor in example.items():
        if not name.isidentifier():
            raise ValueError(f"example['{name}']: the name of an input is an identifier, as those of a function are")
        if not isinstance(tensor, torch.Tensor) or tensor.dim() == 0 or tensor.shape[0] < 2:
            raise ValueError(f"example['{name}']: expected a tensor whose first dimension is a batch of at least 2")
    training = model.training
    batch = torch.export.Dim("batch", min=2)
    shapes = {name: {0: batch} for name in example}
    try:
        trained = _with_inputs(model, loss, list(example)).train()
        program = torch.export.export(trained, tuple(example.values()), dynamic_shapes=shapes)
    finally:
        model.train(training)
    torch.export.save(program, path)


def load_into(module, path):
    """Loads the weights that `trainer convert MODEL.pt2 --load=TRAINED --output=PATH` wrote into the module that was
    exported, or into one of the same class. All names and shapes must be the module's (KeyError, RuntimeError).
    """
    tensors = safetensors.torch.load_file(path)
    wanted = set(module.state_dict())
    plain = tensors  # of a module that was exported without `export`
    if not wanted <= set(tensors):
        plain = {name.removeprefix(PREFIX): tensor for name, tensor in tensors.items()}
    if not wanted <= set(plain):
        raise KeyError(f"{path}: has no weight {sorted(wanted - set(plain))[0]}; expected what `trainer convert` wrote "
                       "with --load, of this module")
    module.load_state_dict(plain, strict=True)


def load_optimizer(optimizer, model, path):
    """Loads the state that `trainer convert MODEL.pt2 --load=TRAINED --optimizer-state --output=PATH` wrote into an
    optimizer of torch.optim over parameters of `model`, of the class that trained it. Its settings (rates and groups)
    stay. KeyError: the file has no state of any parameter that it updates.
    """
    tensors = safetensors.torch.load_file(path)
    steps = tensors.pop("step")
    states = {}
    for name, tensor in tensors.items():
        parameter, _, slot = name.rpartition(".")
        states.setdefault(parameter, {})[slot] = tensor
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    loaded = optimizer.state_dict()
    updated = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for index, parameter in enumerate(updated):
        name = names[id(parameter)]
        state = states.get(name, states.get(PREFIX + name))
        if state is None:  # as of one that no gradient reached
            continue
        loaded["state"][index] = state if set(state) == {"momentum_buffer"} else {**state, "step": steps.clone()}
    if not loaded["state"]:
        raise KeyError(f"{path}: has no state of parameters such as {names[id(updated[0])]}; expected what `trainer "
                       "convert` wrote with --optimizer-state, of this module")
    optimizer.load_state_dict(loaded)
