// A plan beside the serial run of the same model, and what its collectives moved, layer by layer.
#ifndef PARTITA_TESTS_EQUIVALENCE_SIDE_BY_SIDE_H_
#define PARTITA_TESTS_EQUIVALENCE_SIDE_BY_SIDE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "graph/make_program.h"
#include "runtime/api/rank/gather.h"
#include "runtime/api/session.h"

namespace partita {

struct NamedTensors {
  HostTensor images, labels;
};

// Trains both in f64 from the same beginning for this number of steps, each from its own states or, with
// `same_beginning`, each step from the serial run's. An error says the first value, gradient or state that is not
// within 1e-10 of the serial one, or the first group whose counted bytes are not those predicted. With a seed the
// launches of both are delayed by it.
absl::Status RunSideBySide(const Model& model, const Strategy& strategy, int steps,
                           const std::function<NamedTensors(int step)>& batch,
                           std::optional<uint64_t> delay_seed = std::nullopt, bool same_beginning = false);

// The same of inputs with names of their own.
absl::Status RunSideBySide(const Model& model, const Strategy& strategy, int steps,
                           const std::function<std::map<std::string, HostTensor>(int step)>& batch,
                           std::optional<uint64_t> delay_seed = std::nullopt, bool same_beginning = false);

// Refuses a group whose bytes, counted since the last ResetCounters over this number of training steps, are not those
// predicted.
absl::Status CompareBytes(const Session& session, int64_t steps);

// The program of a step in f64, every all_reduce by itself.
absl::StatusOr<Program> StepOf(const Model& model, const Strategy& strategy);

// The highest end of anything that the plan of an entry point places on a rank, workspaces included.
int64_t HighestPlannedEnd(const Session& session, const std::string& entry, int rank);

// Wire bytes of a program's training step, all groups together, by (move, the value that it moves). A value's name ends
// before the first '@'. Loss, metrics and moves without bytes are not included.
using LayerBytes = std::map<std::pair<std::string, std::string>, int64_t>;
LayerBytes BytesOfLayers(const Program& program);

}  // namespace partita

#endif  // PARTITA_TESTS_EQUIVALENCE_SIDE_BY_SIDE_H_
