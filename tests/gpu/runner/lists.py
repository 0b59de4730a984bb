"""What a bundle's runner runs, and how long each check may take."""

# How long a program may take, and those that may take another time: tests, and checks of the lists below. Tests of up
# to EARLY seconds come before everything else.
SECONDS = 120
EARLY = 60
KERNELS = "device_test"  # our own kernels; runs right after the early tests, although it takes longer
LIMITS = {
    "cuda_library_test": 20,
    "cuda_device_test": 20,
    "cuda_local_test": 20,
    "nccl_world_test": 20,
    "nccl_abort_test": 60,
    "stream_test": 60,
    "captured_step_test": 60,
    "collectives_test": 300,
    "device_test": 600,
    "plans in f32": 300,
    "plans in TF32": 300,
    "plans in bf16": 300,
    "steps of inception-v3 in bf16": 300,
    "steps of resnet-50 in bf16": 300,
}

# Steps of models, beside PyTorch on the same GPU where a Python has it: name, arguments of the benchmark. A row says
# what share of the GPU's limit the steps reach. The first ones are decided by convolutions and by products of matrices.
STEPS = [
    (f"steps of {model} in {name}", ["models", "--model=" + model, "--precision=" + precision, "--steps=3",
                                     "--rounds=1"])
    for name, precision in [("bf16", "bf16"), ("TF32", "tf32")] for model in ["wide-mlp", "conv-stack"]
] + [
    (f"steps of {model} in bf16", ["models", "--model=" + model, "--precision=bf16", "--batch=128", "--steps=10",
                                   "--rounds=2"])
    for model in ["inception-v3", "resnet-50", "gnmt", "big-lstm"]
]

# What the trainer must do on one GPU: name, arguments. `verify` compares with one rank, value by value, and times
# nothing: it comes first. The first to train time the plans of the libraries, for which these may compile kernels;
# later ones find them in the cache.
TRAINING = [
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
    ("train with a timeline", ["train", "--mock-data", "--steps=20", "--trace=timeline.json", "mini_inception.pbtxt"]),
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
SANITIZED_EARLY = ["captured steps"]  # under memcheck, before plans are timed
SANITIZER_SECONDS = 600  # kernels run many times slower
FOUND_BY_SANITIZER = 99  # its exit code then


def limit_of(name):
    return LIMITS.get(name, SECONDS)
