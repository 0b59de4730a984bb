"""What a bundle's runner runs, in which order, and how long each check may take."""

import fnmatch

# How many seconds a check may take where it is not these.
SECONDS = 120
LIMITS = {
    "cuda_library_test": 20,
    "cuda_device_test": 20,
    "train one step": 60,
    "kernels, a sample": 60,
    "cuda_local_test": 20,
    "nccl_world_test": 20,
    "nccl_abort_test": 60,
    "stream_test": 60,
    "captured_step_test": 60,
    "collectives_test": 300,
    "device_test": 600,
    "a killed peer": 90,
    "train inception-v3 with a timeline": 150,
    "plans in f32": 300,
    "plans in TF32": 300,
    "plans in bf16": 300,
    "steps of inception-v3 in bf16": 150,  # the first times the plans of all convolutions, and keeps what it found
    "steps of resnet-50 in bf16": 150,
    "steps of gpt2 in bf16, torch.compile": 300,
    "steps of resnet-50 in bf16, torch.compile": 300,
}

# What shows most in the least time comes first: whether the GPU, the libraries and our kernels run at all, whether a
# step is right, how fast the models are. Then what asks the same with more care. A check has the place of the first
# pattern that fits its name.
ORDER = [
    "cuda_library_test",
    "cuda_device_test",
    "train one step",
    "kernels, a sample",
    "verify dp=2 mp=2",
    "verify in bf16",
    "verify words in bf16",
    "verify one rank",
    "steps of resnet-50 in bf16",
    "steps of gpt2 in bf16",
    "steps of inception-v3 in bf16",
    "train inception-v3 with a timeline",
    "steps of gnmt in bf16",
    "steps of big-lstm in bf16",
    "stream_test",
    "captured_step_test",
    "cuda_local_test",
    "nccl_*_test",
    "device_test",
    "verify *",
    "sanitizer memcheck: captured steps",
    "steps of gpt2 in f32",
    "steps of vit-b-16 in bf16",
    "plans *",
    "train*",
    "steps of *",
    "*_test",
    "two processes, *",
    "* beside *",
    "a killed peer",
    "sanitizer *",
]

# What needs longer than this to say anything does not begin with less time: pattern, seconds.
LEAST = [("*, torch.compile", 60), ("a killed peer", 20), ("train inception-v3 *", 30), ("steps of *", 25), ("plans *", 15), ("sanitizer *", 15), ("*", 3)]

# A sample of the kernels' tests: every so manyth of their cases.
SAMPLES = [("kernels, a sample", "device_test", 16)]

# Steps of models, beside PyTorch on the same GPU where a Python has it: model, precision, arguments of the benchmark,
# forms of the peer. A row says what share of the GPU's limit the steps reach. torch.compile takes minutes, so it has
# rows of its own, at the end; a step of BigLSTM draws words on the host, which cannot be captured.
OF_LARGE = ["--steps=10", "--rounds=2"]
OF_SMALL = ["--steps=3", "--rounds=1"]
STEPS = [
    ("resnet-50", "bf16", ["--batch=128", *OF_LARGE], "eager,graph"),
    ("gpt2", "bf16", ["--batch=8", *OF_LARGE], "eager,graph"),
    ("inception-v3", "bf16", ["--batch=128", *OF_LARGE], "eager,graph"),
    ("gnmt", "bf16", ["--batch=128", *OF_LARGE], "eager,graph"),
    ("big-lstm", "bf16", ["--batch=128", *OF_LARGE], "eager"),
    ("gpt2", "f32", ["--batch=8", *OF_LARGE], "eager,graph"),
    ("vit-b-16", "bf16", ["--batch=64", *OF_LARGE], "eager,graph"),
    ("wide-mlp", "bf16", OF_SMALL, "eager,graph"),
    ("conv-stack", "bf16", OF_SMALL, "eager,graph"),
    ("wide-mlp", "tf32", OF_SMALL, "eager,graph"),
    ("conv-stack", "tf32", OF_SMALL, "eager,graph"),
    ("gpt2", "bf16", ["--batch=8", *OF_LARGE], "compile"),
    ("resnet-50", "bf16", ["--batch=128", *OF_LARGE], "compile"),
]

