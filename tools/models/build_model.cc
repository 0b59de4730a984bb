// Writes a shipped model as a graph proto:
//
//   build_model mini-inception --batch=64 --output=mini_inception.pbtxt
#include <algorithm>
#include <cmath>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "runtime/base/status.h"
#include "tools/models/big_lstm.h"
#include "tools/models/build_model.pb.h"
#include "tools/models/convnext.h"
#include "tools/models/gnmt_entries.h"
#include "tools/models/models.h"
#include "tools/models/transformers/bert.h"
#include "tools/models/transformers/gpt2.h"
#include "tools/models/transformers/swin.h"
#include "tools/models/transformers/t5.h"
#include "tools/models/transformers/vit.h"
#include "tools/models/unet.h"
#include "tools/program/exit_code.h"
#include "tools/program/run_main.h"

namespace partita {
namespace {

constexpr char kInception[] = "inception-v3", kBigLstm[] = "big-lstm", kGnmt[] = "gnmt", kGpt2[] = "gpt2",
               kConvNext[] = "convnext-tiny", kBert[] = "bert-base", kVit[] = "vit-b-16", kSwin[] = "swin-t",
               kT5[] = "t5-small", kUnet[] = "unet";

// "model": as the model has it.
std::optional<bool> Choice(const std::string& choice) {
  if (choice == "model") return std::nullopt;
  return choice == "true";
}

int64_t NumberOr(int64_t given, int64_t of_model) { return given == 0 ? of_model : given; }

int64_t Widened(int64_t channels, double factor) {
  return std::max<int64_t>(1, std::llround(factor * static_cast<double>(channels)));
}

ModelOptions ReadOptions(const std::string& name, const BuildModelSpec& spec) {
  ModelOptions options;
  options.batch = spec.batch();
  options.image_size = spec.image_size();
  options.image_channels = spec.image_channels();
  options.classes = spec.classes();
  options.width = spec.width();
  options.channel_limit = spec.channel_limit();
  options.batch_norm = Choice(spec.batch_norm());
  if (spec.has_batch_norm_epsilon()) options.batch_norm_epsilon = spec.batch_norm_epsilon();
  if (spec.has_batch_norm_momentum()) options.batch_norm_momentum = spec.batch_norm_momentum();
  options.statistics_samples = spec.statistics_samples();
  options.dropout = Choice(spec.dropout());
  if (spec.has_dropout_rate()) options.dropout_rate = spec.dropout_rate();
  if (spec.has_label_smoothing()) options.label_smoothing = spec.label_smoothing();
  if (spec.has_average()) options.average = spec.average();
  options.local_updates = spec.local_updates();
  if (name != kInception) return options;
  options.auxiliary_head = spec.auxiliary_head();
  options.count_padding = spec.count_padding();
  options.last_pool_is_max = spec.last_pool() == "max";
  return options;
}

BigLstmOptions ReadBigLstmOptions(const BuildModelSpec& spec) {
  BigLstmOptions options;
  options.batch = spec.batch();
  options.places = spec.length();
  options.words = NumberOr(spec.vocabulary(), options.words);
  options.embedding = spec.embedding();
  options.units = NumberOr(spec.hidden(), options.units);
  options.projection = spec.projection();
  options.layers = NumberOr(spec.layers(), options.layers);
  options.samples = spec.samples();
  if (spec.has_dropout_rate()) options.dropout_rate = spec.dropout_rate();
  return options;
}

Gpt2Options ReadGpt2Options(const BuildModelSpec& spec) {
  Gpt2Options options;
  options.batch = spec.batch();
  if (spec.has_length()) options.length = spec.length();
  options.words = NumberOr(spec.vocabulary(), options.words);
  options.width = NumberOr(spec.hidden(), options.width);
  options.heads = spec.heads();
  options.layers = NumberOr(spec.layers(), options.layers);
  if (spec.has_dropout_rate()) options.dropout_rate = spec.dropout_rate();
  return options;
}

ConvNextOptions ReadConvNextOptions(const BuildModelSpec& spec) {
  ConvNextOptions options;
  options.batch = spec.batch();
  options.image_size = NumberOr(spec.image_size(), options.image_size);
  options.image_channels = NumberOr(spec.image_channels(), options.image_channels);
  options.classes = NumberOr(spec.classes(), options.classes);
  options.channels = Widened(options.channels, spec.width());
  if (spec.has_label_smoothing()) options.label_smoothing = spec.label_smoothing();
  return options;
}

BertOptions ReadBertOptions(const BuildModelSpec& spec) {
  BertOptions options;
  options.batch = spec.batch();
  if (spec.has_length()) options.length = spec.length();
  options.words = NumberOr(spec.vocabulary(), options.words);
  options.width = NumberOr(spec.hidden(), options.width);
  options.heads = spec.heads();
  options.layers = NumberOr(spec.layers(), options.layers);
  options.head = spec.head() == "mlm" ? BertHead::kWords : BertHead::kClassifier;
  options.classes = NumberOr(spec.classes(), options.classes);
  if (spec.has_dropout_rate()) options.dropout_rate = spec.dropout_rate();
  return options;
}

VitOptions ReadVitOptions(const BuildModelSpec& spec) {
  VitOptions options;
  options.batch = spec.batch();
  options.image_size = NumberOr(spec.image_size(), options.image_size);
  options.image_channels = NumberOr(spec.image_channels(), options.image_channels);
  options.patch = spec.patch();
  options.classes = NumberOr(spec.classes(), options.classes);
  options.width = NumberOr(spec.hidden(), options.width);
  options.heads = spec.heads();
  options.layers = NumberOr(spec.layers(), options.layers);
  if (spec.has_dropout_rate()) options.dropout_rate = spec.dropout_rate();
  if (spec.has_label_smoothing()) options.label_smoothing = spec.label_smoothing();
  return options;
}

SwinOptions ReadSwinOptions(const BuildModelSpec& spec) {
  SwinOptions options;
  options.batch = spec.batch();
  options.image_size = NumberOr(spec.image_size(), options.image_size);
  options.image_channels = NumberOr(spec.image_channels(), options.image_channels);
  if (spec.has_patch()) options.patch = spec.patch();
  options.window = spec.window();
  options.classes = NumberOr(spec.classes(), options.classes);
  options.width = Widened(options.width, spec.width());
  if (spec.has_label_smoothing()) options.label_smoothing = spec.label_smoothing();
  return options;
}

UnetOptions ReadUnetOptions(const BuildModelSpec& spec) {
  UnetOptions options;
  options.batch = spec.batch();
  options.image_size = NumberOr(spec.image_size(), options.image_size);
  options.image_channels = NumberOr(spec.image_channels(), options.image_channels);
  options.classes = NumberOr(spec.classes(), options.classes);
  options.channels = Widened(options.channels, spec.width());
  return options;
}

T5Options ReadT5Options(const BuildModelSpec& spec) {
  T5Options options;
  options.batch = spec.batch();
  if (spec.has_source_length()) options.source_places = spec.source_length();
  if (spec.has_target_length()) options.target_places = spec.target_length();
  options.words = NumberOr(spec.vocabulary(), options.words);
  options.width = NumberOr(spec.hidden(), options.width);
  if (spec.has_heads()) options.heads = spec.heads();
  options.layers = NumberOr(spec.layers(), options.layers);
  if (spec.has_dropout_rate()) options.dropout_rate = spec.dropout_rate();
  return options;
}

GnmtOptions ReadGnmtOptions(const BuildModelSpec& spec) {
  GnmtOptions options;
  options.batch = spec.batch();
  options.words = NumberOr(spec.vocabulary(), options.words);
  options.units = NumberOr(spec.hidden(), options.units);
  options.layers = NumberOr(spec.layers(), options.layers);
  options.source_places = spec.source_length();
  options.target_places = spec.target_length();
  options.steps = spec.steps();
  if (spec.has_dropout_rate()) options.dropout_rate = spec.dropout_rate();
  if (spec.has_label_smoothing()) options.label_smoothing = spec.label_smoothing();
  return options;
}

// With its further sizes and the steps of its decoder.
absl::StatusOr<Model> MakeWholeGnmt(const GnmtOptions& options, int64_t buckets) {
  ASSIGN_OR_RETURN(Model model, MakeGnmt(options, Ops()));
  const int64_t most = std::min({buckets, options.source_places, options.target_places});
  RETURN_IF_ERROR(AddGnmtEntries(options, most, Ops(), model));
  return model;
}

absl::StatusOr<Model> Make(const std::string& name, const BuildModelSpec& spec) {
  if (name == kGnmt) return MakeWholeGnmt(ReadGnmtOptions(spec), spec.buckets());
  if (name == kConvNext) return MakeConvNext(ReadConvNextOptions(spec), Ops());
  if (name == kGpt2) return MakeGpt2(ReadGpt2Options(spec), Ops());
  if (name == kBert) return MakeBert(ReadBertOptions(spec), Ops());
  if (name == kVit) return MakeVit(ReadVitOptions(spec), Ops());
  if (name == kSwin) return MakeSwin(ReadSwinOptions(spec), Ops());
  if (name == kT5) return MakeT5(ReadT5Options(spec), Ops());
  if (name == kUnet) return MakeUnet(ReadUnetOptions(spec), Ops());
  if (name == kBigLstm) return MakeBigLstm(ReadBigLstmOptions(spec), Ops());
  return MakeModel(name, ReadOptions(name, spec), Ops());
}

absl::StatusOr<int> Write(const std::string& name, const ContextOf<BuildModelSpec>& context) {
  const BuildModelSpec& spec = context.spec;
  const absl::StatusOr<Model> model = Make(name, spec);
  if (!model.ok()) return FlagError("{}: {}", name, std::string(model.status().message()));
  if (!spec.has_output()) {
    context.out << PrintModel(*model, ProtoFormat::kText);
    return kExitFinished;
  }
  RETURN_IF_ERROR(SaveModel(*model, spec.output()));
  return kExitFinished;
}

Command CommandOf(const std::string& name, const std::string& says) {
  return {name, says, "",
          Runs<BuildModelSpec>([name](const ContextOf<BuildModelSpec>& context) { return Write(name, context); })};
}

ProgramDefinition BuildModel() {
  ProgramDefinition program{"build_model", "write a model as a graph proto", BuildModelSpec::default_instance(), {}};
  for (const std::string& name : ModelNames()) {
    program.commands.push_back(CommandOf(name, "see tools/models/models.h"));
  }
  program.commands.push_back(CommandOf(kConvNext, "see tools/models/convnext.h"));
  program.commands.push_back(CommandOf(kBigLstm, "see tools/models/big_lstm.h"));
  program.commands.push_back(CommandOf(kGnmt, "see tools/models/gnmt.h"));
  program.commands.push_back(CommandOf(kGpt2, "see tools/models/transformers/gpt2.h"));
  program.commands.push_back(CommandOf(kBert, "see tools/models/transformers/bert.h"));
  program.commands.push_back(CommandOf(kVit, "see tools/models/transformers/vit.h"));
  program.commands.push_back(CommandOf(kSwin, "see tools/models/transformers/swin.h"));
  program.commands.push_back(CommandOf(kT5, "see tools/models/transformers/t5.h"));
  program.commands.push_back(CommandOf(kUnet, "see tools/models/unet.h"));
  return program;
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  using namespace partita;
  return RunMain(BuildModel(), argc, argv);
}
