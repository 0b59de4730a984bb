// Where the layers of a training step lie in a worker group. Forward and backward are tied together, layer by layer, so
// the whole does not fall into blocks; each of them alone does, and so does the step with each layer's two parts as
// one. The best of what these searches find, judged on the whole, is taken, and its layers are moved one by one. What
// the best forward and the best backward say of the whole (TwoPartsBound) no step is shorter than. What is not proven
// to be the best a solver of integer programs may better, or prove.
#ifndef PARTITA_PARTITIONER_CHOOSE_PLACE_STEP_H_
#define PARTITA_PARTITIONER_CHOOSE_PLACE_STEP_H_

#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/search/answer.h"
#include "partitioner/search/placement/program_solver.h"
#include "partitioner/tables/stage_tables.h"

namespace partita {

// By layer, the rank of its group of `model`. `bytes`: that a rank may use. `solver`: nullptr: there is none; its
// errors are errors.
absl::StatusOr<Answer<std::vector<int>>> PlaceStep(const WholeLayers& layers, int model, double bytes,
                                                   const ProgramSolver& solver = nullptr);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_CHOOSE_PLACE_STEP_H_
