// Shape inference of one node as the verifier does it, for tables of tests.
#ifndef PARTITA_TESTS_OPS_INFER_H_
#define PARTITA_TESTS_OPS_INFER_H_

#include <optional>
#include <string>
#include <vector>

#include "ops/registry.h"
#include "runtime/base/status.h"

namespace partita {

inline absl::StatusOr<std::vector<TensorType>> Infer(const std::string& op, const Attributes& given,
                                                     const std::vector<std::optional<TensorType>>& inputs) {
  const OpDefinition* definition = Ops().Find(op);
  CHECK(definition != nullptr);
  ASSIGN_OR_RETURN(const Attributes attributes, CompleteAttributes(*definition, given));
  NodeView view{attributes, {}, {}};
  for (const std::optional<TensorType>& input : inputs) view.inputs.push_back(input ? &*input : nullptr);
  return definition->shape(view);
}

inline TensorType F32(Shape shape) { return {DType::kF32, std::move(shape)}; }
inline TensorType F64(Shape shape) { return {DType::kF64, std::move(shape)}; }
inline TensorType I32(Shape shape) { return {DType::kI32, std::move(shape)}; }
inline TensorType U8(Shape shape) { return {DType::kU8, std::move(shape)}; }

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_INFER_H_
