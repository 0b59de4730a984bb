// Writes a shipped model as a graph proto:
//
//   build_model mini-inception --batch=64 --output=mini_inception.pbtxt
#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "tools/models/models.h"
#include "tools/program/exit_code.h"
#include "tools/program/run_main.h"

namespace partita {
namespace {

const std::vector<FlagDefinition>& ModelFlags() {
  static const auto& flags = *new std::vector<FlagDefinition>{
      PathFlag("output", "file to write: .pbtxt, .textproto, .pb or .json; unset: text on standard output"),
      IntFlag("batch", "64", 1, 1 << 24, "global batch"),
      IntFlag("image-size", "28", 1, 4096, "pixels, square"),
      IntFlag("channel-limit", "0", 0, 1 << 20, "the most channels or units of a hidden layer; 0: no limit"),
      IntFlag("statistics-samples", "0", 0, 1 << 24, "samples of a batch norm group; 0: the whole batch"),
      ChoiceFlag("dropout", "model", {"model", "true", "false"}, "with dropout; model: as the model says"),
      ChoiceFlag("batch-norm", "model", {"model", "true", "false"}, "with batch norm; model: as the model says"),
  };
  return flags;
}

std::optional<bool> Choice(const Flags& flags, const std::string& name) {
  if (flags.Text(name) == "model") return std::nullopt;
  return flags.Text(name) == "true";
}

absl::StatusOr<int> Write(const std::string& name, const CommandContext& context) {
  const Flags& flags = context.flags;
  ModelOptions options;
  options.batch = flags.Int("batch");
  options.image_size = flags.Int("image-size");
  options.channel_limit = flags.Int("channel-limit");
  options.statistics_samples = flags.Int("statistics-samples");
  options.dropout = Choice(flags, "dropout");
  options.batch_norm = Choice(flags, "batch-norm");
  const absl::StatusOr<Model> model = MakeModel(name, options, Ops());
  if (!model.ok()) return FlagError("{}: {}", name, std::string(model.status().message()));
  if (!flags.IsSet("output")) {
    context.out << PrintModel(*model, ProtoFormat::kText);
    return kExitFinished;
  }
  RETURN_IF_ERROR(SaveModel(*model, flags.Text("output")));
  return kExitFinished;
}

ProgramDefinition BuildModel() {
  ProgramDefinition program{"build_model", "writes a model as a graph proto", ModelFlags(), {}};
  for (const std::string& name : ModelNames()) {
    Command command{name, "see tools/models/models.h", "", {}, {}};
    for (const FlagDefinition& flag : ModelFlags()) command.flags.push_back(flag.name);
    command.run = [name](const CommandContext& context) { return Write(name, context); };
    program.commands.push_back(std::move(command));
  }
  return program;
}

}  // namespace
}  // namespace partita

int main(int argc, char** argv) {
  using namespace partita;
  return RunMain(BuildModel(), argc, argv);
}
