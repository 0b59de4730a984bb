// `trainer decode`: what saved parameters write for every sample of a test set, by beam search.
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <string>

#include "graph/make_program.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "runtime/data/pairs/sentences.h"
#include "runtime/decode/set_decoder.h"
#include "runtime/train/stop_vote.h"
#include "tools/commands/commands.h"
#include "tools/commands/input/beginning.h"
#include "tools/commands/input/data/data.h"
#include "tools/commands/input/data/text_data.h"
#include "tools/commands/input/inputs.h"
#include "tools/commands/input/loaded_model.h"
#include "tools/commands/input/machine.h"
#include "tools/commands/input/run_options.h"
#include "tools/commands/output/outputs.h"
#include "tools/commands/processes/finish_writing.h"
#include "tools/commands/processes/processes.h"
#include "tools/commands/processes/signals.h"
#include "tools/commands/processes/start_session.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

constexpr int64_t kMostWords = 50;  // where the graph does not say it
constexpr std::chrono::seconds kBetweenLines(2);

// --most-words, or as many as the graph is trained on.
int64_t MostWords(const Flags& flags, const Graph& graph) {
  if (flags.Int("most-words") > 0) return flags.Int("most-words");
  const ValueId ids = graph.Find("ids");
  return ids == kNoValue || graph.type(ids).shape.size() != 2 ? kMostWords : graph.type(ids).shape[1];
}

SetDecoderOptions DecoderOptions(const Flags& flags, const Graph& graph) {
  SetDecoderOptions options;
  options.beam.beam = flags.Int("beam");
  options.beam.most_words = MostWords(flags, graph);
  options.beam.length_penalty = flags.Float("length-penalty");
  options.beam.coverage_penalty = flags.Float("coverage-penalty");
  options.beam.begin = kBeginId;
  options.beam.end = kEndId;
  options.beam.never = {kPaddingId, kBeginId};
  return options;
}

absl::StatusOr<Program> DecodingProgram(const Flags& flags, const Model& model, const Strategy& strategy,
                                        const MachineSpeed& speed) {
  ASSIGN_OR_RETURN(Program program, MakeProgramOf(flags, model, strategy, ReadProgramOptions(flags, speed)));
  for (const char* const entry : {kEncodeEntry, kStepEntry}) {
    const absl::Status there = program.PlaceOf(entry).status();
    if (!there.ok()) return WithContext(flags.arguments()[0], there);
  }
  return OnlyEntries(std::move(program), {kEncodeEntry, kStepEntry});
}

// Says now and then in the log how far it is.
std::function<void(int64_t)> LogProgress(const Session& session, int64_t samples) {
  if (!Speaks(session)) return nullptr;
  return [samples, said = std::chrono::steady_clock::now()](int64_t done) mutable {
    const auto now = std::chrono::steady_clock::now();
    if (now - said < kBetweenLines) return;
    said = now;
    spdlog::info("{} of {} samples are decoded", done, samples);
  };
}

std::string LineOf(const Hypothesis& hypothesis, const Vocabulary& vocabulary) {
  std::vector<std::string_view> words;
  for (const int32_t word : hypothesis.words) words.push_back(vocabulary.Word(word));
  return fmt::format("{}\n", fmt::join(words, " "));
}

absl::Status CheckFlags(const Flags& flags) {
  if (!flags.IsSet("load")) return FlagError("decode needs --load=FILE: what train --save wrote");
  if (!flags.IsSet("output")) return FlagError("decode needs --output=FILE: a line for each sample");
  if (!flags.IsSet("data")) return FlagError("decode needs --data=FOLDER with a vocabulary.txt");
  if (flags.Text("long-pairs") == "skip") {
    return FlagError(
        "decode writes a line for each pair; with --long-pairs=skip some would be missing, with cut none is");
  }
  return CheckOutputs(flags, {"output"});
}

absl::StatusOr<int> RunDecode(const CommandContext& context) {
  const Flags& flags = context.flags;
  RETURN_IF_ERROR(SetUpLogging(flags));
  RETURN_IF_ERROR(CheckAcceleration(flags));
  RETURN_IF_ERROR(CheckDevice(flags));
  RETURN_IF_ERROR(CheckFlags(flags));
  ASSIGN_OR_RETURN(Model model, ReadModel(flags));
  AssumeScheduleLength(model);
  ASSIGN_OR_RETURN(const bool processes, IsOneOfSeveral());
  ASSIGN_OR_RETURN(const std::optional<Machine> machine, ReadMachine(flags, processes));
  ASSIGN_OR_RETURN(const Strategy strategy, ReadStrategy(flags, model.graph, machine));
  ASSIGN_OR_RETURN(const MachineSpeed speed, SpeedFor(flags, machine, strategy.mesh.size()));
  ASSIGN_OR_RETURN(Program program, DecodingProgram(flags, model, strategy, speed));
  ASSIGN_OR_RETURN(const Vocabulary vocabulary, ReadVocabulary(flags.Text("data"), {}));
  RETURN_IF_ERROR(CheckPairMarks(vocabulary));
  const EntryPoint& encode = *program.Find(kEncodeEntry);
  const auto reads = [&encode](const std::string& field) { return encode.FindInput(field) != nullptr; };
  ASSIGN_OR_RETURN(std::optional<LoadedModel> loaded, OpenLoaded(flags, model, /*trains=*/false));
  ASSIGN_OR_RETURN(
      const TrainingData data,
      ReadData(flags, model.graph, {.training = Need::kNo, .test = Need::kYes, .reads = reads, .empty_lines = true}));
  SetDecoderOptions options = DecoderOptions(flags, model.graph);
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      StartSession(flags, strategy, data, std::move(program), ReadSessionOptions(flags, speed), std::move(loaded)));
  const StopSignals signals;
  options.on_progress = LogProgress(*session, data.test->samples());
  ASSIGN_OR_RETURN(const auto decoded, DecodeSet(*session, *data.test, options, &signals.flag()));
  ASSIGN_OR_RETURN(const int stopped_by, VoteToStop(*session, &signals.flag()));
  if (!decoded) return ExitCodeOfSignal(stopped_by);
  if (!Speaks(*session)) return static_cast<int>(kExitFinished);
  const FinishWriting finish;
  std::string lines;
  int64_t cut = 0;
  for (size_t sample = 0; sample < decoded->size(); ++sample) {
    const Hypothesis& hypothesis = (*decoded)[sample];
    const bool empty = data.test->is_empty(static_cast<int64_t>(sample));
    lines += empty ? "\n" : LineOf(hypothesis, vocabulary);
    cut += empty || hypothesis.ended ? 0 : 1;
  }
  RETURN_IF_ERROR(WriteFileAtomically(flags.Text("output"), lines));
  context.out << fmt::format("{}: {} samples, beam {}; {} did not end within {} words\n", flags.Text("output"),
                             decoded->size(), options.beam.beam, cut, options.beam.most_words);
  return static_cast<int>(kExitFinished);
}

}  // namespace

Command DecodeCommand() {
  Command command{"decode", "write a saved model's translations of a test set, by beam search", "GRAPH", ModelFlags(),
                  RunDecode};
  for (const auto& flags : {StrategyFlags(), RunFlags(), AccelerationFlags(), DataFlags(), JobFlags(), LoadFlags()}) {
    command.flags.insert(command.flags.end(), flags.begin(), flags.end());
  }
  for (const char* flag : {"output", "beam", "length-penalty", "coverage-penalty", "most-words", "delay-seed"}) {
    command.flags.push_back(flag);
  }
  return command;
}

}  // namespace partita
