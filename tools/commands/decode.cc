// `trainer decode`: what saved parameters write for every sample of a test set, by beam search.
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <string>

#include "graph/make_program.h"
#include "run/beginning/beginning.h"
#include "run/beginning/loaded_model.h"
#include "run/data/data.h"
#include "run/data/text_data.h"
#include "run/plan/machine.h"
#include "run/plan/run_options.h"
#include "run/start.h"
#include "runtime/base/files.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/data/pairs/sentences.h"
#include "runtime/decode/set_decoder.h"
#include "runtime/train/stop_vote.h"
#include "tools/commands/commands.h"
#include "tools/commands/output/report.h"
#include "tools/commands/processes/finish_writing.h"
#include "tools/commands/processes/processes.h"
#include "tools/commands/processes/signals.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

constexpr int64_t kMostWords = 50;  // where the graph does not say it
constexpr std::chrono::seconds kBetweenLines(2);

// --most-words, or as many as the graph is trained on.
int64_t MostWords(const RunSpec& spec, const Graph& graph) {
  if (spec.predict().most_words() > 0) return spec.predict().most_words();
  const ValueId ids = graph.Find("ids");
  return ids == kNoValue || graph.type(ids).shape.size() != 2 ? kMostWords : graph.type(ids).shape[1];
}

SetDecoderOptions DecoderOptions(const RunSpec& spec, const Graph& graph) {
  SetDecoderOptions options;
  options.beam.beam = spec.predict().beam();
  options.beam.most_words = MostWords(spec, graph);
  options.beam.length_penalty = spec.predict().length_penalty();
  options.beam.coverage_penalty = spec.predict().coverage_penalty();
  options.beam.begin = kBeginId;
  options.beam.end = kEndId;
  options.beam.never = {kPaddingId, kBeginId};
  return options;
}

absl::StatusOr<Program> DecodingProgram(const RunSpec& spec, const RunPlan& plan) {
  ASSIGN_OR_RETURN(Program program, ProgramOf(spec, plan, {.votes = false}));
  for (const char* const entry : {kEncodeEntry, kStepEntry}) {
    if (program.Find(entry) != nullptr) continue;
    return InvalidArgument(
        "{}: the program has no entry point '{}'; decode writes what models that translate say, by their entry points "
        "'{}' and '{}'. What a language model says of a text, evaluate tells (its perplexity) and predict (its values)",
        spec.model().graph(), entry, kEncodeEntry, kStepEntry);
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

absl::StatusOr<int> RunDecode(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  ASSIGN_OR_RETURN(const RunPlan plan, PlanRun(spec, {.trains = false}));
  const Model& model = plan.model;
  ASSIGN_OR_RETURN(Program program, DecodingProgram(spec, plan));
  ASSIGN_OR_RETURN(const Vocabulary vocabulary, ReadVocabulary(spec.dataset().data(), {}));
  RETURN_IF_ERROR(CheckPairMarks(vocabulary));
  const EntryPoint& encode = *program.Find(kEncodeEntry);
  const auto reads = [&encode](const std::string& field) { return encode.FindInput(field) != nullptr; };
  ASSIGN_OR_RETURN(std::optional<LoadedModel> loaded, OpenLoaded(spec, model, /*trains=*/false));
  ASSIGN_OR_RETURN(
      const TrainingData data,
      ReadData(spec, model.graph, {.training = Need::kNo, .test = Need::kYes, .reads = reads, .empty_lines = true}));
  SetDecoderOptions options = DecoderOptions(spec, model.graph);
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                   StartSession(spec, plan, data, std::move(program), std::move(loaded), {EndProcess}));
  RETURN_IF_ERROR(WarnOfAnotherGraph(spec, *session));
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
  RETURN_IF_ERROR(WriteFileAtomically(spec.predict().output(), lines));
  context.out << fmt::format("{}: {}, beam {}; {} did not end within {}\n", spec.predict().output(),
                             Counted(decoded->size(), "sample"), options.beam.beam, cut,
                             Counted(options.beam.most_words, "word"));
  return static_cast<int>(kExitFinished);
}

}  // namespace

Command DecodeCommand() {
  return {"decode", "write a saved model's translations of a test set, by beam search", "GRAPH",
          Runs<RunSpec>(RunDecode)};
}

}  // namespace partita
