"""How the shipped models of images are trained, in PyTorch."""

import torch


class TensorflowRmsProp(torch.optim.Optimizer):
    """RMSProp with epsilon inside the root and a mean square that begins at 1 (docs/papers.md 11.5)."""

    def __init__(self, parameters, lr, decay=0.9, momentum=0.9, eps=1.0, weight_decay=0.0):
        super().__init__(parameters, {"lr": lr, "decay": decay, "momentum": momentum, "eps": eps,
                                      "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            weights = [p for p in group["params"] if p.grad is not None]
            gradients = torch._foreach_add([p.grad for p in weights], weights, alpha=group["weight_decay"])
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
        elif name == "mobilenet-v3-large":
            self.optimizer = torch.optim.RMSprop(parameters, lr=0.064 * batch / 1024, alpha=0.9, momentum=0.9,
                                                 eps=0.0316, weight_decay=1e-5)
        elif name == "efficientnet-b0":
            self.optimizer = TensorflowRmsProp(parameters, lr=0.256 * batch / 4096, eps=1e-3, weight_decay=1e-5)
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
