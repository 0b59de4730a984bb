#include "graph/schedule/schedule.h"

namespace partita {
namespace {

void Add(std::vector<Access>& accesses, int64_t offset, int64_t bytes, bool write) {
  if (offset >= 0 && bytes > 0) accesses.push_back({{offset, bytes}, write});
}

// The run of a box in its tensor: from its first to its last element.
ByteRange RunOf(int64_t offset, const Shape& shape, const Shape& start, const Shape& size, int64_t element_bytes) {
  int64_t first = 0;
  int64_t last = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (size[d] == 0) return {offset, 0};
    first = first * shape[d] + start[d];
    last = last * shape[d] + start[d] + size[d] - 1;
  }
  return {offset + first * element_bytes, (last - first + 1) * element_bytes};
}

// An operand of a kernel that lies at `offset`.
void AddOperand(std::vector<Access>& accesses, const LocalNode& node, size_t operand, const LocalTensor& tensor,
                int64_t offset, bool write) {
  if (node.within.empty() || offset < 0) return Add(accesses, offset, tensor.bytes(), write);
  const Box& within = node.within[operand];
  Shape start = tensor.box.offset;
  for (size_t d = 0; d < start.size(); ++d) start[d] -= within.offset[d];
  const int64_t element = SizeOf(tensor.dtype);
  const ByteRange run = RunOf(offset, within.size, start, tensor.box.size, element);
  Add(accesses, run.offset, run.bytes, write);
  if (run.bytes == 0 || !node.HasColumns(operand)) return;
  const int64_t pitch = within.size.back() * element;
  accesses.back().columns = {pitch, run.offset % pitch, tensor.shape().back() * element};
}

void AddKernel(std::vector<Access>& accesses, const KernelLaunch& kernel) {
  const LocalNode& node = kernel.node;
  accesses.reserve(kernel.inputs.size() + kernel.outputs.size() + 1);
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    if (node.inputs[i]) AddOperand(accesses, node, i, *node.inputs[i], kernel.inputs[i], false);
  }
  for (size_t o = 0; o < kernel.outputs.size(); ++o) {
    AddOperand(accesses, node, kernel.inputs.size() + o, node.outputs[o], kernel.outputs[o], true);
  }
  Add(accesses, kernel.workspace, kernel.choice.workspace_bytes, true);
}

void AddCopy(std::vector<Access>& accesses, const CopyLaunch& launch) {
  accesses.reserve(2 * launch.copies.size() + 1);
  Add(accesses, launch.zero.offset, launch.zero.bytes, true);
  for (const BoxCopy& copy : launch.copies) {
    const ByteRange from = RunOf(copy.from, copy.from_shape, copy.from_start, copy.size, copy.element_bytes);
    const ByteRange to = RunOf(copy.to, copy.to_shape, copy.to_start, copy.size, copy.element_bytes);
    Add(accesses, from.offset, from.bytes, false);
    Add(accesses, to.offset, to.bytes, true);
  }
}

void AddCollective(std::vector<Access>& accesses, const CollectiveLaunch& collective) {
  const int64_t element = SizeOf(collective.dtype);
  if (!collective.send_boxes.empty()) {
    for (const bool write : {false, true}) {
      const int64_t operand = write ? collective.output : collective.input;
      for (const PlacedBox& placed : write ? collective.receive_boxes : collective.send_boxes) {
        const Box& box = placed.box;
        const ByteRange run = RunOf(operand + placed.first * element, placed.shape, box.offset, box.size, element);
        if (!box.empty()) Add(accesses, run.offset, run.bytes, write);
      }
    }
    return;
  }
  accesses.reserve(2);
  Add(accesses, collective.input, collective.input_count * element, false);
  if (!OnlyReads(collective)) Add(accesses, collective.output, collective.output_count * element, true);
}

}  // namespace

const char* Name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kReduce:
      return "reduce";
    case CollectiveKind::kAllToAll:
      return "all_to_all";
  }
  return "?";
}

std::vector<Access> AccessesOf(const Launch& launch) {
  std::vector<Access> accesses;
  if (const auto* kernel = std::get_if<KernelLaunch>(&launch.work)) AddKernel(accesses, *kernel);
  if (const auto* copy = std::get_if<CopyLaunch>(&launch.work)) AddCopy(accesses, *copy);
  if (const auto* collective = std::get_if<CollectiveLaunch>(&launch.work)) AddCollective(accesses, *collective);
  return accesses;
}

int64_t OffsetOf(const Schedule& schedule, const Graph& entry, const std::string& value_name) {
  const ValueId value = entry.Find(value_name);
  return value == kNoValue ? -1 : schedule.values[value].offset;
}

}  // namespace partita
