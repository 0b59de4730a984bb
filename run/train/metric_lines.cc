#include "run/train/metric_lines.h"

#include <nlohmann/json.hpp>

#include "graph/value/mesh.h"
#include "run/host/host.h"
#include "run/host/revision.h"
#include "run/host/version.h"
#include "run/spec/flag.h"

namespace partita {
namespace {

// Numbers that are not finite become null.
using json = nlohmann::ordered_json;

json NewLine(const char* name) { return {{"event", name}, {"time", PreciseTimeNow()}}; }

// Bytes that are not UTF-8, as of a path, are replaced.
std::string LineOf(const json& object) { return object.dump(-1, ' ', false, json::error_handler_t::replace); }

json ToJson(const Metrics& metrics) {
  json object = json::object();
  for (const auto& [name, value] : metrics) object[name] = value;
  return object;
}

json ToJson(const GivenFlag& given) {
  switch (given.flag.type) {
    case FlagType::kBool:
    case FlagType::kInt:
    case FlagType::kBytes:
    case FlagType::kFloat:
      return json::parse(given.value, nullptr, /*allow_exceptions=*/false);
    default:
      return given.value;
  }
}

}  // namespace

std::string RunLine(const RunSpec& spec, const RunPlan& plan, const TrainingData& data, const TrainingOptions& options,
                    const Session& session) {
  const int64_t per_epoch = data.training->batches_per_epoch();
  json line = NewLine("run");
  line["version"] = kToolVersion;
  line["revision"] = std::string(kRevision);
  line["host"] = ThisHost().name;
  line["model"] = plan.model.name;
  line["graph"] = spec.model().graph();
  line["graph_hash"] = plan.graph_hash;
  line["strategy"] = ToString(session.program().meshes);
  line["ranks"] = session.ranks();
  line["device"] = session.gpu_name().empty() ? ThisHost().processor : session.gpu_name();
  line["batch"] = data.training->batch_rows();
  line["steps_per_epoch"] = per_epoch;
  line["steps"] = PlannedSteps(options, per_epoch);
  line["first_step"] = options.first_step;
  line["flags"] = json::object();
  for (const GivenFlag& given : GivenFlags(spec)) line["flags"][given.flag.name] = ToJson(given);
  return LineOf(line);
}

std::string StepLine(const Progress& progress) {
  json line = NewLine("step");
  line["step"] = progress.step;
  line["epoch"] = progress.epoch;
  line["loss"] = progress.loss;
  line["metrics"] = ToJson(progress.metrics);
  line["learning_rate"] = progress.learning_rate;
  if (progress.gradient_norm) line["gradient_norm"] = *progress.gradient_norm;
  line["samples_per_second"] = progress.samples_per_s;
  line["step_seconds"] = progress.step_ms / 1e3;
  line["memory_bytes"] = progress.memory_bytes;
  return LineOf(line);
}

std::string EvaluationLine(int64_t step, double epoch, const Evaluation& evaluation) {
  json line = NewLine("evaluation");
  line["step"] = step;
  line["epoch"] = epoch;
  line["loss"] = evaluation.loss;
  line["metrics"] = ToJson(evaluation.metrics);
  line["seconds"] = evaluation.seconds;
  return LineOf(line);
}

std::string EpochLine(const EpochResult& epoch) {
  json line = NewLine("epoch");
  line["step"] = (epoch.epoch - 1) * epoch.of + epoch.done;
  line["epoch"] = epoch.epoch;
  line["loss"] = epoch.loss;
  line["metrics"] = ToJson(epoch.metrics);
  line["learning_rate"] = epoch.learning_rate;
  line["samples"] = epoch.samples;
  line["seconds"] = epoch.seconds;
  return LineOf(line);
}

std::string SkipLine(int64_t step, const absl::Status& why) {
  json line = NewLine("skip");
  line["step"] = step;
  line["reason"] = std::string(why.message());
  return LineOf(line);
}

std::string EndLine(int64_t step, const TrainingEnd& end) {
  json line = NewLine("end");
  line["step"] = step;
  line["outcome"] = end.outcome();
  if (end.stopped_early) line["stopped_early"] = *end.stopped_early;
  if (!end.status().ok()) line["error"] = std::string(end.status().message());
  return LineOf(line);
}

}  // namespace partita
