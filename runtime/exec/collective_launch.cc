#include "runtime/exec/collective_launch.h"

#include "runtime/base/check.h"

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
  switch (launch.kind) {
    case CollectiveKind::kAllReduce:
      return communicator.AllReduce(in, out, launch.reduction, stream);
    case CollectiveKind::kAllGather:
      return communicator.AllGather(in, out, launch.send_counts, stream);
    case CollectiveKind::kReduceScatter:
      return communicator.ReduceScatter(in, out, launch.send_counts, launch.reduction, stream);
    case CollectiveKind::kBroadcast:
      return communicator.Broadcast(in, out, launch.root, stream);
    case CollectiveKind::kReduce:
      return communicator.Reduce(in, out, launch.root, launch.reduction, stream);
    case CollectiveKind::kAllToAll:
      if (!launch.send_boxes.empty()) {
        return communicator.AllToAllBlocks(in, BlocksOf(launch.send_boxes), out, BlocksOf(launch.receive_boxes),
                                           stream);
      }
      return communicator.AllToAll(in, launch.send_counts, out, launch.receive_counts, stream);
  }
  CHECK(false);
  return absl::OkStatus();
}

}  // namespace partita
