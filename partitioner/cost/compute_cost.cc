#include "partitioner/cost/compute_cost.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/ir/node_flops.h"
#include "graph/ir/op_definition.h"

namespace partita {
namespace {

std::string Printed(const LocalTensor& tensor) {
  return fmt::format("{}{}", Name(tensor.dtype), ToString(tensor.shape()));
}

}  // namespace

double RateOf(const DeviceKind& kind, DType dtype) {
  const auto found = kind.flops_per_second.find(dtype);
  return found == kind.flops_per_second.end() ? kind.flops_per_second.at(DType::kF32) : found->second;
}

KernelWork WorkOf(const LocalNode& node) {
  KernelWork work{FlopsOf(node), BytesOf(node), DType::kF32};
  for (const auto& input : node.inputs) {
    if (!input || !IsFloating(input->dtype)) continue;
    work.dtype = input->dtype;
    if (input->dtype == DType::kBF16) break;
  }
  return work;
}

double RooflineSeconds(const KernelWork& work, const DeviceKind& kind, int sharing) {
  const double computing = work.flops / RateOf(kind, work.dtype), moving = work.bytes / kind.bytes_per_second;
  return kind.launch_seconds + std::max(computing, moving) * sharing;
}

std::string SignatureOf(const LocalNode& node) {
  std::string text = node.op->name;
  for (const auto& input : node.inputs) text += input ? " " + Printed(*input) : " -";
  text += " ->";
  for (const LocalTensor& output : node.outputs) text += " " + Printed(output);
  for (const auto& [name, value] : node.attributes.entries()) {
    if (name == "shape") continue;  // the whole node's; the outputs are the share's
    text += fmt::format(" {}={}", name, ToString(value));
  }
  return text;
}

double ComputeSeconds(const LocalNode& node, const KernelTimes& times, const DeviceKind& kind, int sharing) {
  const auto measured = times.empty() ? times.end() : times.find(SignatureOf(node));
  if (measured != times.end()) return measured->second;
  const auto op = kind.op_times.find(node.op->name);
  return RooflineSeconds(WorkOf(node), kind, sharing) * (op == kind.op_times.end() ? 1 : op->second);
}

}  // namespace partita
