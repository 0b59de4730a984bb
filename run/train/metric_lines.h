// The lines of --metrics, a JSON object each (docs/reference/outputs.md 7).
#ifndef PARTITA_RUN_TRAIN_METRIC_LINES_H_
#define PARTITA_RUN_TRAIN_METRIC_LINES_H_

#include <cstdint>
#include <string>

#include "proto/run.pb.h"
#include "run/start.h"
#include "run/train/training_end.h"
#include "runtime/api/session.h"
#include "runtime/telemetry/progress.h"
#include "runtime/train/trainer.h"

namespace partita {

// What runs, at its beginning.
std::string RunLine(const RunSpec& spec, const RunPlan& plan, const TrainingData& data, const TrainingOptions& options,
                    const Session& session);

std::string StepLine(const Progress& progress);
// `epoch`: passed so far, fractions included.
std::string EvaluationLine(int64_t step, double epoch, const Evaluation& evaluation);
std::string EpochLine(const EpochResult& epoch);
std::string SkipLine(int64_t step, const absl::Status& why);
std::string EndLine(int64_t step, const TrainingEnd& end);

}  // namespace partita

#endif  // PARTITA_RUN_TRAIN_METRIC_LINES_H_
