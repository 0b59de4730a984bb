#include "runtime/api/f64_graph.h"

#include <cstring>

#include "graph/ir/op_definition.h"
#include "graph/passes/convert_dtype.h"
#include "ops/host/compute_by_reference.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

HostTensor Empty(DType dtype, const Shape& shape) {
  return {dtype, shape, std::vector<char>(static_cast<size_t>(Elements(shape) * SizeOf(dtype)))};
}

HostTensor FromDoubles(DType dtype, const Shape& shape, const std::vector<double>& elements) {
  HostTensor tensor = Empty(dtype, shape);
  for (size_t i = 0; i < elements.size(); ++i) {
    char* const to = tensor.bytes.data() + i * static_cast<size_t>(SizeOf(dtype));
    if (dtype == DType::kF64) std::memcpy(to, &elements[i], sizeof(double));
    if (dtype == DType::kI32) {
      const auto element = static_cast<int32_t>(elements[i]);
      std::memcpy(to, &element, sizeof(element));
    }
    if (dtype == DType::kU8) *to = static_cast<char>(static_cast<uint8_t>(elements[i]));
  }
  return tensor;
}

}  // namespace

HostTensor InF64(const HostTensor& tensor) {
  if (!IsFloating(tensor.dtype) || tensor.dtype == DType::kF64) return tensor;
  return FromDoubles(DType::kF64, tensor.shape, ToDoubles(tensor));
}

HostTensor InF64(const WholeValue& value) {
  return FromDoubles(IsFloating(value.dtype) ? DType::kF64 : value.dtype, value.shape, value.elements);
}

F64Graph::F64Graph(const Graph& graph, uint64_t seed)
    : graph_(ConvertDType(graph, DType::kF64)), local_(Localize(graph_, 0)), seed_(seed) {
  CHECK(graph.ranks() == 1);
}

absl::StatusOr<std::vector<HostTensor>> F64Graph::Compute(NodeId id,
                                                          const std::vector<const HostTensor*>& inputs) const {
  const Node& node = graph_.node(id);
  std::vector<HostTensor> outputs;
  for (const ValueId output : node.outputs) {
    outputs.push_back(Empty(graph_.type(output).dtype, graph_.type(output).shape));
  }
  if (node.op->move) {  // within one rank it moves nothing
    outputs[0].bytes = inputs[0]->bytes;
    return outputs;
  }
  if (!Runs(local_, node)) return outputs;
  ASSIGN_OR_RETURN(const LocalNode local, MakeLocalNode(graph_, local_, id));
  KernelArguments arguments;
  for (const HostTensor* input : inputs) {
    const bool empty = input == nullptr || input->bytes.empty();
    arguments.inputs.push_back(empty ? nullptr : input->bytes.data());
  }
  for (HostTensor& output : outputs) arguments.outputs.push_back(output.bytes.empty() ? nullptr : output.bytes.data());
  arguments.seed = seed_;
  RETURN_IF_ERROR(ComputeByReference(local, arguments));
  return outputs;
}

}  // namespace partita
