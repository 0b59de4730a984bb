#include "ops/values/index_places.h"

#include <charconv>
#include <string>

#include "graph/ir/generated_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// What MicroBatchName has put into a name; 0 if nothing.
int64_t MicroBatchOf(std::string_view name) {
  std::string mark = MicroBatchName("", 0);
  mark.pop_back();
  const size_t at = name.find(mark);
  int64_t micro_batch = 0;
  if (at != std::string_view::npos) {
    std::from_chars(name.data() + at + mark.size(), name.data() + name.size(), micro_batch);
  }
  return micro_batch;
}

}  // namespace

IndexPlaces::IndexPlaces(const LocalNode& node, size_t input) {
  if (input >= node.inputs.size() || !node.inputs[input].has_value()) return;
  const LocalTensor& tensor = *node.inputs[input];
  first_sample_ = MicroBatchOf(node.name) * tensor.global[0] + tensor.box.offset[0];
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
