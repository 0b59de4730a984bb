// All that a scheduler knows of kernels (docs/design.md 5.1): which one computes a node, how much workspace it needs,
// whether it is deterministic. A backend fills a catalogue from its libraries; MakeSchedule stays pure.
#ifndef PARTITA_GRAPH_IR_KERNEL_CATALOGUE_H_
#define PARTITA_GRAPH_IR_KERNEL_CATALOGUE_H_

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"

namespace partita {

// What one rank holds of a value: its box (offset and local sizes) of the global shape.
struct LocalTensor {
  DType dtype = DType::kF32;
  Shape global;
  Box box;

  const Shape& shape() const { return box.size; }
  int64_t elements() const { return box.elements(); }
  int64_t bytes() const { return elements() * SizeOf(dtype); }
};

// One rank's share of a node: the same op and attributes, local tensors. Absent optional inputs are nullopt. Inputs and
// outputs may be empty; a node all of whose outputs are empty is never launched.
struct LocalNode {
  std::string name;  // of the (global) node
  const OpDefinition* op = nullptr;
  Attributes attributes;
  std::vector<std::optional<LocalTensor>> inputs;
  std::vector<LocalTensor> outputs;
  // The number of nodes launched as one: inputs and outputs are those of the first, then those of the second, and so
  // on.
  int members = 1;
  std::vector<Attributes> member_attributes = {};  // of each, where they may differ (OpDefinition::members_differ)
  bool replicated = false;                         // other ranks compute an output as well; results must be bitwise
                                                   // identical
  int32_t micro_batch = -1;                        // Node::micro_batch
  // Of a part of a node (OpDefinition::windowed) and of one that reads or writes columns of wider rows
  // (KernelCatalogue::TakesColumns): the boxes in whose memory, dense and row-major, its operands lie, the inputs and
  // then the outputs; their addresses are those of these boxes. Empty: every tensor fills its own memory.
  std::vector<Box> within = {};

  // Nullptr: an input that is absent.
  const LocalTensor* operand(size_t place) const {
    if (place >= inputs.size()) return &outputs[place - inputs.size()];
    return inputs[place] ? &*inputs[place] : nullptr;
  }
  // Whether an operand that is there is columns of rows that are wider, and fills its memory but for that.
  bool HasColumns(size_t place) const {
    if (within.empty() || within[place].size.empty()) return false;
    const Box& box = operand(place)->box;
    return box.size.back() != within[place].size.back() &&
           std::equal(box.size.begin(), box.size.end() - 1, within[place].size.begin());
  }
};

// One of them alone.
inline LocalNode MemberOf(const LocalNode& node, int member) {
  const auto part = [&](const auto& all) {
    const auto count = static_cast<std::ptrdiff_t>(all.size()) / node.members;
    return std::decay_t<decltype(all)>(all.begin() + member * count, all.begin() + (member + 1) * count);
  };
  LocalNode alone{node.name, node.op, node.attributes, part(node.inputs), part(node.outputs)};
  if (!node.member_attributes.empty()) alone.attributes = node.member_attributes[static_cast<size_t>(member)];
  alone.replicated = node.replicated;
  alone.micro_batch = node.micro_batch;
  return alone;
}

struct KernelChoice {
  std::string kernel;           // "onednn_convolution", "reference_convolution", ...
  int64_t workspace_bytes = 0;  // scratch memory that the launch may use; 64-byte aligned by the planner
  bool deterministic = true;    // equal inputs give bitwise identical outputs
  // A note for users: which preferred kernel was refused and why, and whether the workspace is an estimate.
  std::string remark = "";
};

// Thread-compatible.
class KernelCatalogue {
 public:
  virtual ~KernelCatalogue() = default;
  // The first kernel of the op's list that takes the node. An error names the node and why each kernel refused.
  virtual absl::StatusOr<KernelChoice> Choose(const LocalNode& node) const = 0;
  // Whether a kernel that was chosen for the node (also with other operands in columns) can read or write this operand,
  // a place in LocalNode::within, as columns of wider rows. Others are never given any.
  virtual bool TakesColumns(const LocalNode& /*node*/, const KernelChoice& /*choice*/, size_t /*operand*/) const {
    return false;
  }
};

}  // namespace partita

#endif  // PARTITA_GRAPH_IR_KERNEL_CATALOGUE_H_
