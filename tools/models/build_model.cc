// Writes a shipped model as a graph proto:
//
//   build_model mini-inception --batch=64 --output=mini_inception.pbtxt
#include <algorithm>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "runtime/base/status.h"
#include "tools/models/big_lstm.h"
#include "tools/models/gnmt_entries.h"
#include "tools/models/models.h"
#include "tools/program/exit_code.h"
#include "tools/program/run_main.h"

namespace partita {
namespace {

constexpr char kInception[] = "inception-v3", kBigLstm[] = "big-lstm", kGnmt[] = "gnmt";

std::vector<FlagDefinition> FlagsOfAll() {
  return {
      PathFlag("output", "file to write: .pbtxt, .textproto, .pb or .json; unset: text on standard output"),
      IntFlag("batch", "64", 1, 1 << 24, "global batch size"),
      IntFlag("image-size", "0", 0, 4096, "image height and width in pixels; 0: the model's"),
      IntFlag("image-channels", "0", 0, 1 << 20, "channels of an image; 0: the model's"),
      IntFlag("classes", "0", 0, 1 << 20, "number of classes; 0: the model's"),
      FloatFlag("width", "1", 0, 64, "multiply channels or units of hidden layers by this factor"),
      IntFlag("channel-limit", "0", 0, 1 << 20, "limit channels or units of each hidden layer; 0: no limit"),
      ChoiceFlag("batch-norm", "model", {"model", "true", "false"}, "use batch norm; model: the model's choice"),
      FloatFlag("batch-norm-epsilon", "", 0, 1, "epsilon added to the variance; unset: the model's"),
      FloatFlag("batch-norm-momentum", "", 0, 1, "weight of a batch in the running statistics; unset: the model's"),
      IntFlag("statistics-samples", "0", 0, 1 << 24, "samples per batch norm group; 0: the whole batch"),
      ChoiceFlag("dropout", "model", {"model", "true", "false"}, "use dropout; model: the model's choice"),
      FloatFlag("dropout-rate", "", 0, 1, "share of values to drop; unset: the model's"),
      FloatFlag("label-smoothing", "", 0, 1, "label smoothing of the loss; unset: the model's"),
      FloatFlag("average", "", 0, 1,
                "evaluate moving averages of parameters and running statistics with this decay (inception-v3's TPU "
                "recipe: 0.995); unset: none"),
      BoolFlag("local-updates", "give each block its own loss and stop gradients between blocks"),
  };
}

std::vector<FlagDefinition> FlagsOfInception() {
  return {
      BoolFlag("auxiliary-head", "add a second classifier after block 6e; its loss has weight 0.4"),
      BoolFlag("count-padding", "count padding in average pools, as torchvision does (TensorFlow does not)"),
      ChoiceFlag("last-pool", "average", {"average", "max"}, "kind of the pool in the last block"),
  };
}

// Of the models of words.
std::vector<FlagDefinition> FlagsOfWords() {
  return {
      IntFlag("vocabulary", "0", 0, 1 << 30, "vocabulary size; 0: the model's"),
      IntFlag("hidden", "0", 0, 1 << 20, "units of each LSTM; 0: the model's"),
      IntFlag("layers", "0", 0, 1024, "number of stacked LSTMs; 0: the model's"),
  };
}

std::vector<FlagDefinition> FlagsOfBigLstm() {
  return {
      IntFlag("length", "20", 1, 1 << 20, "sequence length in words"),
      IntFlag("embedding", "0", 0, 1 << 20, "embedding size; 0: the projection's size"),
      IntFlag("projection", "1024", 1, 1 << 20, "projected outputs of each LSTM; equal to --hidden: no projection"),
      IntFlag("samples", "0", 0, 1 << 30,
              "sampled-softmax words in training; 0: 8192, or half of the vocabulary if fewer"),
  };
}

std::vector<FlagDefinition> FlagsOfGnmt() {
  return {
      IntFlag("source-length", "50", 1, 1 << 20, "longest source sentence, in words"),
      IntFlag("target-length", "50", 1, 1 << 20, "longest target sentence, in words"),
      IntFlag("buckets", "5", 1, 32, "number of sentence-length buckets; at most the sentence length"),
      IntFlag("steps", "0", 0, int64_t{1} << 40, "training steps of the learning-rate schedule; 0: the model's"),
  };
}

std::optional<bool> Choice(const Flags& flags, const std::string& name) {
  if (flags.Text(name) == "model") return std::nullopt;
  return flags.Text(name) == "true";
}

std::optional<double> Number(const Flags& flags, const std::string& name) {
  if (!flags.IsSet(name)) return std::nullopt;
  return flags.Float(name);
}

ModelOptions ReadOptions(const std::string& name, const Flags& flags) {
  ModelOptions options;
  options.batch = flags.Int("batch");
  options.image_size = flags.Int("image-size");
  options.image_channels = flags.Int("image-channels");
  options.classes = flags.Int("classes");
  options.width = flags.Float("width");
  options.channel_limit = flags.Int("channel-limit");
  options.batch_norm = Choice(flags, "batch-norm");
  options.batch_norm_epsilon = Number(flags, "batch-norm-epsilon");
  options.batch_norm_momentum = Number(flags, "batch-norm-momentum");
  options.statistics_samples = flags.Int("statistics-samples");
  options.dropout = Choice(flags, "dropout");
  options.dropout_rate = Number(flags, "dropout-rate");
  options.label_smoothing = Number(flags, "label-smoothing");
  options.average = Number(flags, "average");
  options.local_updates = flags.Bool("local-updates");
  if (name != kInception) return options;
  options.auxiliary_head = flags.Bool("auxiliary-head");
  options.count_padding = flags.Bool("count-padding");
  options.last_pool_is_max = flags.Text("last-pool") == "max";
  return options;
}

int64_t NumberOr(const Flags& flags, const std::string& name, int64_t of_model) {
  return flags.Int(name) == 0 ? of_model : flags.Int(name);
}

BigLstmOptions ReadBigLstmOptions(const Flags& flags) {
  BigLstmOptions options;
  options.batch = flags.Int("batch");
  options.places = flags.Int("length");
  options.words = NumberOr(flags, "vocabulary", options.words);
  options.embedding = flags.Int("embedding");
  options.units = NumberOr(flags, "hidden", options.units);
  options.projection = flags.Int("projection");
  options.layers = NumberOr(flags, "layers", options.layers);
  options.samples = flags.Int("samples");
  options.dropout_rate = Number(flags, "dropout-rate").value_or(options.dropout_rate);
  return options;
}

GnmtOptions ReadGnmtOptions(const Flags& flags) {
  GnmtOptions options;
  options.batch = flags.Int("batch");
  options.words = NumberOr(flags, "vocabulary", options.words);
  options.units = NumberOr(flags, "hidden", options.units);
  options.layers = NumberOr(flags, "layers", options.layers);
  options.source_places = flags.Int("source-length");
  options.target_places = flags.Int("target-length");
  options.steps = flags.Int("steps");
  options.dropout_rate = Number(flags, "dropout-rate").value_or(options.dropout_rate);
  options.label_smoothing = Number(flags, "label-smoothing").value_or(options.label_smoothing);
  return options;
}

// With its further sizes and the steps of its decoder.
absl::StatusOr<Model> MakeWholeGnmt(const GnmtOptions& options, int64_t buckets) {
  ASSIGN_OR_RETURN(Model model, MakeGnmt(options, Ops()));
  const int64_t most = std::min({buckets, options.source_places, options.target_places});
  RETURN_IF_ERROR(AddGnmtEntries(options, most, Ops(), model));
  return model;
}

absl::StatusOr<Model> Make(const std::string& name, const Flags& flags) {
  if (name == kGnmt) return MakeWholeGnmt(ReadGnmtOptions(flags), flags.Int("buckets"));
  if (name == kBigLstm) return MakeBigLstm(ReadBigLstmOptions(flags), Ops());
  return MakeModel(name, ReadOptions(name, flags), Ops());
}

absl::StatusOr<int> Write(const std::string& name, const CommandContext& context) {
  const Flags& flags = context.flags;
  const absl::StatusOr<Model> model = Make(name, flags);
  if (!model.ok()) return FlagError("{}: {}", name, std::string(model.status().message()));
  if (!flags.IsSet("output")) {
    context.out << PrintModel(*model, ProtoFormat::kText);
    return kExitFinished;
  }
  RETURN_IF_ERROR(SaveModel(*model, flags.Text("output")));
  return kExitFinished;
}

void AddNames(const std::vector<FlagDefinition>& flags, std::vector<std::string>& names) {
  for (const FlagDefinition& flag : flags) names.push_back(flag.name);
}

Command CommandOf(const std::string& name, const std::string& says) {
  Command command{name, says, "", {}, {}};
  command.run = [name](const CommandContext& context) { return Write(name, context); };
  return command;
}

ProgramDefinition BuildModel() {
  ProgramDefinition program{"build_model", "write a model as a graph proto", FlagsOfAll(), {}};
  for (const auto& flags : {FlagsOfInception(), FlagsOfWords(), FlagsOfBigLstm(), FlagsOfGnmt()}) {
    program.flags.insert(program.flags.end(), flags.begin(), flags.end());
  }
  for (const std::string& name : ModelNames()) {
    Command command = CommandOf(name, "see tools/models/models.h");
    AddNames(FlagsOfAll(), command.flags);
    if (name == kInception) AddNames(FlagsOfInception(), command.flags);
    program.commands.push_back(std::move(command));
  }
  Command big_lstm = CommandOf(kBigLstm, "see tools/models/big_lstm.h");
  big_lstm.flags = {"output", "batch", "dropout-rate"};
  AddNames(FlagsOfWords(), big_lstm.flags);
  AddNames(FlagsOfBigLstm(), big_lstm.flags);
  program.commands.push_back(std::move(big_lstm));
  Command gnmt = CommandOf(kGnmt, "see tools/models/gnmt.h");
  gnmt.flags = {"output", "batch", "dropout-rate", "label-smoothing"};
  AddNames(FlagsOfWords(), gnmt.flags);
  AddNames(FlagsOfGnmt(), gnmt.flags);
  program.commands.push_back(std::move(gnmt));
  return program;
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  using namespace partita;
  return RunMain(BuildModel(), argc, argv);
}
