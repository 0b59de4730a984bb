// Whether the other framework trains the same network: one step of both in f32, from the same parameters, on the same
// batch, without dropout.
#ifndef PARTITA_TOOLS_BENCHMARKS_MODELS_AGREEMENT_H_
#define PARTITA_TOOLS_BENCHMARKS_MODELS_AGREEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/benchmarks/models/model_case.h"

namespace partita {

// Errors are relative, of whole tensors; those of gradients against a step in f64.
struct Agreement {
  int64_t batch = 0;  // of the step that was compared; 0: none was
  double loss_difference = 0;
  int64_t gradients = 0;
  double gradient_error = 0;  // ours, of the gradient that comes nearest to what is allowed
  double peer_error = 0;      // the peer's own, of the same
  std::string largest;        // the name of its parameter
};

// What is needed: of Python and tools/peer/agree.py, and the program that is tools/peer/step_values.
struct AgreementPrograms {
  std::vector<std::string> script;
  std::string step_values;
};

// kDataLoss (exit code 6): they differ by more than rounding does, losses by 1e-5, a gradient by twice the peer's own
// error, or 1e-2: a value that one rounds below zero and the other above, where relu has its edge, makes some 1e-3.
// kInternal: the script failed, which says why on standard error.
absl::StatusOr<Agreement> CheckAgreement(const ModelCase& measured, const AgreementPrograms& programs);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_MODELS_AGREEMENT_H_
