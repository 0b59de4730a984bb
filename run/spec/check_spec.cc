#include "run/spec/check_spec.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "graph/value/node_name.h"
#include "run/spec/flag.h"
#include "run/spec/spec_error.h"
#include "runtime/base/check.h"
#include "runtime/base/file_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// In all rules `commands` are names between blanks, "" all commands. A term is about one flag: `name` holds where it is
// given (of a switch: where it is on), `name=value` and `name!=value` compare its value, given or by default.

// Without one of these flags the command has nothing to do.
struct Required {
  std::string_view commands, flags, what;
};
constexpr Required kRequired[] = {
    {"calibrate", "save-profile", "the profile that is measured, as .pbtxt or .pb"},
    {"convert", "output", "where the model is to be written"},
    {"decode", "load", "what train --save wrote"},
    {"decode", "output", "a line for each sample"},
    {"decode", "data", "a folder with a vocabulary.txt"},
    {"evaluate predict", "load", "what train --save wrote"},
    {"fit", "on", "number and kind of devices, as 8xH100"},
    {"predict", "output", "the predictions, as .npy, .csv or .jsonl, or - for standard output"},
    {"score", "references", "what is right, line by line"},
    {"sweep", "cluster profile", "the machines that are planned for"},
};

// Where `when` holds, one of the terms between blanks in `needs` must.
struct Need {
  std::string_view commands, when, needs, why;
};
constexpr Need kNeeds[] = {
    // Splits and searches.
    {"calibrate", "search!=none", "ranks", "how many of this machine's ranks share the model"},
    {"train plan verify", "search!=none", "cluster profile", "for which machines to plan"},
    {"plan", "save-strategy", "search!=none repair", "it writes what --search finds or --repair makes"},
    {"train calibrate verify", "save-strategy", "search!=none",
     "it writes what is found, for example by --search=auto"},
    {"", "solver!=own", "search=placement search=auto", "it solves placements"},
    // Predictions are for machines.
    {"plan", "trace", "cluster profile", "the machines that the predicted timeline is for"},
    {"plan", "diff", "cluster profile", "the machines that are planned for"},
    {"plan", "explain", "cluster profile", "the machines that are planned for"},
    {"plan", "page", "cluster profile", "the machines that are planned for"},
    {"plan", "repair", "cluster profile", "the machines that are planned for"},
    {"plan", "objective!=step", "cluster profile", "the machines that are planned for"},
    {"plan", "objective=time-to-accuracy", "curve", "epochs by batch, a file as in tools/curves"},
    {"plan", "curve", "objective=time-to-accuracy", "nothing else reads it"},
    // Devices.
    {"", "tf32", "device=cuda", "the host computes f32 in f32"},
    {"", "gpu!=-1", "device=cuda", "the host is no GPU"},
    {"", "launch-each", "device=cuda", "only a GPU replays a step"},
    // Beginnings and what is saved.
    {"", "load-weights-only", "load", "it says what is taken from that file"},
    {"train verify", "optimizer", "learning-rate", "the rate that fits one optimizer does not fit another"},
    {"", "checkpoint-every", "checkpoint", "the folder that checkpoints are written to"},
    {"", "keep", "checkpoint", "the folder that checkpoints are written to"},
    {"", "save-every!=0", "save save-adapter", "it says how often that is written"},
    {"", "save-adapter", "lora-rank load-adapter", "other models have no adapters"},
    {"", "lora", "lora-rank", "they are the adapters' rank and weights"},
    {"", "lora-train", "lora-rank", "without adapters all parameters are trained, but those of --freeze"},
    {"", "lora-alpha", "lora-rank", "it is the factor of adapters"},
    {"", "lora-dropout!=0", "lora-rank load-adapter", "it drops what adapters read"},
    {"", "save-weights-only", "save save-best", "it says what is written"},
    {"", "evaluate-every!=0", "until-accuracy until-loss metrics tensorboard page",
     "it says how often to look whether that is reached, or to record it"},
    {"", "metrics-every!=10", "metrics tensorboard page", "it says how often steps are recorded"},
    {"", "gradient-norm", "metrics tensorboard page", "it says what is recorded of steps"},
    {"", "save-curve", "until-accuracy until-loss", "the curve has the epochs until that is reached"},
    {"predict", "format!=text", "output=-", "a file has the format that its name ends in"},
    {"launch", "elastic", "max-restarts!=0", "it says how a job is started again"},
};

