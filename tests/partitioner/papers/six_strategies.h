// The time of an epoch in each of ParaDL's six strategies, in closed form: A. Kahira et al. (docs/papers.md 14.3).
#ifndef PARTITA_TESTS_PARTITIONER_PAPERS_SIX_STRATEGIES_H_
#define PARTITA_TESTS_PARTITIONER_PAPERS_SIX_STRATEGIES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "partitioner/cost/collective_cost.h"
#include "tests/partitioner/papers/layers.h"

namespace partita {

enum class ParallelForm : uint8_t { kData, kSpatial, kPipeline, kFilter, kChannel, kDataFilter, kDataSpatial };
inline constexpr ParallelForm kParallelForms[] = {
    ParallelForm::kData,    ParallelForm::kSpatial,    ParallelForm::kPipeline,   ParallelForm::kFilter,
    ParallelForm::kChannel, ParallelForm::kDataFilter, ParallelForm::kDataSpatial};
const char* Name(ParallelForm form);

// Seconds of a layer on one device.
struct LayerSeconds {
  double forward = 0, backward = 0;  // of one sample
  double update = 0;                 // of its weights
};

struct EpochOptions {
  int64_t samples = 1;  // D, of the data set
  int64_t batch = 1;    // B, global
  int devices = 1;      // p
  int replicas = 1;     // of kDataFilter and kDataSpatial: p1 of the p; the rest splits each replica
  int segments = 1;     // S, of kPipeline: micro-batches
  int element_bytes = 4;
};

struct EpochCost {
  double compute = 0, communication = 0;  // seconds

  double seconds() const { return compute + communication; }
};

// `seconds` has an entry for each layer. A pipeline has a stage for each device, of consecutive layers, cut so that the
// longest stage is as short as can be. kInvalidArgument: layers that are fewer than a pipeline's devices, devices that
// replicas do not divide, more filters' or channels' parts than the narrowest layer that is cut has.
absl::StatusOr<EpochCost> CostOfEpoch(ParallelForm form, const std::vector<Layer>& layers,
                                      const std::vector<LayerSeconds>& seconds, const EpochOptions& options,
                                      const AlphaBeta& link);

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_PAPERS_SIX_STRATEGIES_H_
