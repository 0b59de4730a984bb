// Sessions of the small models of tests/equivalence.
#ifndef PARTITA_TESTS_RUNTIME_API_SESSION_FIXTURE_H_
#define PARTITA_TESTS_RUNTIME_API_SESSION_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "runtime/api/session.h"
#include "tests/equivalence/cases.h"

namespace partita {

inline Program SmallProgram(const std::string& model, const std::string& strategy, bool regularized = true) {
  const Case one{model, strategy, regularized};
  return *PlanOf(one, *MakeSmallModel(one, 1e-2), {});
}

inline SessionOptions SmallOptions() {
  SessionOptions options;
  options.seed = 11;
  options.threads_per_rank = 1;
  return options;
}

inline std::unique_ptr<Session> SmallSession(const std::string& model, const std::string& strategy,
                                             const SessionOptions& options = SmallOptions()) {
  auto session = Session::Start(SmallProgram(model, strategy), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

inline void StageTraining(Session& session, const StepInputs& batch) {
  EXPECT_TRUE(session.StageInput(kTrainEntry, "images", batch.images).ok());
  EXPECT_TRUE(session.StageInput(kTrainEntry, "labels", batch.labels).ok());
}

inline void StageEvaluation(Session& session, const StepInputs& batch) {
  EXPECT_TRUE(session.StageInput(kEvaluateEntry, "images", batch.images).ok());
  EXPECT_TRUE(session.StageInput(kEvaluateEntry, "labels", batch.labels).ok());
  EXPECT_TRUE(session.StageInput(kEvaluateEntry, "@sample_weight", batch.weights).ok());
}

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_API_SESSION_FIXTURE_H_
