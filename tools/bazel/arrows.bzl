"""Which folder may include which: one table, for Bazel and for the tests in tests/house. It can be run as Python too.

A folder that is not named may include nothing, and nobody may include it; tools and tests may include all.
"""

# Each line: a folder, and what it may include besides itself. Lower folders come first; nothing is passed on, so that
# who may include `graph/schedule` may not include what `graph/schedule` includes.
ARROWS = {
    "runtime/base": "",
    "proto": "",

    # The compiler: values, what a graph is, how data moves.
    "graph/value": "runtime/base",
    "graph/optimizer": "runtime/base graph/value",
    "graph/ir": "runtime/base graph/value graph/optimizer",
    "graph/moves": "runtime/base graph/value graph/ir",
    "graph/verify": "runtime/base graph/value graph/ir",
    "graph/text": "runtime/base graph/ir graph/moves",
    "graph/read": "runtime/base graph/value graph/optimizer graph/ir",
    # From a graph and a strategy to a program for all ranks.
    "graph/derive": "runtime/base graph/value graph/optimizer graph/ir graph/moves",
    "graph/update": "runtime/base graph/value graph/optimizer graph/ir graph/moves graph/derive",
    "graph/passes": "runtime/base graph/value graph/ir graph/moves graph/derive graph/verify",
    "graph/sets": "runtime/base graph/value graph/ir graph/derive graph/passes",
    "graph/recompute": "graph/ir graph/derive",
    "graph/given": "runtime/base graph/value graph/ir",
    "graph/proto_io": "runtime/base proto graph/value graph/optimizer graph/ir graph/read graph/derive",
    # From a program to what one rank launches, and the proofs, which know nothing of the makers.
    "graph/schedule": "runtime/base graph/value graph/ir",
    "graph/lower/moves": "runtime/base graph/value graph/ir graph/moves graph/schedule",
    "graph/lower": "runtime/base graph/value graph/ir graph/moves graph/schedule graph/lower/moves",
    "graph/plan": "runtime/base graph/value graph/ir graph/schedule",
    "graph/alike": "runtime/base graph/value graph/ir graph/schedule",
    "graph/prove": "runtime/base graph/value graph/ir graph/schedule",
    "graph/timeline": "runtime/base graph/schedule",
    # The index of both ways.
    "graph": "runtime/base graph/value graph/ir graph/moves graph/derive graph/update graph/given graph/passes" +
             " graph/recompute graph/schedule graph/lower graph/plan graph/alike",

    # Where work runs, and how ranks talk: of the compiler value types alone.
    "runtime/device": "runtime/base",
    "runtime/device/host": "runtime/base runtime/device",
    "runtime/device/cuda/library": "runtime/base",
    "runtime/device/cuda/timeline": "runtime/base runtime/device/cuda/library",
    "runtime/device/cuda/kernels": "runtime/base runtime/device",
    "runtime/device/cuda": "runtime/base runtime/device runtime/device/cuda/kernels runtime/device/cuda/timeline",
    "runtime/flight_recorder": "runtime/device",
    "runtime/fail_points": "runtime/base",
    "runtime/admission": "runtime/base",
    "runtime/comm": "runtime/base graph/value runtime/device",
    "runtime/comm/shared": "runtime/base graph/value runtime/device runtime/device/host runtime/comm" +
                           " runtime/flight_recorder",
    "runtime/comm/local": "runtime/base runtime/device runtime/comm runtime/comm/shared runtime/flight_recorder",
    "runtime/comm/transport": "runtime/base runtime/admission runtime/comm",
    "runtime/comm/processes": "runtime/base runtime/device runtime/device/host runtime/comm runtime/comm/shared" +
                              " runtime/comm/transport" +
                              " runtime/flight_recorder",
    "runtime/comm/cuda_local": "runtime/base graph/value runtime/device/cuda runtime/comm runtime/comm/shared",
    "runtime/comm/nccl": "runtime/base runtime/device/cuda runtime/device/cuda/library runtime/comm" +
                         " runtime/comm/shared runtime/flight_recorder",
    "runtime/rendezvous": "runtime/base runtime/admission runtime/comm",
    # Runs schedules, and knows nothing of how they are made.
    "runtime/exec": "runtime/base graph/value graph/ir graph/schedule runtime/device runtime/device/host runtime/comm",

    # What can be computed.
    "ops/functors": "runtime/base",
    "ops/functors/updates": "runtime/base ops/functors",
    "ops/forms": "runtime/base graph/value graph/ir ops/functors",
    "ops/values": "runtime/base graph/value graph/ir ops/forms ops/functors ops/functors/updates",
    "ops/definitions": "runtime/base graph/value graph/ir ops/functors ops/functors/updates ops/forms ops/values",
    "ops/definitions/rows": "runtime/base graph/ir ops/functors/updates ops/forms",
    "ops/definitions/sequences": "runtime/base graph/ir ops/forms ops/values",
    "ops/fusions": "runtime/base graph/value graph/ir ops/functors",
    "ops": "runtime/base graph/value graph/ir graph/moves graph/read ops/definitions ops/definitions/rows" +
           " ops/definitions/sequences ops/fusions",
    # What was found out about kernels, kept from run to run.
    "ops/plans": "runtime/base",
    # How: kernels of the host.
    "ops/host/kernel": "runtime/base graph/value graph/ir ops/functors ops/functors/updates ops/values runtime/exec",
    "ops/host/reference": "runtime/base graph/ir ops/functors ops/functors/updates ops/forms ops/values" +
                          " ops/host/kernel",
    "ops/host/products": "runtime/base ops/values ops/host/kernel",
    "ops/host/fast": "runtime/base graph/ir ops/functors ops/functors/updates ops/values ops/host/kernel" +
                     " ops/host/products",
    "ops/host/recurrence": "runtime/base ops/functors ops/values ops/host/kernel ops/host/products ops/host/fast",
    "ops/host/winograd": "runtime/base ops/functors ops/values ops/host/kernel",
    "ops/host/grouped": "runtime/base ops/functors ops/values ops/host/kernel",
    "ops/host/onednn": "runtime/base graph/value ops/values ops/host/kernel",
    "ops/host/timing": "runtime/base graph/ir runtime/device/host ops/functors ops/values ops/plans ops/host/kernel" +
                       " ops/host/onednn",
    "ops/host": "runtime/base graph/ir runtime/device/host runtime/exec ops/functors ops/functors/updates" +
                " ops/values ops/host/kernel" +
                " ops/host/reference ops/host/fast ops/host/recurrence ops/host/winograd ops/host/grouped" +
                " ops/host/onednn ops/host/timing",
    # How: kernels of the GPU. What nvcc compiles knows value types alone.
    "ops/cuda/launch": "runtime/base graph/value ops/functors ops/functors/updates ops/values",
    "ops/cuda/loops": "runtime/base graph/value ops/functors ops/functors/updates ops/cuda/launch",
    "ops/cuda/loops/images": "ops/functors ops/cuda/launch ops/cuda/loops",
    "ops/cuda/loops/rows": "ops/functors ops/functors/updates ops/cuda/launch ops/cuda/loops",
    "ops/cuda/loops/sequences": "ops/functors ops/cuda/launch ops/cuda/loops",
    "ops/cuda/plans": "runtime/base ops/cuda/launch",
    "ops/cuda/kernel": "runtime/base graph/schedule runtime/exec ops/values ops/cuda/launch",
    "ops/cuda/own": "runtime/base graph/ir ops/functors ops/functors/updates ops/values ops/cuda/launch" +
                    " ops/cuda/kernel",
    "ops/cuda/cublaslt": "runtime/base runtime/device/cuda/library ops/functors ops/plans ops/cuda/launch" +
                         " ops/cuda/plans ops/cuda/kernel ops/cuda/own",
    "ops/cuda/cudnn": "runtime/base graph/ir runtime/device/cuda/library ops/plans ops/cuda/launch ops/cuda/plans" +
                      " ops/cuda/kernel ops/cuda/own",
    "ops/cuda": "runtime/base graph/ir runtime/device runtime/device/cuda runtime/exec ops/functors" +
                " ops/functors/updates ops/values ops/plans ops/cuda/launch" +
                " ops/cuda/plans ops/cuda/kernel ops/cuda/own ops/cuda/cublaslt ops/cuda/cudnn",

    # Ways to choose a strategy; searches know of graphs the orders of pipelines alone.
    "partitioner/search/elimination": "runtime/base",
    "partitioner/search/placement": "runtime/base",
    "partitioner/search": "runtime/base graph/derive partitioner/search/elimination partitioner/search/placement",
    "partitioner": "runtime/base graph/value graph/ir graph/derive",
    # What a plan is made for, and how long things take there.
    "partitioner/cluster": "runtime/base graph/value",
    "partitioner/cost": "runtime/base graph/value graph/ir graph/schedule partitioner/cluster",
    # How long a step takes there.
    "partitioner/simulate": "runtime/base graph/value graph/ir graph/schedule graph/timeline partitioner/cluster" +
                            " partitioner/cost",
    # A strategy as it is compiled, why its step takes so long, and what makes it fit.
    "partitioner/predict": "runtime/base graph graph/ir graph/derive graph/schedule partitioner/cluster" +
                           " partitioner/cost partitioner/simulate",
    "partitioner/explain": "runtime/base graph graph/value graph/ir graph/moves graph/derive graph/passes" +
                           " graph/schedule graph/timeline partitioner/simulate partitioner/predict" +
                           " partitioner/tables",
    "partitioner/repair": "runtime/base graph/ir graph/derive graph/schedule graph/timeline partitioner" +
                          " partitioner/search",
    # From a graph to the searches' tables, and from their answers to a strategy; the plans that are compiled.
    "partitioner/tables": "runtime/base graph/value graph/ir graph/moves graph/derive graph/passes graph/schedule" +
                          " partitioner/search partitioner/search/elimination partitioner/search/placement" +
                          " partitioner/cluster partitioner/cost",
    "partitioner/choose": "runtime/base graph graph/value graph/ir graph/derive graph/schedule partitioner" +
                          " partitioner/search partitioner/search/elimination partitioner/search/placement" +
                          " partitioner/tables partitioner/cluster partitioner/cost" +
                          " partitioner/predict",
    # What was measured of a machine.
    "partitioner/profile": "runtime/base graph/value partitioner/cluster partitioner/cost",
    "partitioner/proto_io": "runtime/base proto graph/value graph/proto_io partitioner/cluster partitioner/cost" +
                            " partitioner/profile",
    # Machines that are known by name, one of which is taken where none is said.
    "partitioner/clusters": "runtime/base graph/schedule partitioner/cluster partitioner/cost partitioner/proto_io",

    # A session: the one place that knows the compiler and all that runs what it makes.
    "runtime/data": "runtime/base graph/value",
    "runtime/data/pictures/codec": "runtime/base",
    "runtime/data/pictures/transform": "runtime/base runtime/data/pictures/codec",
    "runtime/data/pictures": "runtime/base graph/value runtime/data runtime/data/pictures/codec" +
                             " runtime/data/pictures/transform",
    "runtime/checkpoint": "runtime/base graph/value",
    "runtime/checkpoint/sharded": "runtime/base graph/value runtime/checkpoint",
    "runtime/data/arrays": "runtime/base graph/value runtime/data runtime/checkpoint",
    "runtime/data/text": "runtime/base graph/value runtime/data",
    "runtime/data/pairs": "runtime/base graph/value runtime/data runtime/data/text",
    "runtime/scores": "runtime/base",
    "runtime/telemetry": "runtime/base proto",
    "runtime/api/job": "runtime/base runtime/admission runtime/device/host runtime/exec runtime/comm runtime/comm/processes" +
                       " runtime/fail_points runtime/flight_recorder runtime/rendezvous",
    "runtime/api/rank": "runtime/base graph/value graph/ir graph/schedule ops/values runtime/device" +
                        " runtime/device/host runtime/exec runtime/comm runtime/flight_recorder",
    "runtime/api/backend": "runtime/base graph graph/ir graph/schedule ops/plans ops/host ops/host/timing ops/cuda" +
                           " runtime/device runtime/device/cuda runtime/device/host runtime/exec runtime/comm" +
                           " runtime/comm/local runtime/comm/cuda_local runtime/comm/nccl runtime/api/job" +
                           " runtime/api/rank",
    "runtime/api": "runtime/base graph graph/value graph/ir graph/moves graph/passes graph/schedule graph/prove" +
                   " graph/timeline ops/host runtime/device runtime/exec runtime/flight_recorder runtime/api/job runtime/api/backend" +
                   " runtime/api/rank",
    "runtime/train/sharded": "runtime/base graph/value graph/ir runtime/checkpoint runtime/checkpoint/sharded" +
                             " runtime/fail_points runtime/api runtime/api/job",
    "runtime/train": "runtime/base graph/value graph/ir graph/optimizer graph/sets ops/values runtime/data runtime/checkpoint" +
                     " runtime/checkpoint/sharded runtime/fail_points runtime/telemetry runtime/api runtime/api/job" +
                     " runtime/train/sharded",
    "runtime/decode": "runtime/base graph/value graph/ir runtime/data runtime/api runtime/train",

    # Models of others as graphs.
    "importer/program": "runtime/base graph/value",
    "importer/constants": "runtime/base graph/value importer/program",
    "importer/translation": "runtime/base graph/value graph/ir graph/read importer/program importer/constants",
    "importer/onnx": "runtime/base graph/value importer/program",
    "importer/name_maps": "runtime/base graph/value graph/ir importer/constants runtime/checkpoint",
    "importer": "runtime/base graph/value graph/ir graph/read graph/proto_io importer/program importer/constants" +
                " importer/name_maps importer/onnx importer/translation runtime/checkpoint",

    # Graphs as models of others.
    "exporter/onnx": "runtime/base graph/value graph/ir graph/read graph/passes",

    # From the description of a run to its session: no flags of a command line, no output, no exit.
    "run/spec": "proto runtime/base graph/value",
    "run/host": "runtime/device/host ops/host/timing",
    "run/flight": "runtime/base proto graph/value graph/proto_io runtime/flight_recorder",
    "run/solver": "runtime/base partitioner/search/placement",
    "run/tuning": "runtime/base proto graph/value graph/optimizer graph/ir graph/read ops runtime/checkpoint run/spec",
    "run/plan": "runtime/base proto graph graph/value graph/optimizer graph/ir graph/derive graph/sets graph/given" +
                " graph/read graph/schedule graph/proto_io ops ops/functors ops/values partitioner partitioner/choose" +
                " partitioner/cluster partitioner/clusters partitioner/cost partitioner/predict" +
                " partitioner/profile partitioner/proto_io runtime/api/backend runtime/api/rank runtime/data runtime/train" +
                " importer run/spec run/tuning run/host run/solver run/job",
    "run/beginning": "runtime/base proto graph/value graph/ir graph/read graph/text importer importer/name_maps ops" +
                     " runtime/api runtime/checkpoint runtime/checkpoint/sharded runtime/train runtime/train/sharded" +
                     " run/spec run/host run/tuning",
    "run/data": "runtime/base proto graph/value graph/ir graph/read graph/proto_io ops runtime/device/host runtime/data" +
                " runtime/data/arrays runtime/data/pairs runtime/data/pictures runtime/data/text runtime/train" +
                " run/spec run/host run/tuning run/plan",
    "run/job": "runtime/base proto graph/ir graph/derive graph/schedule graph/proto_io graph/text runtime/admission" +
               " runtime/flight_recorder runtime/comm runtime/api/job runtime/api/rank runtime/train run/spec run/host" +
               " run/flight",
    "run": "runtime/base proto graph graph/ir graph/derive graph/given graph/read importer ops partitioner/choose" +
           " runtime/api runtime/checkpoint" +
           " runtime/checkpoint/sharded runtime/train runtime/train/sharded run/plan run/beginning run/job",
    "run/train": "runtime/base proto graph/value graph/optimizer graph/ir graph/proto_io graph/text partitioner/cost partitioner/proto_io" +
                 " runtime/api runtime/api/job runtime/checkpoint/sharded runtime/data runtime/telemetry runtime/train" +
                 " runtime/train/sharded run run/spec run/host run/plan run/beginning run/data run/job",

    # What is shown of a plan before anything runs.
    "run/html": "",
    "run/pictures": "proto graph/schedule graph/timeline partitioner/explain runtime/telemetry run/html run/plan",
    "run/plan_page": "runtime/base proto graph graph/ir graph/moves graph/timeline partitioner/choose partitioner/explain" +
                     " runtime/telemetry run/html run/pictures",
    "run/plan_report": "runtime/base proto graph graph/derive graph/ir graph/moves graph/proto_io graph/schedule" +
                       " graph/timeline ops partitioner/choose partitioner/cluster partitioner/cost partitioner/explain" +
                       " partitioner/predict partitioner/repair partitioner/simulate runtime/api runtime/api/backend" +
                       " runtime/exec runtime/telemetry run run/spec run/host run/plan run/pictures run/plan_page",

    # The library's one face.
    "partita": "runtime/base proto graph/value graph/ir graph/read graph/proto_io importer ops ops/values runtime/api" +
               " runtime/api/rank runtime/comm runtime/train run run/spec run/host run/job run/plan run/plan_report" +
               " run/train run/tuning",
    "partita/c": "partita run/host",
}

def includers():
    """The visibility of a target that whoever may include this folder may depend on."""
    here = native.package_name()
    folders = [folder for folder, targets in ARROWS.items() if here in targets.split(" ")]
    return ["//%s:__pkg__" % folder for folder in folders] + ["//tools:__subpackages__", "//tests:__subpackages__"]
