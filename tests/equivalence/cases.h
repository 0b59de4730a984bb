// The table 'equal to serial': small forms of the three shipped models (12 x 12 pixels, at most 8 channels, batch 7),
// each under every kind of strategy, with and without dropout and batch norm.
#ifndef PARTITA_TESTS_EQUIVALENCE_CASES_H_
#define PARTITA_TESTS_EQUIVALENCE_CASES_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/make_program.h"
#include "runtime/api/rank/gather.h"

namespace partita {

inline constexpr int64_t kBatch = 7;

struct Case {
  std::string model;  // lenet5, mlp, mini-inception
  // "2x1": data x model; "h2w2": 2 x 2 ranks over height, width, data (d), output (c) or input channels (i); "d2k2k3":
  // over data and, of the loss, classes (k); "rows4_grid", "all3_pair", "2x3_3x2", "islands", "apart_slices", ...:
  // several meshes; "placement" and "mixed": the shipped examples, 2 x 2; "micro", "micro_data", "gpipe", "1f1b",
  // "1f1b_overlap", "uneven_stages": micro-batches; "in_slices", "in_chain": from one rank to parts of a mesh
  std::string strategy;
  bool regularized = false;  // with dropout and batch norm

  std::string Name() const;  // for gtest
};
std::ostream& operator<<(std::ostream& out, const Case& one);

int64_t BatchOf(const Case& one);  // kBatch, but for pipelines

std::vector<Case> AllCases();

// The learning rate is constant.
absl::StatusOr<Model> MakeSmallModel(const Case& one, double learning_rate);
absl::StatusOr<Strategy> MakeStrategy(const Case& one, const Model& model);
// Every parameter is updated in parts over `data`: its slots lie there in parts.
void ShardUpdates(const Model& model, Strategy& strategy);
// The same model on one rank.
absl::StatusOr<Program> SerialProgram(const Model& model, const ProgramOptions& options);
absl::StatusOr<Program> PlanOf(const Case& one, const Model& model, const ProgramOptions& options);

// What one step is given: the same numbers in every floating type.
struct StepInputs {
  HostTensor images, labels;
  HostTensor weights;  // of evaluation: all samples count
};
StepInputs MakeBatch(uint64_t seed, int step, DType floating, int64_t samples = kBatch, int64_t channels = 1);

}  // namespace partita

#endif  // PARTITA_TESTS_EQUIVALENCE_CASES_H_
