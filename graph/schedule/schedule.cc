#include "graph/schedule/schedule.h"

#include <utility>

namespace partita {
namespace {

// The run of a box in its tensor: from its first to its last element.
struct Run {
  ByteRange range;
  bool gaps = false;
};

Run RunOf(int64_t offset, const Shape& shape, const Shape& start, const Shape& size, int64_t element_bytes) {
  int64_t first = 0;
  int64_t last = 0;
  int64_t elements = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (size[d] == 0) return {{offset, 0}};
    first = first * shape[d] + start[d];
    last = last * shape[d] + start[d] + size[d] - 1;
    elements *= size[d];
  }
  return {{offset + first * element_bytes, (last - first + 1) * element_bytes}, elements != last - first + 1};
}

class AccessList {
 public:
  explicit AccessList(const Launch& launch) : contents_(launch.contents) {}

  std::vector<Access> Take() { return std::move(accesses_); }

  void Add(const KernelLaunch& kernel) {
    const LocalNode& node = kernel.node;
    const size_t inputs = kernel.inputs.size(), outputs = kernel.outputs.size();
    accesses_.reserve(inputs + outputs + 1);
    for (size_t i = 0; i < inputs; ++i) {
      if (node.inputs[i]) AddOperand(node, i, *node.inputs[i], kernel.inputs[i], false);
    }
    for (size_t o = 0; o < outputs; ++o) AddOperand(node, inputs + o, node.outputs[o], kernel.outputs[o], true);
    AddRange({kernel.workspace, kernel.choice.workspace_bytes}, true, At(inputs + outputs, kernel.workspace));
  }

  void Add(const CopyLaunch& launch) {
    accesses_.reserve(2 * launch.copies.size() + 1);
    AddRange(launch.zero, true, At(0, launch.zero.offset));
    for (size_t c = 0; c < launch.copies.size(); ++c) {
      const BoxCopy& copy = launch.copies[c];
      AddRun(RunOf(copy.from, copy.from_shape, copy.from_start, copy.size, copy.element_bytes), false,
             At(1 + 2 * c, copy.from));
      AddRun(RunOf(copy.to, copy.to_shape, copy.to_start, copy.size, copy.element_bytes), true, At(2 + 2 * c, copy.to));
    }
  }

  void Add(const CollectiveLaunch& collective) {
    const int64_t element = SizeOf(collective.dtype);
    for (const bool write : {false, true}) {
      if (write && OnlyReads(collective)) continue;
      const int64_t operand = write ? collective.output : collective.input;
      const Held held = At(write, operand);
      for (const BucketMember& member : collective.members) {
        const int64_t at = operand + member.first;
        AddRange({at, member.bytes}, write, {write ? member.sum : member.summand, at});
      }
      for (const PlacedBox& placed : write ? collective.receive_boxes : collective.send_boxes) {
        const Box& box = placed.box;
        if (!box.empty()) {
          AddRun(RunOf(operand + placed.first * element, placed.shape, box.offset, box.size, element), write, held);
        }
      }
      if (!collective.members.empty() || !collective.send_boxes.empty()) continue;
      AddRange({operand, (write ? collective.output_count : collective.input_count) * element}, write, held);
    }
  }

  void Add(const HostLaunch&) {}

 private:
  struct Held {
    TensorId tensor = kNoTensor;
    int64_t origin = 0;
  };

  Held At(size_t operand, int64_t address) const {
    if (operand >= contents_.size() || contents_[operand].tensor == kNoTensor) return {};
    return {contents_[operand].tensor, address - contents_[operand].first};
  }

  void AddRange(const ByteRange& range, bool write, const Held& held) { AddRun({range}, write, held); }

  void AddRun(const Run& run, bool write, const Held& held) {
    if (run.range.offset < 0 || run.range.bytes <= 0) return;
    accesses_.push_back({run.range, write, {}, held.tensor, held.origin, run.gaps});
  }

  // An operand of a kernel that lies at `offset`.
  void AddOperand(const LocalNode& node, size_t operand, const LocalTensor& tensor, int64_t offset, bool write) {
    const Held held = At(operand, offset);
    if (node.within.empty() || offset < 0) return AddRange({offset, tensor.bytes()}, write, held);
    const Box& within = node.within[operand];
    Shape start = tensor.box.offset;
    for (size_t d = 0; d < start.size(); ++d) start[d] -= within.offset[d];
    const int64_t element = SizeOf(tensor.dtype);
    const Run run = RunOf(offset, within.size, start, tensor.box.size, element);
    AddRun(run, write, held);
    if (run.range.bytes == 0 || !node.HasColumns(operand)) return;
    const int64_t pitch = within.size.back() * element;
    accesses_.back().columns = {pitch, run.range.offset % pitch, tensor.shape().back() * element};
    accesses_.back().gaps = false;
  }

  const std::vector<Content>& contents_;
  std::vector<Access> accesses_;
};

}  // namespace

std::vector<Access> AccessesOf(const Launch& launch) {
  AccessList list(launch);
  std::visit([&](const auto& work) { list.Add(work); }, launch.work);
  return list.Take();
}

int64_t OffsetOf(const Schedule& schedule, const Graph& entry, const std::string& value_name) {
  const ValueId value = entry.Find(value_name);
  return value == kNoValue ? -1 : schedule.values[value].offset;
}

}  // namespace partita
