// Norms. A batch norm is a layer that trains, whichever mode the file was exported in.
#include <algorithm>

#include "graph/value/shape.h"
#include "importer/onnx/lowering.h"

namespace partita::onnx {
namespace {

absl::Status BatchNorm(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  Arguments arguments = {{"input", NameOf(x)},
                         {"training", true},
                         {"eps", l.Float("epsilon", 1e-5)},
                         {"momentum", 1 - l.Float("momentum", 0.9)}};
  for (const auto& [argument, i] :
       {std::pair("weight", size_t{1}), {"bias", size_t{2}}, {"running_mean", size_t{3}}, {"running_var", size_t{4}}}) {
    ASSIGN_OR_RETURN(const Value value, l.In(i));
    if (x.rank() < 2 || value.rank() != 1 || value.sizes[0].value != x.sizes[1].value) {
      return InvalidArgument("its input {} has shape {}; expected one number for each channel", i,
                             ToString(ShapeOf(value.sizes)));
    }
    arguments[argument] = NameOf(value);
  }
  return l.Result("batch_norm", std::move(arguments), x.type, x.sizes);
}

// y scale + bias, of those that are there.
absl::StatusOr<Value> Scaled(Lowering& l, Value y, size_t scale, size_t bias) {
  const size_t rank = y.rank();
  for (const auto& [i, op] : {std::pair(scale, "mul"), {bias, "add"}}) {
    if (!l.Has(i)) continue;
    ASSIGN_OR_RETURN(const Value operand, l.In(i));
    ASSIGN_OR_RETURN(y, l.Two(op, y, operand));
  }
  if (y.rank() != rank) return InvalidArgument("its scale has more dimensions than its input");
  return y;
}

// The mean over the dimensions from the axis on, which stay with size 1.
Value MeanFrom(Lowering& l, const Value& x, size_t axis) {
  Sizes sizes = x.sizes;
  std::vector<size_t> axes;
  for (size_t d = axis; d < x.rank(); ++d) {
    axes.push_back(d);
    sizes[d] = {1};
  }
  return l.Add("mean", {{"self", NameOf(x)}, {"dim", ListOf(axes)}, {"keepdim", true}}, x.type, std::move(sizes));
}

// 1 / sqrt(mean of squares + epsilon).
Value InverseRoot(Lowering& l, const Value& x, size_t axis) {
  const Value square = l.Add("square", {{"self", NameOf(x)}}, x.type, x.sizes);
  const Value mean = l.Plus(MeanFrom(l, square, axis), l.Float("epsilon", 1e-5));
  return l.Add("rsqrt", {{"self", NameOf(mean)}}, x.type, mean.sizes);
}

// What else the op may give: the mean, and the inverse of the deviation.
absl::Status Statistics(Lowering& l, const Value& x, size_t axis) {
  if (!l.Gives(1) && !l.Gives(2)) return absl::OkStatus();
  const Value mean = MeanFrom(l, x, axis);
  RETURN_IF_ERROR(l.Pass(mean, 1));
  if (!l.Gives(2)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Value centred, l.Two("sub", x, mean));
  return l.Pass(InverseRoot(l, centred, axis), 2);
}

absl::Status LayerNorm(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const size_t axis, l.Axis("axis", -1, x.rank()));
  RETURN_IF_ERROR(Statistics(l, x, axis));
  const Sizes normalized(x.sizes.begin() + static_cast<int64_t>(axis), x.sizes.end());
  if (!IsFixed(normalized)) return InvalidArgument("it normalizes the batch");
  const bool squares = l.op() == "RMSNormalization";
  Arguments arguments = {
      {"input", NameOf(x)}, {"normalized_shape", ListOf(ShapeOf(normalized))}, {"eps", l.Float("epsilon", 1e-5)}};
  bool direct = true;
  for (const auto& [argument, i] : {std::pair("weight", size_t{1}), {"bias", size_t{2}}}) {
    if (!l.Has(i)) continue;
    ASSIGN_OR_RETURN(const Value value, l.In(i));
    direct &= std::ranges::equal(value.sizes, normalized, SameSize);
    arguments[argument] = NameOf(value);
  }
  const std::string op = squares ? "rms_norm" : "layer_norm";
  if (squares && normalized.size() > 1) {
    ASSIGN_OR_RETURN(const Value normal, l.Two("mul", x, InverseRoot(l, x, axis)));
    ASSIGN_OR_RETURN(const Value y, Scaled(l, normal, 1, 2));
    return l.Pass(y);
  }
  if (direct) return l.Result(op, std::move(arguments), x.type, x.sizes);
  arguments.erase("weight");
  arguments.erase("bias");
  ASSIGN_OR_RETURN(const Value y, Scaled(l, l.Add(op, std::move(arguments), x.type, x.sizes), 1, 2));
  return l.Pass(y);
}

absl::Status InstanceNorm(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const Value weight, l.In(1));
  ASSIGN_OR_RETURN(const Value bias, l.In(2));
  if (x.rank() < 3) return InvalidArgument("its input has {} dimensions; expected 3 or more", x.rank());
  return l.Result("instance_norm",
                  {{"input", NameOf(x)},
                   {"weight", NameOf(weight)},
                   {"bias", NameOf(bias)},
                   {"use_input_stats", true},
                   {"eps", l.Float("epsilon", 1e-5)}},
                  x.type, x.sizes);
}

// With a scale for each channel (opset 21), or for each group.
absl::Status GroupNorm(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(Value weight, l.In(1));
  ASSIGN_OR_RETURN(Value bias, l.In(2));
  const int64_t groups = l.Integer("num_groups", 1);
  if (x.rank() < 3 || groups < 1 || x.sizes[1].value % groups != 0) {
    return InvalidArgument("{} groups of {}", groups, ToString(ShapeOf(x.sizes)));
  }
  const Size channels = x.sizes[1], each = {channels.value / groups};
  for (Value* const value : {&weight, &bias}) {
    if (value->rank() == 1 && SameSize(value->sizes[0], channels)) continue;
    const Value column = l.Reshaped(*value, {{groups}, {1}});
    *value = l.Reshaped(l.Add("expand", {{"self", NameOf(column)}}, value->type, {{groups}, each}), {channels});
  }
  return l.Result("group_norm",
                  {{"input", NameOf(x)},
                   {"num_groups", Size{groups}},
                   {"weight", NameOf(weight)},
                   {"bias", NameOf(bias)},
                   {"eps", l.Float("epsilon", 1e-5)}},
                  x.type, x.sizes);
}

// x / |x| along an axis.
absl::Status LpNorm(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const size_t axis, l.Axis("axis", -1, x.rank()));
  Sizes one = x.sizes;
  one[axis] = {1};
  const Value norm = l.Add("linalg_vector_norm",
                           {{"self", NameOf(x)},
                            {"ord", Size{l.Integer("p", 2)}},
                            {"dim", ListOf(std::vector<size_t>{axis})},
                            {"keepdim", true}},
                           x.type, one);
  return l.Result("div", {{"self", NameOf(x)}, {"other", NameOf(norm)}}, x.type, x.sizes);
}

}  // namespace

void AddNorms(Lowerings& lowerings) {
  lowerings.insert({{"BatchNormalization", BatchNorm},
                    {"LayerNormalization", LayerNorm},
                    {"RMSNormalization", LayerNorm},
                    {"InstanceNormalization", InstanceNorm},
                    {"GroupNormalization", GroupNorm},
                    {"LpNormalization", LpNorm}});
}

}  // namespace partita::onnx
