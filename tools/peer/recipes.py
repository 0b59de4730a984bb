"""How the shipped models of images are trained, in PyTorch."""

import torch


class TensorflowRmsProp(torch.optim.Optimizer):
    """RMSProp with epsilon inside the root and a mean square that begins at 1 (docs/papers.md 11.5)."""

    def __init__(self, parameters, lr, decay=0.9, momentum=0.9, eps=1.0):
        super().__init__(parameters, {"lr": lr, "decay": decay, "momentum": momentum, "eps": eps})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            weights = [p for p in group["params"] if p.grad is not None]
            gradients = [p.grad for p in weights]
            for p in weights:
                if not self.state[p]:
                    self.state[p] = {"square": torch.ones_like(p), "step": torch.zeros_like(p)}
            squares = [self.state[p]["square"] for p in weights]
            steps = [self.state[p]["step"] for p in weights]
            torch._foreach_mul_(squares, group["decay"])
            torch._foreach_addcmul_(squares, gradients, gradients, 1 - group["decay"])
            roots = torch._foreach_add(squares, group["eps"])
            torch._foreach_sqrt_(roots)
            torch._foreach_mul_(steps, group["momentum"])
            torch._foreach_addcdiv_(steps, gradients, roots, group["lr"])
            torch._foreach_sub_(weights, steps)


class Training:
    """The optimizer and the learning rate of a shipped model, as far as its first decay; the rate times `rate`."""

    def __init__(self, name, parameters, batch, rate=1.0):
        self.schedule = None
        if name == "inception-v3":
            self.optimizer = TensorflowRmsProp(parameters, lr=0.165 * batch / 256)
        elif name == "resnet-50":
            self.optimizer = torch.optim.SGD(parameters, lr=0.1 * batch / 256, momentum=0.9, weight_decay=1e-4)
        elif name in ("alexnet", "alexnet-2012", "vgg-16"):
            self.optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9, weight_decay=5e-4)
        else:
            self.optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
            self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, max_lr=0.1, total_steps=10**6,
                                                                cycle_momentum=False)
        for group in self.optimizer.param_groups:
            group["lr"] *= rate

    def zero_grad(self):
        self.optimizer.zero_grad(set_to_none=True)

    def update(self):
        self.optimizer.step()

    def follow_schedule(self):
        if self.schedule is not None:
            self.schedule.step()