# What the trainer must do on one GPU: name, arguments. `verify` compares with one rank, value by value, and times
# nothing. The first to train time the plans of the libraries, for which these may compile kernels; later ones find them
# in the cache.
TRAINING = [
    ("train one step", ["train", "--mock-data", "--steps=1", "--deterministic", "lenet5.pbtxt"]),
    ("verify dp=2", ["verify", "--mock-data", "--dp=2", "lenet5.pbtxt"]),
    ("verify mp=2", ["verify", "--mock-data", "--mp=2", "lenet5.pbtxt"]),
    ("verify dp=2 mp=2", ["verify", "--mock-data", "--dp=2", "--mp=2", "lenet5.pbtxt"]),
    ("verify in bf16", ["verify", "--mock-data", "--precision=bf16", "--dp=2", "--mp=2", "lenet5.pbtxt"]),
    ("verify placement", ["verify", "--mock-data", "--strategy=lenet5_placement.pbtxt", "lenet5.pbtxt"]),
    ("verify mixed", ["verify", "--mock-data", "--strategy=mlp_mixed.pbtxt", "mlp.pbtxt"]),
    ("verify domains", ["verify", "--mock-data", "--strategy=lenet5_domain.pbtxt", "lenet5.pbtxt"]),
    ("verify groups", ["verify", "--mock-data", "--strategy=lenet5_groups.pbtxt", "lenet5.pbtxt"]),
    ("verify a grid", ["verify", "--mock-data", "--strategy=lenet5_grid.pbtxt", "lenet5.pbtxt"]),
    ("verify a pipeline", ["verify", "--mock-data", "--strategy=lenet5_pipeline.pbtxt", "lenet5.pbtxt"]),
    ("verify meshes", ["verify", "--mock-data", "--strategy=lenet5_meshes.pbtxt", "lenet5.pbtxt"]),
    ("verify split classes", ["verify", "--mock-data", "--strategy=mlp_classes.pbtxt", "mlp.pbtxt"]),
    ("verify one rank", ["verify", "--mock-data", "mini_inception.pbtxt"]),
    ("verify the hybrid", ["verify", "--mock-data", "--strategy=mini_inception_2x2.pbtxt", "mini_inception.pbtxt"]),
    ("verify words", ["verify", "--mock-data", "big_lstm.pbtxt"]),
    ("verify words in bf16", ["verify", "--mock-data", "--precision=bf16", "big_lstm.pbtxt"]),
    ("verify words, the hybrid", ["verify", "--mock-data", "--strategy=big_lstm_2x2.pbtxt", "big_lstm.pbtxt"]),
    ("verify sentences", ["verify", "--mock-data", "gnmt.pbtxt"]),
    ("verify sentences in bf16", ["verify", "--mock-data", "--precision=bf16", "gnmt.pbtxt"]),
    ("verify sentences, the hybrid", ["verify", "--mock-data", "--strategy=gnmt_2x2.pbtxt", "gnmt.pbtxt"]),
    ("plans in f32", ["train", "--mock-data", "--steps=1", "mini_inception.pbtxt"]),
    ("plans in TF32", ["train", "--mock-data", "--steps=1", "--tf32", "mini_inception.pbtxt"]),
    ("plans in bf16", ["train", "--mock-data", "--steps=1", "--precision=bf16", "mini_inception.pbtxt"]),
    ("train one rank", ["train", "--mock-data", "--steps=50", "mini_inception.pbtxt"]),
    ("train, every kernel by itself", ["train", "--mock-data", "--steps=3", "--launch-each", "mini_inception.pbtxt"]),
    ("train in TF32", ["train", "--mock-data", "--steps=20", "--tf32", "mini_inception.pbtxt"]),
    ("train, nothing timed", ["train", "--mock-data", "--steps=20", "--deterministic", "mini_inception.pbtxt"]),
    ("train with a timeline", ["train", "--mock-data", "--steps=20", "--trace=small.json", "mini_inception.pbtxt"]),
    # The kernels of the steps of inception-v3, each beside what `plan` says of it.
    ("train inception-v3 with a timeline",
     ["train", "--mock-data", "--steps=20", "--precision=bf16", "--trace=timeline.json", "inception_v3.pbtxt"]),
    ("train in bf16", ["train", "--mock-data", "--steps=20", "--precision=bf16", "mini_inception.pbtxt"]),
    ("train two replicas", ["train", "--mock-data", "--steps=20", "--dp=2", "mini_inception.pbtxt"]),
]

# The same training on two processes that share the GPU and talk by NCCL, as on one rank: name, arguments of the two, of
# the one.
PROCESSES = [
    ("two processes, replicas", ["--dp=2"], []),
    ("two processes, channels", ["--mp=2"], []),
    ("two processes, a pipeline", ["--strategy=lenet5_pipeline.pbtxt"], []),
]

# Losses of 50 steps that may differ by so much: name, bar, both arguments.
LOSSES = [
    ("bf16 beside f32", 2e-2, ["--precision=bf16", "mini_inception.pbtxt"], ["mini_inception.pbtxt"]),
    ("bf16 beside f32, LeNet-5", 2e-2, ["--precision=bf16", "lenet5.pbtxt"], ["lenet5.pbtxt"]),
    ("delays beside none", 0, ["--dp=2", "--mp=2", "--delay-seed=3", "lenet5.pbtxt"],
     ["--dp=2", "--mp=2", "lenet5.pbtxt"]),
    ("TF32 beside f32", 2e-2, ["--tf32", "mini_inception.pbtxt"], ["mini_inception.pbtxt"]),
]

# Tools of compute-sanitizer, and what runs under each: name, test program, which of its cases. Only kernels of our own
# are watched: those of libraries are not ours to mend, and would take all the time.
SANITIZERS = ["memcheck", "synccheck", "racecheck"]
SANITIZED = [
    ("kernels", "device_test", "Cuda/DeviceKernel.EqualsTheHostsReference/*"),
    ("captured steps", "captured_step_test", "*/cuda"),
    ("collectives", "collectives_test", "WalkedTogether/CollectivesTest.*/cuda_local_3"),
]
SANITIZER_SECONDS = 600  # kernels run many times slower
FOUND_BY_SANITIZER = 99  # its exit code then


def limit_of(name):
    return LIMITS.get(name, SECONDS)


def least_of(name):
    return next(seconds for pattern, seconds in LEAST if fnmatch.fnmatchcase(name, pattern))


def place_of(name):
    places = (i for i, pattern in enumerate(ORDER) if fnmatch.fnmatchcase(name, pattern))
    return next(places, len(ORDER))


def name_of_steps(model, precision, forms):
    behind = ", torch.compile" if forms == "compile" else ""
    return f"steps of {model} in {'TF32' if precision == 'tf32' else precision}{behind}"
