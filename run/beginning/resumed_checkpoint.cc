#include "run/beginning/resumed_checkpoint.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "graph/read/class_weights.h"
#include "graph/text/text.h"
#include "run/spec/spec_error.h"
#include "runtime/base/number.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"

namespace partita {
namespace {

constexpr char kAuto[] = "auto";

std::optional<int64_t> StepOf(const std::string& text) {
  const std::optional<int64_t> step = NumberOf<int64_t>(text);
  return step.value_or(-1) < 0 ? std::nullopt : step;
}

// A line that a graph has not is none.
std::string LineAt(const std::vector<std::string>& lines, size_t place) {
  return place < lines.size() ? lines[place] : "none";
}

absl::Status CheckGraph(const SavedCheckpoint& saved, const std::string& graph, const Model& model) {
  const std::vector<std::string>& before = saved.record().graph;
  const std::vector<std::string> now = LinesOf(model);
  for (size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
    if (LineAt(before, i) == LineAt(now, i)) continue;
    return InvalidArgument("{}: is of another graph than {}: node {} is {}; there it is {}", saved.folder(), graph, i,
                           Printable(LineAt(before, i)), Printable(LineAt(now, i)));
  }
  return absl::OkStatus();
}

// What is to be known of it to go on; refused where it is not of this run.
absl::StatusOr<ResumedCheckpoint> Resume(const RunSpec& spec, const Model& model, SavedCheckpoint saved) {
  const std::string& graph = spec.model().graph();
  RETURN_IF_ERROR(CheckGraph(saved, graph, model));
  const std::string path = saved.folder() + "/" + kRecordFile;
  ASSIGN_OR_RETURN(ModelRecord record, ReadRecord(path, saved.record().metadata));
  if (!record.training || record.training->step != saved.record().step) {
    return InvalidArgument("{}: metadata partita.step: not found as {}, the step of the checkpoint", path,
                           saved.record().step);
  }
  Beginning beginning{.path = saved.folder(), .record = std::move(record), .goes_on = true, .restarts = true};
  RETURN_IF_ERROR(CheckInputs(graph, beginning, model));
  return ResumedCheckpoint{std::move(saved), std::move(beginning)};
}

absl::StatusOr<Resumption> Open(const RunSpec& spec, const Model& model, const std::string& folder) {
  ASSIGN_OR_RETURN(SavedCheckpoint saved, SavedCheckpoint::Open(folder));
  ASSIGN_OR_RETURN(ResumedCheckpoint resumed, Resume(spec, model, std::move(saved)));
  return Resumption{std::move(resumed), {}};
}

absl::Status NothingIn(const std::string& folder) {
  return InvalidArgument("flag --resume: {} has no checkpoint", folder);
}

absl::StatusOr<Resumption> OpenNewest(const RunSpec& spec, const Model& model, const std::string& folder) {
  ASSIGN_OR_RETURN(std::vector<int64_t> steps, CheckpointSteps(SystemDisk(), ResolveLink(folder)));
  if (steps.empty()) return NothingIn(folder);
  return Open(spec, model, StepFolder(folder, steps.back()));
}

// Reads all of it, so that a damaged byte is found before training depends on this checkpoint.
absl::StatusOr<SavedCheckpoint> OpenWhole(const std::string& folder) {
  ASSIGN_OR_RETURN(SavedCheckpoint saved, SavedCheckpoint::Open(folder));
  RETURN_IF_ERROR(saved.CheckTensors());
  return saved;
}

// Passes over a checkpoint that is not whole. One that is whole but of another run is an error, because older ones are
// of another run too; so is one of a newer version, because a program that reads it may continue with it.
absl::StatusOr<Resumption> OpenNewestWhole(const RunSpec& spec, const Model& model) {
  const std::string& folder = spec.checkpoints().checkpoint();
  ASSIGN_OR_RETURN(std::vector<int64_t> steps, CheckpointSteps(SystemDisk(), ResolveLink(folder)));
  Resumption resumption;
  std::ranges::reverse(steps);
  for (const int64_t step : steps) {
    absl::StatusOr<SavedCheckpoint> saved = OpenWhole(StepFolder(folder, step));
    if (absl::IsInvalidArgument(saved.status()) && !IsNewerVersion(saved.status())) {
      resumption.passed_over.push_back(fmt::format(
          "{}; this checkpoint is passed over, and set aside as damaged-{:012} where training writes the next one",
          std::string(saved.status().message()), step));
      continue;
    }
    RETURN_IF_ERROR(saved.status());
    ASSIGN_OR_RETURN(resumption.checkpoint, Resume(spec, model, *std::move(saved)));
    return resumption;
  }
  if (steps.empty()) return resumption;
  return InvalidArgument("{}: none of its {} is whole; {}", folder, Counted(steps.size(), "checkpoint"),
                         resumption.passed_over.front());
}

}  // namespace

std::vector<std::string> LinesOf(const Model& model) {
  std::vector<std::string> lines;
  const std::set<std::string> weights = ClassWeightStates(model.graph);
  std::istringstream text(ToText(model.graph));
  for (std::string line; std::getline(text, line);) {
    for (const std::string& name : weights) {  // whose values are those of flags and data
      if (line.starts_with(fmt::format("%{} = ", name))) line = fmt::format("%{} = state", name);
    }
    lines.push_back(line);
  }
  for (const ModelEntry& entry : model.entries) {
    if (!entry.is_size()) continue;
    std::string& line = lines.emplace_back("size " + entry.name);
    for (const auto& [input, row] : entry.rows) line += fmt::format(" {}{}", input, ToString(row));
  }
  return lines;
}

absl::Status CheckResumeFlags(const RunSpec& spec) {
  if (!spec.checkpoints().has_resume()) return absl::OkStatus();
  const std::string& resume = spec.checkpoints().resume();
  if ((resume != kAuto && !StepOf(resume)) || spec.checkpoints().has_checkpoint()) return absl::OkStatus();
  return FlagError("flag --resume={}: of which folder? --checkpoint is needed", resume);
}

absl::StatusOr<Resumption> OpenResumed(const RunSpec& spec, const Model& model) {
  if (!spec.checkpoints().has_resume()) return Resumption{};
  const std::string& resume = spec.checkpoints().resume();
  const std::optional<int64_t> step = StepOf(resume);
  if (resume == kAuto) return OpenNewestWhole(spec, model);
  std::string folder = step ? StepFolder(spec.checkpoints().checkpoint(), *step) : resume;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, SystemDisk().List(ResolveLink(folder)));
  const bool whole = std::ranges::find(names, kRecordFile) != names.end();
  if (!whole && !step) return OpenNewest(spec, model, folder);
  if (!whole) return NothingIn(folder);
  return Open(spec, model, folder);
}

}  // namespace partita
