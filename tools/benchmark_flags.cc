#include "tools/benchmark_flags.h"

namespace partita {

std::vector<FlagDefinition> BenchmarkFlags() {
  return {
      ChoiceFlag("format", "text", {"text", "json", "csv"}, "format of the rows on standard output"),
      IntFlag("rounds", "7", 1, 1000, "rounds in which every case runs once; unset: oracle 15, search 1"),
      IntFlag("steps", "20", 1, 1'000'000,
              "training steps per case and round; unset: halo 4, checkpoint 100, oracle as many as last a second"),
      FloatFlag("seconds", "20", 0, 1e6, "halo: start no further round after N seconds"),
      IntFlag("nodes", "", 10, 10'000'000, "compile: run only one case, a program of about N nodes"),
      IntFlag("dp", "2", 1, 4096, "replicas of the model, in compile with --nodes; unset: models 1"),
      IntFlag("mp", "2", 1, 4096, "ranks of a worker group, as --dp"),
      IntFlag("batch", "64", 1, 1 << 20, "global batch size; unset: halo 32, models and oracle each network's own"),
      IntFlag("image-size", "", 1, 4096,
              "models, oracle, decode: image height and width in pixels; unset: the model's, decode 299"),
      IntFlag("vocabulary", "", 2, 1 << 30, "models, oracle: vocabulary size; unset: 100,000, gnmt 31,800"),
      IntFlag("hidden", "", 1, 1 << 20, "models, oracle: units of each LSTM; unset: 2048, gnmt 1024"),
      IntFlag("layers", "", 1, 1024, "models, oracle: stacked LSTMs; unset: 2, gnmt 4 in encoder and decoder each"),
      ChoiceFlag("model", "mini-inception",
                 {"mini-inception", "lenet5", "mlp", "conv-stack", "wide-mlp", "inception-v3", "resnet-50", "alexnet",
                  "alexnet-2012", "vgg-16", "big-lstm", "gnmt"},
                 "model to train; unset: models trains the small ones, search and oracle all of theirs"),
      ChoiceFlag("precision", "", {"f32", "tf32", "bf16"},
                 "precision to measure; unset: all that the device supports, train f32"),
      ChoiceFlag("peer", "none", {"none", "pytorch", "pillow", "torchvision"},
                 "also measure this framework (installed by tools/peer/install)"),
      TextFlag("peer-forms", "all",
               "models: how the peer runs: eager, compile (takes minutes for a large model), either with -malloc (the "
               "C library keeps freed memory); on a GPU eager, graph, compile; or all; forms that fail are reported "
               "and skipped"),
      PathFlag("peer-python", "run the peer with this Python; unset: the one that tools/peer/install made"),
      BoolFlag("skip-agreement", "models: do not first compare one step with the peer's"),
      FolderFlag("folder", "checkpoint: folder to write to; unset: the folder of temporary files"),
      PathFlag("data", "decode: folder of pictures by class; unset: generated pictures"),
      IntFlag("states", "", 64, 1 << 20,
              "checkpoint: instead measure memory to save and load a wide model with N MiB of states"),
      IntFlag("ranks", "2", 2, 64, "number of ranks; search and oracle: the most ranks (unset: 8 and 4)"),
      ChoiceFlag("search", "all", {"all", "grid", "groups", "placement", "pipeline", "layerwise"},
                 "search: run only this search"),
      BytesFlag("memory", "", 1, "search: memory limit per rank; unset: no limit"),
      ChoiceFlag("claim", "all", {"all", "steps", "orders"},
                 "oracle: check only the step times of replicas, or only the order of plans"),
      ChoiceFlag("collective", "all",
                 {"all", "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "halo",
                  "repartition"},
                 "comm: run only this collective"),
      IntFlag("bytes", "", 4096, 1 << 30, "comm: buffer size; unset: several from 64 KiB to 64 MiB"),
      IntFlag("kills", "300", 0, 1'000'000, "number of ranks to kill; unset: chaos 200"),
      IntFlag("stops", "100", 0, 1'000'000, "number of ranks to stop"),
      IntFlag("save-faults", "2000", 0, 1'000'000'000, "chaos: file operations of a save to fail, or to end after"),
      IntFlag("flips", "100000", 0, 1'000'000'000, "chaos: bits of a checkpoint to flip"),
      IntFlag("seed", "1", 0, 1'000'000'000, "seed that chooses the rank and the time"),
      ChoiceFlag("device", "host", {"host", "cuda"}, "device to measure; comm measures the host as well"),
      IntFlag("threads", "2", 1, 1024, "kernel threads on the host; models: of all ranks together"),
      PathFlag("trainer", "trainer to start; unset: tools/trainer of this build"),
      PathFlag("report",
               "write the rows (.json; models also .html, a page with bars); train then also measures exposed "
               "communication"),
      PathFlag("cluster", "predict steps for this cluster and compare with the measured time (as in the trainer)"),
      PathFlag("profile", "predict steps with this profile from calibrate (as --cluster)"),
      PathFlag("history", "append a line for each predicted run to this file; unset: the trainer's history"),
      PathFlag("strategy", "strategy file; unset: train uses the shipped 2 x 2 strategy for mini-inception"),
  };
}

}  // namespace partita
