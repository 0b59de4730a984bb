#include "tools/trainer_flags.h"

#include "graph/value/limits.h"

namespace partita {
namespace {

constexpr int64_t kMany = int64_t{1} << 53;

std::vector<FlagDefinition> Parallelism() {
  return {
      IntFlag("ranks", "1", 1, kMostRanks,
              "workers, each with a device of its own; unless given, sweep: all devices, --search: all devices or a "
              "host's cores, tipping: as many as the curve covers"),
      IntFlag("dp", "1", 1, kMostRanks, "replicas of the model (data parallelism)"),
      IntFlag("mp", "1", 1, kMostRanks,
              "ranks of a worker group that share a model (model parallelism); of sweep and tipping 2 unless given"),
      ChoiceFlag("convolutions", "channels", {"channels", "rows", "samples", "auto"},
                 "what the ranks of a group share of convolutions; auto: channels or samples, by bytes"),
      ChoiceFlag("dense", "channels", {"channels", "samples", "auto"}, "the same of dense layers"),
      ChoiceFlag("input-gradients", "reduce_scatter", {"reduce_scatter", "all_reduce"},
                 "of layers split by channels; all_reduce: outputs are gathered right after each layer"),
      PathFlag("strategy", "a strategy file in place of --dp, --mp and how they split layers"),
      ChoiceFlag("search", "none", {"none", "auto", "data", "grid", "groups", "placement", "pipeline", "layerwise"},
                 "find a strategy for --ranks of --cluster; auto: the best of all searches; "
                 "calibrate: measures until it finds what it has measured"),
      ChoiceFlag(
          "solver", "own", {"own", "cbc"},
          "who looks for better placements where --search has no proof; cbc: the program of Debian's coinor-cbc"),
      IntFlag("solver-seconds", "60", 1, 86'400, "how long it may take, for each size of worker groups"),
      PathFlag("save-strategy", "write what --search found or --repair made, with the reasons (.pbtxt, .pb)"),
      BoolFlag("repair", "of a plan that does not fit: take the best change that makes it fit on --cluster"),
      PathFlag("diff", "another strategy file: what it does otherwise on --cluster, and what that costs"),
      IntFlag("micro-batches", "1", 1, kMostMicroBatches,
              "equal parts of a batch, one after the other; over the strategy's"),
      ChoiceFlag("exchanges", "auto", {"auto", "direct", "slices", "chain"},
                 "how a part of a value reaches several ranks; auto: in the quickest way; over the strategy's"),
      TextFlag("recompute", "",
               "NODES,...: blocks that keep nothing for the backward pass, each names or patterns with '+' between; "
               "none: all is kept; over the strategy's"),
      ChoiceFlag("device", "host", {"host", "cuda"}, "what ranks run on; cuda: those of a process share one GPU"),
      IntFlag("gpu", "-1", -1, 1024, "with --device=cuda: which GPU; -1: LOCAL_RANK, else 0"),
      BoolFlag("launch-each", "with --device=cuda: launch every kernel by itself, under its node's name for profilers"),
      BoolFlag("tf32", "with --device=cuda: f32 products may round their factors to 10 bits (TF32)"),
      BoolFlag("deterministic", "the same bits in every run; else kernels are timed once, the fastest taken and kept"),
      FolderFlag("plan-cache", "keeps what was timed; unset: ~/.cache/partita/plans"),
      IntFlag("threads", "0", 0, 1024, "threads of one rank's kernels; 0: the cores shared among the ranks"),
      FloatFlag("speedup", "1", 0.001, 4096, "of a step of a replica that is split over --mp devices"),
      IntFlag("device-batch", "0", 0, 1 << 24,
              "samples of a replica in a step, on one device or split over several; 0: the first batch of the curve"),
      PathFlag("cluster",
               "machines that choices are made for and plan tells times of: a file, or a shipped one (dgx1_v100)"),
      PathFlag("profile", "what calibrate has measured: of this machine, or beside --cluster of the devices there"),
      ChoiceFlag(
          "objective", "step", {"step", "time-to-accuracy", "memory", "cost"},
          "what plan tells, and by what --search compares: a step's time; that of all steps of --curve; bytes of "
          "the fullest rank; time of all devices together"),
      PathFlag("curve", "epochs to an accuracy by batch (a file as in tools/curves): times to it are told as well"),
      BytesFlag("memory", "", 1, "what one rank may use; a plan that needs more is refused"),
      BytesFlag("bucket-bytes", "", 0, "size of gradient buckets, over the strategy's; 0: none"),
      ChoiceFlag("overlap-halo", "auto", {"auto", "on", "off"},
                 "convolutions in parts, so that some run while ghosts travel; auto: where it pays"),
  };
}

std::vector<FlagDefinition> Processes() {
  return {
      IntFlag("nproc", "", 1, kMostRanks, "processes, one for each rank; unset: the ranks of the command's strategy"),
      IntFlag("max-restarts", "0", 0, 1'000'000, "start all ranks again so often when one dies; from --resume=auto"),
      BoolFlag("elastic", "without the ranks that failed: --dp and --mp, or --search, for those that are left"),
      FolderFlag("log-dir", "also write what each rank says to a file of its own there: rank-0.log"),
      BoolFlag("processes", "for ranks that are processes of a job, as launch starts them; else they are threads"),
      IntFlag("port", "0", 0, 65535, "where rank 0 serves the rendezvous; 0: any free one"),
      IntFlag("join-timeout", "60", 1, 86'400, "seconds in which all ranks of a job must come"),
      IntFlag("timeout", "10", 1, 86'400, "seconds after which a rank that is silent or stands still counts as lost"),
      BoolFlag("tls", "encrypt what processes of a job send each other, with keys made of the job's token"),
      FolderFlag("flight-recorder", "if the job fails, write what its ranks did last there; post-mortem reads it"),
  };
}

std::vector<FlagDefinition> Training() {
  return {
      PathFlag(
          "data",
          "folder of IDX images, pictures by class, .tar, .npy, texts or parallel texts; .npz, .safetensors, .pbtxt; "
          "unset: Debian's Fashion-MNIST"),
      BoolFlag("mock-data", "random data of the graph's own form in place of a data set"),
      IntFlag("epochs", "1", 1, 1'000'000, "passes over the training set, with those before --load"),
      IntFlag("steps", "0", 0, kMany,
              "stop after N steps, with those before --load, in as many epochs as they take unless --epochs is given; "
              "0: as --epochs says; of calibrate 30, of verify 3"),
      FloatFlag("until-accuracy", "", 0, 1, "end as soon as the test set's accuracy is so high; --epochs is the most"),
      FloatFlag("until-loss", "", -1e6, 1e6, "the same of its loss, when it is so low"),
      IntFlag("evaluate-every", "0", 0, kMany,
              "look whether it is, so often, in steps, besides after each epoch; 0: then alone"),
      IntFlag("skip-budget", "0", 0, kMany, "steps to leave out at most whose loss or gradients are not finite"),
      IntFlag("batch", "0", 0, 1 << 24, "global batch; 0: the graph's"),
      FloatFlag("learning-rate", "", 0, 1e6, "base or peak of the schedule, over the graph's"),
      IntFlag("seed", "1", 0, kMany, "of initial values, dropout, order and augmentation"),
      BoolFlag("flip", "mirror training images left and right at random"),
      IntFlag("shift", "0", 0, 1024, "shift training images at random by up to so many pixels"),
      FloatFlag("crop-area", "", 0.001, 1, "train on random parts of pictures, of at least this share; unset: middles"),
      FloatFlag("colour", "0", 0, 1,
                "change training pictures' brightness, contrast and saturation by up to this share"),
      IntFlag("resize", "0", 0, 16'384,
              "scale a picture's shorter side to this before its middle is cut out; 0: fit it"),
      FloatFlag("test-share", "0.2", 0, 1, "of pictures that no folder train or test divides: what is held out"),
      IntFlag("decode-threads", "0", 0, 1024, "that decode pictures; 0: as many as there are cores"),
      BytesFlag("decode-memory", "256MiB", 1 << 20, "refuse pictures that take a decode thread more memory"),
      ChoiceFlag("long-pairs", "stop", {"stop", "skip", "cut"},
                 "what a sentence does that is longer than the graph takes"),
      ChoiceFlag("bad-files", "stop", {"stop", "skip"}, "what a file does that is no picture or a damaged one"),
      ChoiceFlag("precision", "f32", {"f32", "f64", "bf16"},
                 "of floating values; f64 on the host only; bf16: layers compute in it, weights and losses are f32"),
      FloatFlag("tolerance", "", 0, 1, "largest relative difference; unset: by precision"),
      UnsetBoolFlag("reference", "also compute each step in f64 by plain loops; unset: up to 4 GFLOP"),
  };
}

std::vector<FlagDefinition> Files() {
  return {
      PathFlag("save", "write the model and where its training stands (.safetensors)"),
      IntFlag("save-every", "0", 0, kMany, "write --save so often, in steps; 0: at the end alone"),
      PathFlag("save-curve", "add how many epochs that took, at this batch, to a curve that plan and sweep read"),
      PathFlag("save-best", "write the model here when its test accuracy (or loss) is the best so far"),
      BoolFlag("save-weights-only", "write parameters and running statistics, from which training does not go on"),
      PathFlag("load", "read a model (.safetensors); training goes on where the file's has come to"),
      BoolFlag("load-weights-only", "take its parameters and running statistics alone: training begins anew"),
      FolderFlag("checkpoint", "write checkpoints there, each rank its part, and at the end where training stands"),
      TextFlag("checkpoint-every", "", "so often: steps, as 1000, or time, as 90s, 15m, 2h; unset: at the end alone"),
      IntFlag("keep", "3", 1, 1'000'000, "how many checkpoints stay, the newest"),
      TextFlag(
          "resume", "",
          "go on from a checkpoint: auto, the newest whole one of --checkpoint, if there is any; a step; a folder"),
      PathFlag("save-profile", "write what was measured (.pbtxt or .pb)"),
      PathFlag("output", "write the values here (.npy or .csv)"),
      TextFlag("value", "", "which value of the graph; unset: what the loss looks at, a classifier's logits"),
      PathFlag("references", "what score holds lines against"),
      IntFlag("beam", "5", 1, 1024, "hypotheses of a sentence that decode goes on with; at most the batch"),
      IntFlag("most-words", "0", 0, 1 << 20, "of a sentence that decode writes; 0: as many as the graph is trained on"),
      FloatFlag("length-penalty", "0.6", 0, 10, "by which power of its length decode weighs a sentence's probability"),
      FloatFlag("coverage-penalty", "0.1", 0, 100, "how much decode minds words of the source that nobody looked at"),
      PathFlag("page", "write a page with pictures (.html)"),
      PathFlag("report", "write what the run did (.json)"),
      PathFlag("history", "predictions and what runs took, a line for each; unset: ~/.cache/partita/history.jsonl"),
      PathFlag("trace", "write the timeline of the last step, or of plan the predicted one (Chrome and Perfetto JSON)"),
  };
}

std::vector<FlagDefinition> Output() {
  return {
      ChoiceFlag("format", "text", {"text", "json", "dot"}, "of the results on standard output"),
      ChoiceFlag("tokens", "13a", {"13a", "intl", "none"}, "how score takes lines apart, as sacreBLEU does"),
      BoolFlag("lower-case", "score lines in small letters"),
      BoolFlag("pieces", "score lines of pieces of words (sentencepiece's) as the words that they are of"),
      BoolFlag("full", "every node and launch, where unset a summary of a screen, a picture of layers"),
      BoolFlag("explain", "what decides the step of a plan on --cluster, and where its time goes"),
      ChoiceFlag("log", "info", {"debug", "info", "warning", "error"}, "least level that is logged"),
  };
}

std::vector<FlagDefinition> Debugging() {
  return {
      BoolFlag("fail-points", "list the places where PARTITA_FAIL_POINTS lets a process die, fail or wait"),
      IntFlag("check-replicas", "0", 0, kMany, "compare what replicas hold so often, in steps, by hashes; 0: never"),
      BoolFlag("verify-passes", "check the graph after each pass, and name the pass that breaks it"),
      IntFlag("delay-seed", "0", 0, kMany, "delay launches at random by this seed; 0: no delays"),
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
