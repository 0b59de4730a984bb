"""Partita in Python: trains a dataflow graph or a model of PyTorch on many ranks, and predicts with it.

    session = partita.fit("model.pt2", {"image": images, "label": labels}, devices=2, epochs=3, predict=["linear"])
    logits = session.predict(image=images[:8])["linear"]

    print(partita.plan("model.pt2", split="auto", devices=2).step_seconds)  # before anything is started

    with partita.Session(partita.Model("model.pbtxt"), dp=2, threads=1) as session:
        for images, labels in batches:
            print(session.step(images=images, labels=labels).loss)

For those who live in PyTorch (with torch and safetensors installed), a module goes out as a file that Partita trains,
and trained weights come back:

    partita.export(model, {"image": images, "label": labels}, loss, "model.pt2")
    # trainer train --data=pictures --dp=2 --save=trained.safetensors model.pt2
    # trainer convert model.pt2 --load=trained.safetensors --output=module.safetensors
    partita.load_into(model, "module.safetensors")
"""

import importlib

# Each name is loaded when it is first used: what needs torch does not need numpy and the compiled library, or the other
# way round.
_PLACES = {
    "arrays": ("Field",),
    "exchange": ("export", "load_into", "load_optimizer"),
    "library": (
        "Cancelled", "DoesNotFit", "Error", "InternalError", "InvalidArgument", "Misuse", "NotFinite", "Unavailable",
        "set_log", "version",
    ),
    "fitting": ("fit",),
    "plans": ("Plan", "plan"),
    "service": ("Service",),
    "session": ("Epoch", "Model", "Progress", "Session", "Step"),
}
__all__ = [name for names in _PLACES.values() for name in names]  # noqa: PLE0605


def __getattr__(name):
    for place, names in _PLACES.items():
        if name in names:
            return getattr(importlib.import_module("partita." + place), name)
    raise AttributeError(f"module 'partita' has no attribute '{name}'")


def __dir__():
    return [*globals(), *__all__]