// Terms between blanks in `others` do not hold where `when` does.
struct Exclusion {
  std::string_view commands, when, others, why;
};
constexpr std::string_view kOneOfThem = "one of them is allowed";
constexpr Exclusion kExclusions[] = {
    {"", "search!=none", "strategy dp mp convolutions dense input-gradients micro-batches", kOneOfThem},
    {"", "strategy", "dp mp convolutions dense input-gradients", kOneOfThem},
    {"", "data", "mock-data", kOneOfThem},
    {"", "load-adapter", "lora-rank", "the folder says the rank, the factor and the weights"},
    {"", "freeze", "lora-rank load-adapter", "beside adapters only what --lora-train names is trained"},
    {"", "resume", "load", "training continues from the checkpoint, which has all parameters"},
    {"", "until-accuracy", "until-loss", kOneOfThem},
    {"decode", "output", "long-pairs=skip",
     "a line is written for each pair, and some would be missing; cut keeps all"},
    {"plan", "dump-after", "diff explain format!=text full page repair save-strategy trace",
     "a dump is text and nothing else"},
    {"plan", "diff", "explain", kOneOfThem},
    {"plan", "diff", "trace page", "a picture is of one plan"},
    {"plan", "format=dot", "diff explain", "they have text and json"},
    {"plan", "objective!=step", "diff", "a difference of two plans is that of their steps"},
    {"plan", "objective!=step", "repair", "repairs are compared by their steps"},
};

// The endings, between blanks, that the name of a file may have; "-" is a whole name.
struct Ending {
  std::string_view commands, flag, endings;
};
constexpr Ending kEndings[] = {
    {"", "report", ".json"},
    {"", "metrics", ".jsonl"},
    {"", "page", ".html"},
    {"", "save-curve", ".pbtxt .textproto .pb"},
    {"", "save-profile", ".pbtxt .textproto .pb"},
    {"", "save-strategy", ".pbtxt .textproto .pb .json"},
    {"evaluate", "confusion", ".csv"},
    {"predict", "output", ".npy .csv .jsonl -"},
};

std::vector<std::string> Words(std::string_view text) {
  return absl::StrSplit(std::string(text), ' ', absl::SkipEmpty());
}

class Checker {
 public:
  Checker(const RunSpec& spec, const std::string& command)
      : spec_(spec), command_(command), flags_(FlagsOf(*RunSpec::descriptor())) {}

  absl::Status Check() const {
    for (const Required& rule : kRequired) RETURN_IF_ERROR(CheckRequired(rule));
    for (const Exclusion& rule : kExclusions) RETURN_IF_ERROR(CheckExclusion(rule));
    for (const Need& rule : kNeeds) RETURN_IF_ERROR(CheckNeed(rule));
    for (const Ending& rule : kEndings) RETURN_IF_ERROR(CheckEnding(rule));
    return absl::OkStatus();
  }

 private:
  struct Term {
    const FlagDefinition* flag;
    std::string text;                       // as the caller may write it
    std::optional<std::string> value = {};  // to compare with
    bool equal = true;
  };

  bool IsOf(std::string_view commands) const {
    const std::vector<std::string> names = Words(commands);
    return names.empty() || std::ranges::find(names, command_) != names.end();
  }

  const FlagDefinition& Find(const std::string& name) const {
    const auto found = std::ranges::find(flags_, name, &FlagDefinition::name);
    CHECK(found != flags_.end());
    return *found;
  }

