#include "tests/graph/schedule/schedule_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/ir/op_definition.h"

namespace partita {
namespace {

std::string ToText(const Box& box) { return ToString(box.offset) + "+" + ToString(box.size); }

std::string ToText(const LocalTensor& tensor) {
  return fmt::format("{}{}:{}", Name(tensor.dtype), ToString(tensor.global), ToText(tensor.box));
}

std::string ToText(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, attribute] : attributes.entries()) text += name + "=" + ToString(attribute) + " ";
  return text;
}

std::string ToText(const Access& access) {
  return fmt::format(" {}{}+{}({},{},{})", access.write ? "w" : "r", access.range.offset, access.range.bytes,
                     access.columns.first, access.columns.bytes, access.columns.pitch);
}

std::string ToText(const LocalNode& node) {
  std::string text = fmt::format("{} {} {}", node.name, node.op->name, ToText(node.attributes));
  for (const auto& input : node.inputs) text += " " + (input ? ToText(*input) : "_");
  text += " ->";
  for (const LocalTensor& output : node.outputs) text += " " + ToText(output);
  for (const Attributes& member : node.member_attributes) text += " member " + ToText(member);
  for (const Box& box : node.within) text += " within " + ToText(box);
  return text + fmt::format(" members {} replicated {}", node.members, node.replicated);
}

std::string ToText(const KernelLaunch& work) {
  return fmt::format("kernel {} by {} {} {} '{}' at {} -> {} and {}", ToText(work.node), work.choice.kernel,
                     work.choice.workspace_bytes, work.choice.deterministic, work.choice.remark,
                     fmt::join(work.inputs, ","), fmt::join(work.outputs, ","), work.workspace);
}

std::string ToText(const CopyLaunch& work) {
  std::string text = fmt::format("copies, zero {}+{}", work.zero.offset, work.zero.bytes);
  for (const BoxCopy& copy : work.copies) {
    text += fmt::format(" ({} bytes {}{}{} -> {}{}{} {})", copy.element_bytes, copy.from, ToString(copy.from_shape),
                        ToString(copy.from_start), copy.to, ToString(copy.to_shape), ToString(copy.to_start),
                        ToString(copy.size));
  }
  return text;
}

std::string ToText(const std::vector<PlacedBox>& boxes) {
  std::string text;
  for (const PlacedBox& box : boxes) text += fmt::format(" {}{}{}", box.first, ToString(box.shape), ToText(box.box));
  return text;
}

std::string ToText(const CollectiveLaunch& work) {
  return fmt::format("{} group {} {} {} {}x{} -> {}x{} send {} receive {} boxes{} ->{} root {}", Name(work.kind),
                     work.group, Name(work.dtype), static_cast<int>(work.reduction), work.input, work.input_count,
                     work.output, work.output_count, fmt::join(work.send_counts, ","),
                     fmt::join(work.receive_counts, ","), ToText(work.send_boxes), ToText(work.receive_boxes),
                     work.root);
}

std::string ToText(const HostLaunch& work) { return work.begin ? "host begins" : "host ends"; }

std::string ToText(const Launch& launch) {
  std::string text = fmt::format("\n{} node {} phase {} on {} after {}:", launch.name, launch.node, Name(launch.phase),
                                 launch.stream, fmt::join(launch.waits, ","));
  for (const Access& access : launch.accesses) text += ToText(access);
  return text + " " + std::visit([](const auto& work) { return ToText(work); }, launch.work);
}

std::string ToText(const Placement& placement) {
  return fmt::format("\n{} {} at {}", placement.name, ToText(placement.tensor), placement.offset);
}

}  // namespace

std::string ToText(const Schedule& schedule) {
  const MemoryUse& use = schedule.memory;
  std::string text = fmt::format("rank {} streams {} memory {} {} {} {} {} {}", schedule.rank, schedule.streams,
                                 use.parameters, use.states, use.inputs, use.activations, use.workspace, use.total);
  for (const Launch& launch : schedule.launches) text += ToText(launch);
  for (const OrderEdge& edge : schedule.order) text += fmt::format("\n{}<{}", edge.before, edge.after);
  for (const auto* const placements : {&schedule.states, &schedule.inputs, &schedule.results}) {
    for (const Placement& placement : *placements) text += ToText(placement);
  }
  for (const RoundedState& rounded : schedule.rounded) {
    text += fmt::format("\nof state {}: {}", rounded.state, ToText(rounded.placement));
  }
  for (const ValuePlacement& value : schedule.values) {
    text += fmt::format("\n{} at {} by {}", ToText(value.tensor), value.offset, value.launch);
  }
  for (const Lifetime& life : schedule.lifetimes) {
    text += fmt::format("\n{} {}+{} {}-{} {} {}", life.name, life.range.offset, life.range.bytes, life.first, life.last,
                        life.persistent, life.scratch);
  }
  return text;
}

}  // namespace partita
