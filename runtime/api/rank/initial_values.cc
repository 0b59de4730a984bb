#include "runtime/api/rank/initial_values.h"

#include <algorithm>
#include <thread>

#include "ops/values/initializer.h"

namespace partita {
namespace {

// A thread is worth its start for so many draws, of some 10 ns each.
constexpr int64_t kLeastElements = 16384;

}  // namespace

std::vector<Box> PiecesOf(const Box& box, int64_t pieces) {
  const auto cut = std::find_if(box.size.begin(), box.size.end(), [](int64_t size) { return size > 1; });
  if (box.empty() || cut == box.size.end()) return {box};
  const auto d = static_cast<size_t>(cut - box.size.begin());
  const int64_t count = std::clamp<int64_t>(pieces, 1, *cut);
  std::vector<Box> parts(static_cast<size_t>(count), box);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t begin = box.size[d] * i / count;
    parts[i].offset[d] += begin;
    parts[i].size[d] = box.size[d] * (i + 1) / count - begin;
  }
  return parts;
}

absl::Status DrawInitialValues(const Attributes& attributes, const LocalTensor& tensor, uint64_t seed,
                               const std::string& drawn_as, int64_t threads, void* data) {
  const std::vector<Box> pieces = PiecesOf(tensor.box, std::min(threads, tensor.elements() / kLeastElements));
  std::vector<absl::Status> drawn(pieces.size());
  const auto draw = [&](size_t piece, char* to) {
    drawn[piece] = Initialize(attributes, tensor.dtype, tensor.global, pieces[piece], seed, drawn_as, to);
  };
  {
    std::vector<std::jthread> others;  // joined at the end, also when one of them cannot be started
    char* to = static_cast<char*>(data);
    for (size_t i = 0; i + 1 < pieces.size(); ++i) {
      others.emplace_back(draw, i, to);
      to += pieces[i].elements() * SizeOf(tensor.dtype);
    }
    draw(pieces.size() - 1, to);
  }
  const auto failed = std::find_if(drawn.begin(), drawn.end(), [](const absl::Status& status) { return !status.ok(); });
  return failed == drawn.end() ? absl::OkStatus() : *failed;
}

}  // namespace partita
