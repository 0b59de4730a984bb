// One step for each batch of a set.
#ifndef PARTITA_RUNTIME_TRAIN_SET_WALK_H_
#define PARTITA_RUNTIME_TRAIN_SET_WALK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/api/session.h"
#include "runtime/data/batch_source.h"

namespace partita {

// A batch of a set, and the entry point that took it.
struct WalkedBatch {
  int64_t number = 0;
  std::string entry;
};

// Takes the results of a step (Session::Finish).
using BatchEnd = std::function<absl::Status(const WalkedBatch& batch)>;

// Collective. Walks `source` (of BatchMode::kEvaluation) once, each batch staged and its step begun while the step
// before runs; of several sizes of the graph each batch goes to its own. States that steps of `use` change (what they
// carry from batch to batch) are zeros at the beginning.
// False if `*stop` (may be null) became non-zero before the end. An error is one of the feed
// (runtime/train/batch_feed.h), of the source, or of a step.
absl::StatusOr<bool> WalkSet(Session& session, const std::string& use, std::shared_ptr<const BatchSource> source,
                             const std::atomic<int>* stop, const BatchEnd& end);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_SET_WALK_H_
