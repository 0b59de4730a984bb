#include "runtime/exec/collective_launch.h"

namespace partita {
namespace {

std::vector<StridedBlock> BlocksOf(const std::vector<PlacedBox>& boxes) {
  std::vector<StridedBlock> blocks;
  for (const auto& [first, shape, box] : boxes) {
    StridedBlock& block = blocks.emplace_back(StridedBlock{first, {}});
    block.dimensions.resize(shape.size());
    int64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
      block.dimensions[d] = {box.size[d], stride};
      block.begin += box.offset[d] * stride;
    }
    if (box.empty()) block = {};
  }
  return blocks;
}

}  // namespace

absl::Status EnqueueCollective(const CollectiveLaunch& launch, void* arena, Communicator& communicator,
                               Stream& stream) {
  char* const base = static_cast<char*>(arena);
  const ConstBuffer in{launch.input < 0 ? nullptr : base + launch.input, launch.input_count, launch.dtype};
  const Buffer out{launch.output < 0 ? nullptr : base + launch.output, launch.output_count, launch.dtype};
  return communicator.Enqueue({launch.kind, launch.reduction, launch.root, launch.send_counts, launch.receive_counts,
                               BlocksOf(launch.send_boxes), BlocksOf(launch.receive_boxes)},
                              in, out, stream);
}

}  // namespace partita
