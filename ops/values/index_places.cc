#include "ops/values/index_places.h"

#include <algorithm>
#include <string>

#include "runtime/base/status.h"

namespace partita {

IndexPlaces::IndexPlaces(const LocalNode& node, size_t input) {
  if (input >= node.inputs.size() || !node.inputs[input].has_value()) return;
  const LocalTensor& tensor = *node.inputs[input];
  first_sample_ = std::max(node.micro_batch, 0) * tensor.global[0] + tensor.box.offset[0];
  has_places_ = tensor.global.size() > 1;
  if (!has_places_) return;
  places_ = tensor.shape()[1];
  first_place_ = tensor.box.offset[1];
}

absl::Status IndexPlaces::Refused(std::string_view what, int64_t position, int64_t found, int64_t most) const {
  const std::string place = has_places_ ? fmt::format(" at place {}", first_place_ + position % places_) : "";
  return InvalidArgument("sample {} of the batch has {} {}{}, allowed are 0 to {}", first_sample_ + position / places_,
                         what, found, place, most);
}

}  // namespace partita
