#include "tools/trainer_flags.h"

#include "graph/value/limits.h"

namespace partita {
namespace {

constexpr int64_t kMany = int64_t{1} << 53;

std::vector<FlagDefinition> Parallelism() {
  return {
      IntFlag("ranks", "1", 1, kMostRanks,
              "number of ranks, one device each; unset: sweep and --search use every device or host core, tipping the "
              "curve's range"),
      IntFlag("dp", "1", 1, kMostRanks, "replicas of the model (data parallelism)"),
      IntFlag("mp", "1", 1, kMostRanks,
              "ranks that share one replica (model parallelism); unset: 2 in sweep and tipping"),
      ChoiceFlag("convolutions", "channels", {"channels", "rows", "samples", "auto"},
                 "how convolutions are split over --mp; auto: channels or samples, whichever moves fewer bytes"),
      ChoiceFlag("dense", "channels", {"channels", "samples", "auto"},
                 "how dense layers are split over --mp (see --convolutions)"),
      ChoiceFlag("input-gradients", "reduce_scatter", {"reduce_scatter", "all_reduce"},
                 "how layers split by channels sum input gradients; all_reduce: gather outputs right after each layer"),
      PathFlag("strategy", "read the strategy from this file instead of --dp, --mp and the layer flags"),
      ChoiceFlag("search", "none", {"none", "auto", "data", "grid", "groups", "placement", "pipeline", "layerwise"},
                 "find a strategy for --ranks of --cluster; auto: the best of all searches; calibrate repeats until "
                 "the plan it finds is measured"),
      ChoiceFlag("solver", "own", {"own", "cbc"},
                 "solver for placements that --search cannot prove optimal; cbc: Debian's coinor-cbc"),
      IntFlag("solver-seconds", "60", 1, 86'400, "time limit of the solver for each worker group size, in seconds"),
      PathFlag("save-strategy", "write the strategy from --search or --repair, with reasons (.pbtxt, .pb)"),
      BoolFlag("repair", "if the plan does not fit on --cluster, apply the best change that makes it fit"),
      PathFlag("diff", "compare with this strategy file on --cluster: differences and their cost"),
      IntFlag("micro-batches", "1", 1, kMostMicroBatches,
              "split each batch into N equal parts, run in turn; overrides the strategy"),
      ChoiceFlag("exchanges", "auto", {"auto", "direct", "slices", "chain"},
                 "how a block is sent to several ranks; auto: the fastest; overrides the strategy"),
      TextFlag("recompute", "",
               "NODES,...: recompute these blocks in the backward pass, each block names or patterns joined by '+'; "
               "none: keep everything; overrides the strategy"),
      ChoiceFlag("device", "host", {"host", "cuda"}, "device of the ranks; cuda: all ranks of a process share one GPU"),
      IntFlag("gpu", "-1", -1, 1024, "GPU index with --device=cuda; -1: LOCAL_RANK, else 0"),
      BoolFlag("launch-each", "with --device=cuda, launch each kernel separately under its node's name, for profilers"),
      BoolFlag("tf32", "with --device=cuda, allow TF32: f32 products round factors to 10 bits"),
      BoolFlag("deterministic",
               "make runs bitwise identical; otherwise kernels are timed once and the fastest is cached"),
      FolderFlag("plan-cache", "folder for cached kernel timings; unset: ~/.cache/partita/plans"),
      IntFlag("threads", "0", 0, 1024, "kernel threads per rank; 0: divide the cores among the ranks"),
      FloatFlag("speedup", "1", 0.001, 4096, "speedup of a step when a replica is split over --mp devices"),
      IntFlag("device-batch", "0", 0, 1 << 24,
              "samples per replica and step, on one device or split; 0: the curve's first batch"),
      PathFlag("cluster", "predict times for this cluster: a file or a shipped name (dgx1_v100)"),
      PathFlag("profile", "use this profile from calibrate: this machine's, or with --cluster its devices'"),
      ChoiceFlag("objective", "step", {"step", "time-to-accuracy", "memory", "cost"},
                 "what plan reports and --search minimizes: step time, total time for --curve, bytes of the fullest "
                 "rank, or device time"),
      PathFlag("curve", "also report time to accuracy from this file of epochs by batch (see tools/curves)"),
      BytesFlag("memory", "", 1, "memory limit per rank; a plan that needs more is refused"),
      BytesFlag("bucket-bytes", "", 0, "size of gradient buckets, overrides the strategy; 0: no buckets"),
      ChoiceFlag("overlap-halo", "auto", {"auto", "on", "off"},
                 "compute convolutions in parts to overlap the halo exchange; auto: where it is faster"),
  };
}

std::vector<FlagDefinition> Processes() {
  return {
      IntFlag("nproc", "", 1, kMostRanks, "number of processes, one per rank; unset: the strategy's ranks"),
      IntFlag("max-restarts", "0", 0, 1'000'000, "restart all ranks up to N times after one dies, with --resume=auto"),
      BoolFlag("elastic", "restart without the failed ranks; --dp and --mp, or --search, adapt to the rest"),
      FolderFlag("log-dir", "also write each rank's output to a file in this folder: rank-0.log"),
      BoolFlag("processes", "run ranks as processes of a job, as launch starts them; otherwise as threads"),
      IntFlag("port", "0", 0, 65535, "port of the rendezvous on rank 0; 0: any free port"),
      IntFlag("join-timeout", "60", 1, 86'400, "time limit for all ranks to join, in seconds"),
      IntFlag("timeout", "10", 1, 86'400, "treat a rank as lost after N seconds without progress or messages"),
      BoolFlag("tls", "encrypt traffic between processes with keys derived from the job's token"),
      FolderFlag("flight-recorder",
                 "on failure, write the last operations of each rank to this folder, for post-mortem"),
  };
}

std::vector<FlagDefinition> Training() {
  return {
      PathFlag("data",
               "data set: a folder of IDX files, pictures by class, .tar, .npy, texts or parallel texts; or an .npz, "
               ".safetensors or .pbtxt file; unset: Debian's Fashion-MNIST"),
      BoolFlag("mock-data", "use random data of the graph's input shapes instead of a data set"),
      IntFlag("epochs", "1", 1, 1'000'000, "passes over the training set, including those before --load"),
      IntFlag(
          "steps", "0", 0, kMany,
          "stop after N steps, including those before --load, over as many epochs as needed unless --epochs is given; "
          "0: --epochs decides (calibrate: 30, verify: 3)"),
      FloatFlag("until-accuracy", "", 0, 1, "stop once test accuracy reaches this value, or after --epochs"),
      FloatFlag("until-loss", "", -1e6, 1e6, "stop once test loss falls to this value, or after --epochs"),
      IntFlag("evaluate-every", "0", 0, kMany, "also evaluate every N steps; 0: only after each epoch"),
      IntFlag("skip-budget", "0", 0, kMany, "skip at most N steps with a non-finite loss or gradient"),
      IntFlag("batch", "0", 0, 1 << 24, "global batch size; 0: the graph's"),
      FloatFlag("learning-rate", "", 0, 1e6, "base or peak of the learning-rate schedule, overrides the graph"),
      IntFlag("seed", "1", 0, kMany, "seed of initial values, dropout, sample order and augmentation"),
      BoolFlag("flip", "flip training images horizontally at random"),
      IntFlag("shift", "0", 0, 1024, "shift training images at random by up to N pixels"),
      FloatFlag("crop-area", "", 0.001, 1,
                "crop training pictures at random, at least this share of the area; unset: center crop"),
      FloatFlag("colour", "0", 0, 1, "change brightness, contrast and saturation in training by up to this share"),
      IntFlag("resize", "0", 0, 16'384, "scale the shorter side to N pixels before the center crop; 0: fit the input"),
      FloatFlag("test-share", "0.2", 0, 1,
                "share of pictures held out for testing if there are no train and test folders"),
      IntFlag("decode-threads", "0", 0, 1024, "threads that decode pictures; 0: one per core"),
      BytesFlag("decode-memory", "256MiB", 1 << 20, "refuse pictures that need more memory per decode thread"),
      ChoiceFlag("long-pairs", "stop", {"stop", "skip", "cut"},
                 "what to do with sentences longer than the graph accepts"),
      ChoiceFlag("bad-files", "stop", {"stop", "skip"}, "what to do with files that are not pictures or are damaged"),
      ChoiceFlag("precision", "f32", {"f32", "f64", "bf16"},
                 "floating-point type; f64: host only; bf16: layers in bf16, weights and losses in f32"),
      FloatFlag("tolerance", "", 0, 1, "largest relative difference to accept; unset: depends on --precision"),
      UnsetBoolFlag("reference", "also compute each step in f64 with reference kernels; unset: if at most 4 GFLOP"),
  };
}

std::vector<FlagDefinition> Files() {
  return {
      PathFlag("save", "write the model and its training state (.safetensors)"),
      IntFlag("save-every", "0", 0, kMany, "write --save every N steps; 0: only at the end"),
      PathFlag("save-curve", "add this batch and its epochs to a curve file, for plan and sweep"),
      PathFlag("save-best", "write the model whenever its test accuracy or loss is the best so far"),
      BoolFlag("save-weights-only", "save only parameters and running statistics; training cannot resume from them"),
      PathFlag("load", "read a model and resume its training (.safetensors)"),
      BoolFlag("load-weights-only", "load only parameters and running statistics; training starts at step 0"),
      FolderFlag("checkpoint", "write sharded checkpoints to this folder, the last one at the end"),
      TextFlag("checkpoint-every", "",
               "checkpoint interval in steps (1000) or time (90s, 15m, 2h); unset: only at the end"),
      IntFlag("keep", "3", 1, 1'000'000, "keep the newest N checkpoints"),
      TextFlag("resume", "",
               "resume from a checkpoint: a step, a folder, or auto: the newest complete one in --checkpoint, if any"),
      PathFlag("save-profile", "write the measured profile (.pbtxt or .pb)"),
      PathFlag("output", "write the values to this file (.npy or .csv)"),
      TextFlag("value", "", "value of the graph to write; unset: the input of the loss (a classifier's logits)"),
      PathFlag("references", "reference lines to compare with"),
      IntFlag("beam", "5", 1, 1024, "beam width: hypotheses extended per sentence; at most the batch"),
      IntFlag("most-words", "0", 0, 1 << 20, "longest sentence to write, in words; 0: the graph's target length"),
      FloatFlag("length-penalty", "0.6", 0, 10, "exponent of the length normalization in beam search"),
      FloatFlag("coverage-penalty", "0.1", 0, 100, "weight of the penalty for source words without attention"),
      PathFlag("page", "write a page with diagrams (.html)"),
      PathFlag("report", "write a report of the run (.json)"),
      PathFlag("history", "append predicted and measured times to this file; unset: ~/.cache/partita/history.jsonl"),
      PathFlag("trace", "write the timeline of the last (plan: predicted) step (Chrome and Perfetto JSON)"),
  };
}

std::vector<FlagDefinition> Output() {
  return {
      ChoiceFlag("format", "text", {"text", "json", "dot"}, "format of the results on standard output"),
      ChoiceFlag("tokens", "13a", {"13a", "intl", "none"}, "tokenization before scoring, as in sacreBLEU"),
      BoolFlag("lower-case", "convert lines to lower case before scoring"),
      BoolFlag("pieces", "join sentencepiece pieces into words before scoring"),
      BoolFlag("full", "print every node and launch instead of a summary"),
      BoolFlag("explain", "explain the step time on --cluster: critical path and where time goes"),
      ChoiceFlag("log", "info", {"debug", "info", "warning", "error"}, "lowest level to log"),
  };
}

std::vector<FlagDefinition> Debugging() {
  return {
      BoolFlag("fail-points", "list the places where PARTITA_FAIL_POINTS can kill, fail or delay a process"),
      IntFlag("check-replicas", "0", 0, kMany, "compare hashes of the replicas every N steps; 0: never"),
      BoolFlag("verify-passes", "check the graph after each pass and name the pass that broke it"),
      IntFlag("delay-seed", "0", 0, kMany, "delay launches at random with this seed; 0: no delays"),
  };
}

}  // namespace

std::vector<FlagDefinition> TrainerFlags() {
  std::vector<FlagDefinition> flags;
  const auto add = [&flags](const char* group, std::vector<FlagDefinition> list) {
    for (FlagDefinition& flag : list) {
      flag.group = group;
      flags.push_back(std::move(flag));
    }
  };
  add("Parallelism", Parallelism());
  add("Processes", Processes());
  add("Training", Training());
  add("Files", Files());
  add("Output", Output());
  add("Debugging", Debugging());
  return flags;
}

}  // namespace partita