  Term Parse(const std::string& term) const {
    const size_t equals = term.find('=');
    if (equals == std::string::npos) return {&Find(term), term};
    const bool differs = term[equals - 1] == '!';
    return {&Find(term.substr(0, differs ? equals - 1 : equals)), term, term.substr(equals + 1), !differs};
  }

  bool Holds(const Term& term) const {
    if (term.value) return (ValueOf(*term.flag, spec_) == *term.value) == term.equal;
    return HasValue(*term.flag, spec_) && (term.flag->type != FlagType::kBool || ValueOf(*term.flag, spec_) == "true");
  }

  // The flag of a term that holds, with the value where that is what matters.
  std::string Given(const Term& term) const {
    if (!term.value) return "--" + term.flag->name;
    return fmt::format("--{}={}", term.flag->name, ValueOf(*term.flag, spec_));
  }

  // How a term that does not hold would.
  static std::string Wanted(const Term& term) { return term.equal ? "--" + term.text : "--" + term.flag->name; }

  absl::Status CheckRequired(const Required& rule) const {
    if (!IsOf(rule.commands)) return absl::OkStatus();
    // A program that PyTorch exported, or an ONNX model, has weights.
    const std::string& graph = spec_.model().graph();
    const bool has_weights =
        rule.commands == "evaluate predict" && (HasEnding(graph, ".pt2") || HasEnding(graph, ".onnx"));
    if (rule.flags == "load" && has_weights) return absl::OkStatus();
    std::vector<std::string> wanted;
    for (const std::string& name : Words(rule.flags)) {
      const FlagDefinition& flag = Find(name);
      if (HasValue(flag, spec_)) return absl::OkStatus();
      wanted.push_back(fmt::format("--{}={}", name, FlagPlaceholder(flag)));
    }
    return FlagError("{} needs {}: {}", command_, fmt::join(wanted, " or "), rule.what);
  }

  absl::Status CheckNeed(const Need& rule) const {
    const Term when = Parse(std::string(rule.when));
    if (!IsOf(rule.commands) || !Holds(when)) return absl::OkStatus();
    std::vector<std::string> wanted;
    for (const std::string& word : Words(rule.needs)) {
      const Term need = Parse(word);
      if (Holds(need)) return absl::OkStatus();
      wanted.push_back(Wanted(need));
    }
    return FlagError("flag {} needs {}: {}", Given(when), fmt::join(wanted, " or "), rule.why);
  }

  absl::Status CheckExclusion(const Exclusion& rule) const {
    const Term when = Parse(std::string(rule.when));
    if (!IsOf(rule.commands) || !Holds(when)) return absl::OkStatus();
    for (const std::string& word : Words(rule.others)) {
      const Term other = Parse(word);
      if (Holds(other)) return FlagError("flags {} and {} are given; {}", Given(when), Given(other), rule.why);
    }
    return absl::OkStatus();
  }

  absl::Status CheckEnding(const Ending& rule) const {
    const FlagDefinition& flag = Find(std::string(rule.flag));
    if (!IsOf(rule.commands) || !HasValue(flag, spec_)) return absl::OkStatus();
    const std::string path = ValueOf(flag, spec_);
    const std::vector<std::string> endings = Words(rule.endings);
    if (std::ranges::any_of(endings, [&](const std::string& ending) {
          return ending == "-" ? path == ending : HasEnding(path, ending);
        })) {
      return absl::OkStatus();
    }
    return FlagError("flag --{}: {} has another ending; expected {}", flag.name, Printable(path, 240),
                     fmt::join(endings, " or "));
  }

  const RunSpec& spec_;
  const std::string& command_;
  const std::vector<FlagDefinition> flags_;
};

}  // namespace

absl::Status CheckSpec(const RunSpec& spec, const std::string& command) { return Checker(spec, command).Check(); }

}  // namespace partita
