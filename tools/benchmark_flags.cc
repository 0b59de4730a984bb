#include "tools/benchmark_flags.h"

namespace partita {

std::vector<FlagDefinition> BenchmarkFlags() {
  return {
      ChoiceFlag("format", "text", {"text", "json", "csv"}, "of the rows on standard output"),
      IntFlag("rounds", "7", 1, 1000,
              "all cases are run in turns, so many times; unless given of oracle 15, of search 1"),
      IntFlag("steps", "20", 1, 1'000'000,
              "training steps of a case in one round; unless given of halo 4, of oracle as many as last a second, of "
              "checkpoint 100"),
      FloatFlag("seconds", "20", 0, 1e6, "halo: after which no further round begins"),
      IntFlag("nodes", "", 10, 10'000'000, "compile: one case alone, a program of about so many nodes"),
      IntFlag("dp", "2", 1, 4096, "replicas of the model: of compile's one case; of models 1 unless given"),
      IntFlag("mp", "2", 1, 4096, "ranks of a worker group, likewise"),
      IntFlag("batch", "64", 1, 1 << 20,
              "global batch; of halo 32 unless given, of models and oracle what a network is compared at"),
      IntFlag("image-size", "", 1, 4096, "models, oracle, decode: pixels, square; unset: the model's, 299"),
      IntFlag("vocabulary", "", 2, 1 << 30,
              "models, oracle: words of a model of words; unset: 100,000, or 31,800 of gnmt"),
      IntFlag("hidden", "", 1, 1 << 20, "models, oracle: units of its LSTMs; unset: 2048, or 1024 of gnmt"),
      IntFlag("layers", "", 1, 1024,
              "models, oracle: LSTMs, one on the other; unset: 2, or 4 of gnmt's encoder and decoder each"),
      ChoiceFlag("model", "mini-inception",
                 {"mini-inception", "lenet5", "mlp", "conv-stack", "wide-mlp", "inception-v3", "resnet-50", "alexnet",
                  "alexnet-2012", "vgg-16", "big-lstm", "gnmt"},
                 "what is trained; models trains the small ones if unset; of search and oracle the only one"),
      ChoiceFlag("precision", "", {"f32", "tf32", "bf16"},
                 "models: only this one; unset: all that the device has; train: f32 if unset"),
      ChoiceFlag("peer", "none", {"none", "pytorch", "pillow", "torchvision"},
                 "what runs beside ours; see tools/peer/install"),
      TextFlag(
          "peer-forms", "all",
          "models: how it runs: eager, compile (minutes for a large model), each with -malloc: a C library that keeps "
          "what is freed; on a GPU eager, graph, compile; or all; one that does not run is told and left out"),
      FolderFlag("folder", "checkpoint: on the disk that is written to; unset: that of temporary files"),
      PathFlag("data", "decode: pictures by class; unset: made-up ones"),
      IntFlag("states", "", 64, 1 << 20,
              "checkpoint: MiB of states of a wide model, which is saved and loaded once: how much memory that takes"),
      IntFlag("ranks", "2", 2, 64, "of comm, faults and halo; the most of search (8 unless given) and of oracle (4)"),
      ChoiceFlag("search", "all", {"all", "grid", "groups", "placement", "pipeline", "layerwise"},
                 "search: only this one"),
      BytesFlag("memory", "", 1, "search: what a rank of a plan may need; unset: whatever it wants"),
      ChoiceFlag("claim", "all", {"all", "steps", "orders"},
                 "oracle: only how long steps of replicas take, or only in which order plans are"),
      ChoiceFlag("collective", "all",
                 {"all", "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "halo",
                  "repartition"},
                 "comm: only this one"),
      IntFlag("bytes", "", 4096, 1 << 30, "comm: buffers of this size alone; unset: several from 64 KiB to 64 MiB"),
      IntFlag("kills", "300", 0, 1'000'000, "ranks that are killed; of chaos 200 unless given"),
      IntFlag("stops", "100", 0, 1'000'000, "ranks that are stopped"),
      IntFlag("save-faults", "2000", 0, 1'000'000'000, "chaos: operations of saves that fail, or are the last"),
      IntFlag("flips", "100000", 0, 1'000'000'000, "chaos: bits of a checkpoint that are flipped"),
      IntFlag("seed", "1", 0, 1'000'000'000, "of which rank and when"),
      ChoiceFlag("device", "host", {"host", "cuda"},
                 "what is measured (comm: also, beside the host), or trained by models"),
      IntFlag("threads", "2", 1, 1024, "of the host's kernels; of models for all ranks together"),
      PathFlag("trainer", "of faults and chaos, and of train with --report; unset: tools/trainer of this build"),
      PathFlag("report",
               "train, models: write the rows (.json; of models also .html, a page with bars); train also measures "
               "how much communication is exposed"),
      PathFlag("cluster", "train, models: where steps are predicted, to be held against what they take: as trainer's"),
      PathFlag("profile", "train, models: likewise, what calibrate has measured"),
      PathFlag("history",
               "oracle and, with --cluster or --profile, train and models: where a line is appended for each run that "
               "is told of; unset: as trainer's"),
      PathFlag("strategy",
               "of models; of train's hybrid, where the shipped 2 x 2 one is taken for mini-inception if unset"),
  };
}

}  // namespace partita
