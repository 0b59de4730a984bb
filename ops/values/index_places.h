// Finds where in the global batch an integer input lies: a label, an id or a length, for each sample or each place.
// Kernels of every backend use its words to refuse invalid values.
#ifndef PARTITA_OPS_VALUES_INDEX_PLACES_H_
#define PARTITA_OPS_VALUES_INDEX_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "graph/ir/kernel_catalogue.h"

namespace partita {

class IndexPlaces {
 public:
  IndexPlaces() = default;  // of none
  // Of input `input`, [n] or [n,t], of a rank's share of a node; absent, nothing is refused. A node of a
  // micro-batch has samples behind those of the micro-batches before it.
  IndexPlaces(const LocalNode& node, size_t input);

  // "sample 6 of the batch has label 9 at place 1, allowed are 0 to 8": of what stands at `position` of the rank's
  // share.
  absl::Status Refused(std::string_view what, int64_t position, int64_t found, int64_t most) const;

 private:
  int64_t first_sample_ = 0, first_place_ = 0;
  int64_t places_ = 1;  // of a sample here
  bool has_places_ = false;
};

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_INDEX_PLACES_H_
