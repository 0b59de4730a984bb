#include "ops/definitions/sequences/carried_state.h"

#include "graph/ir/model.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<ValueId> AddOne(EntryBuilder& builder, const std::string& op, std::vector<ValueId> inputs,
                               Attributes attributes, const std::string& name) {
  ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                   builder.Add(op, std::move(inputs), std::move(attributes), {name}));
  return outputs[0];
}

absl::StatusOr<ValueId> As(EntryBuilder& builder, DType dtype, ValueId value, const std::string& name) {
  if (builder.graph().type(value).dtype == dtype) return value;
  return AddOne(builder, "cast", {value}, {{"dtype", std::string(Name(dtype))}}, name);
}

}  // namespace

absl::StatusOr<CarriedState> BeginCarried(EntryBuilder& builder, const std::string& name, const TensorType& type) {
  const bool trains = builder.iteration() != kNoValue;
  const Attributes attributes = StateAttributes({AccumulatorOf(type.dtype), type.shape}, 0);
  Attributes alike = attributes;
  alike.Set("like", name);
  CarriedState carried{name + "@evaluation", kNoValue, kNoValue};
  ASSIGN_OR_RETURN(carried.state, AddOne(builder, "state", {}, alike, carried.name));
  if (trains) {
    carried.name = name;
    ASSIGN_OR_RETURN(carried.state, AddOne(builder, "state", {}, attributes, name));
  }
  ASSIGN_OR_RETURN(carried.begin, As(builder, type.dtype, carried.state, carried.name + "@begin"));
  return carried;
}

absl::Status EndCarried(EntryBuilder& builder, const CarriedState& carried, ValueId end) {
  const DType dtype = builder.graph().type(carried.state).dtype;
  ASSIGN_OR_RETURN(const ValueId value, As(builder, dtype, end, carried.name + "@end"));
  ASSIGN_OR_RETURN(const ValueId next, AddOne(builder, "carry", {carried.state, value, kNoValue, kNoValue, kNoValue},
                                              {}, carried.name + "@next"));
  builder.SetUpdate(carried.state, next);
  return absl::OkStatus();
}

}  // namespace partita
