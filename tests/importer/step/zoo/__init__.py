"""The models that exported_models.py and onnx_models.py compare."""

from zoo import classics, hugging_face, vision

FAMILIES = {**vision.FAMILIES, **hugging_face.FAMILIES, **classics.FAMILIES}


def names():
    return [f"{family}/{model}" for family, (models, _) in FAMILIES.items() for model in models]


def case(name):
    """The case of a name, FAMILY/MODEL; its weights and its batch are those of the seed of torch."""
    family, model = name.split("/")
    return FAMILIES[family][1](model)
