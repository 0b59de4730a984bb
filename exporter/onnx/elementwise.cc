// Ops on elements of the same place, in any order of dimensions.
#include <cmath>
#include <numbers>
#include <utility>

#include "exporter/onnx/lowering.h"
#include "graph/ir/op_definition.h"
#include "graph/value/dtype.h"
#include "runtime/base/status.h"

namespace partita::onnx_export {
namespace {

// What a node with one input computes, in parts that read each other.
class Formula {
 public:
  Formula(const Node& node, Emitter& emitter)
      : node_(node),
        emitter_(emitter),
        order_(emitter.OrderOf(node.outputs[0])),
        x_(emitter.Get(node.inputs[0], order_)) {}

  const std::string& x() const { return x_; }
  std::string Number(double value) { return emitter_.Number(value, emitter_.dtype(node_.inputs[0])); }
  std::string Add(const std::string& op, std::vector<std::string> inputs) {
    return emitter_.Add(op, std::move(inputs));
  }
  absl::Status Give(const std::string& op, std::vector<std::string> inputs, WrittenAttributes attributes = {}) {
    emitter_.Give(node_.outputs[0], order_, op, std::move(inputs), std::move(attributes));
    return absl::OkStatus();
  }

 private:
  const Node& node_;
  Emitter& emitter_;
  const Order order_;
  const std::string x_;
};

// That op of ONNX, of one input and without attributes.
Lower As(const char* op) {
  return [op](const Node& node, Emitter& emitter) {
    Formula formula(node, emitter);
    return formula.Give(op, {formula.x()});
  };
}

absl::Status HardSigmoid(const Node& node, Emitter& emitter) {
  Formula formula(node, emitter);
  return formula.Give("HardSigmoid", {formula.x()}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}});
}

absl::Status Relu6(const Node& node, Emitter& emitter) {
  Formula formula(node, emitter);
  return formula.Give("Clip", {formula.x(), formula.Number(0), formula.Number(6)});
}

absl::Status Silu(const Node& node, Emitter& emitter) {
  Formula formula(node, emitter);
  return formula.Give("Mul", {formula.x(), formula.Add("Sigmoid", {formula.x()})});
}

absl::Status Square(const Node& node, Emitter& emitter) {
  Formula formula(node, emitter);
  return formula.Give("Mul", {formula.x(), formula.x()});
}

// x (1 + erf(x / sqrt(2))) / 2; opset 20 has it as one node.
absl::Status Gelu(const Node& node, Emitter& emitter) {
  Formula formula(node, emitter);
  const std::string erf = formula.Add("Erf", {formula.Add("Div", {formula.x(), formula.Number(std::numbers::sqrt2)})});
  const std::string twice = formula.Add("Mul", {formula.x(), formula.Add("Add", {erf, formula.Number(1)})});
  return formula.Give("Mul", {twice, formula.Number(0.5)});
}

// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
absl::Status GeluTanh(const Node& node, Emitter& emitter) {
  Formula formula(node, emitter);
  const std::string& x = formula.x();
  const std::string cube = formula.Add("Mul", {formula.Add("Mul", {x, x}), x});
  const std::string sum = formula.Add("Add", {x, formula.Add("Mul", {cube, formula.Number(0.044715)})});
  const double factor = std::sqrt(2 / std::numbers::pi);
  const std::string tanh = formula.Add("Tanh", {formula.Add("Mul", {sum, formula.Number(factor)})});
  const std::string twice = formula.Add("Mul", {x, formula.Add("Add", {tanh, formula.Number(1)})});
  return formula.Give("Mul", {twice, formula.Number(0.5)});
}

// exp(x) - 1 = tanh(x / 2) (exp(x) + 1), which loses nothing where x is small.
absl::Status Expm1(const Node& node, Emitter& emitter) {
  Formula formula(node, emitter);
  const std::string tanh = formula.Add("Tanh", {formula.Add("Mul", {formula.x(), formula.Number(0.5)})});
  const std::string sum = formula.Add("Add", {formula.Add("Exp", {formula.x()}), formula.Number(1)});
  return formula.Give("Mul", {tanh, sum});
}

// log(1 + x) = 2 atanh(x / (2 + x)), which loses nothing where x is small; elsewhere the logarithm.
absl::Status Log1p(const Node& node, Emitter& emitter) {
  Formula formula(node, emitter);
  const std::string& x = formula.x();
  const std::string ratio = formula.Add("Div", {x, formula.Add("Add", {x, formula.Number(2)})});
  const std::string near = formula.Add("Mul", {formula.Add("Atanh", {ratio}), formula.Number(2)});
  const std::string far = formula.Add("Log", {formula.Add("Add", {x, formula.Number(1)})});
  const std::string is_near = formula.Add("Less", {formula.Add("Abs", {x}), formula.Number(0.5)});
  return formula.Give("Where", {is_near, near, far});
}

absl::Status Scale(const Node& node, Emitter& emitter) {
  Formula formula(node, emitter);
  return formula.Give("Mul", {formula.x(), formula.Number(node.attributes.Float("factor"))});
}

// All inputs as they broadcast to the output.
std::vector<std::string> Operands(const Node& node, Emitter& emitter) {
  const ValueId output = node.outputs[0];
  std::vector<std::string> operands;
  for (const ValueId input : node.inputs) {
    operands.push_back(emitter.Operand(input, emitter.shape(output).size(), emitter.OrderOf(output)));
  }
  return operands;
}

Lower Broadcasting(const char* op) {
  return [op](const Node& node, Emitter& emitter) {
    emitter.Give(node.outputs[0], emitter.OrderOf(node.outputs[0]), op, Operands(node, emitter));
    return absl::OkStatus();
  };
}

absl::Status Add(const Node& node, Emitter& emitter) {
  const size_t inputs = node.inputs.size();
  return Broadcasting(inputs == 1 ? "Identity" : inputs == 2 ? "Add" : "Sum")(node, emitter);
}

// Truth values as numbers.
Lower Comparing(const char* op) {
  return [op](const Node& node, Emitter& emitter) -> absl::Status {
    const ValueId output = node.outputs[0];
    ASSIGN_OR_RETURN(const ElementType type, ElementTypeOf(emitter.dtype(output)));
    emitter.Give(output, emitter.OrderOf(output), "Cast", {emitter.Add(op, Operands(node, emitter))},
                 {{"to", int64_t{type}}});
    return absl::OkStatus();
  };
}

absl::Status Masked(const Node& node, Emitter& emitter) {
  const ValueId output = node.outputs[0];
  const std::vector<std::string> operands = Operands(node, emitter);
  const std::string mask = emitter.Add("Cast", {operands[1]}, {{"to", int64_t{kBool}}});
  emitter.Give(output, emitter.OrderOf(output), "Where", {mask, operands[0], emitter.Number(0, emitter.dtype(output))});
  return absl::OkStatus();
}

absl::Status Cast(const Node& node, Emitter& emitter) {
  const ValueId output = node.outputs[0];
  const Order order = emitter.OrderOf(output);
  ASSIGN_OR_RETURN(const ElementType type, ElementTypeOf(emitter.dtype(output)));
  emitter.Give(output, order, "Cast", {emitter.Get(node.inputs[0], order)}, {{"to", int64_t{type}}});
  return absl::OkStatus();
}

// Of dropout too: inference drops nothing.
absl::Status Same(const Node& node, Emitter& emitter) {
  emitter.BindTo(node.outputs[0], node.inputs[0]);
  return absl::OkStatus();
}

}  // namespace

void AddElementwise(Lowerings& lowerings) {
  const auto add = [&](const std::string& op, Lower lower) { lowerings[op] = {std::move(lower), OrderOfOp::kAny}; };
  add("add", Add);
  add("atan", As("Atan"));
  add("cast", Cast);
  add("cos", As("Cos"));
  add("div", Broadcasting("Div"));
  add("dropout", Same);
  add("erf", As("Erf"));
  add("exp", As("Exp"));
  add("expm1", Expm1);
  add("floor", As("Floor"));
  add("gelu", Gelu);
  add("gelu_tanh", GeluTanh);
  add("greater", Comparing("Greater"));
  add("greater_equal", Comparing("GreaterOrEqual"));
  add("hard_sigmoid", HardSigmoid);
  add("hard_swish", As("HardSwish"));
  add("log", As("Log"));
  add("log1p", Log1p);
  add("masked", Masked);
  add("maximum", Broadcasting("Max"));
  add("mul", Broadcasting("Mul"));
  add("over", Broadcasting("Div"));
  add("relu", As("Relu"));
  add("relu6", Relu6);
  add("round", As("Round"));
  add("scale", Scale);
  add("sigmoid", As("Sigmoid"));
  add("silu", Silu);
  add("sin", As("Sin"));
  add("sqrt", As("Sqrt"));
  add("square", Square);
  add("stop_gradient", Same);
  add("sub", Broadcasting("Sub"));
  add("tanh", As("Tanh"));
}

}  // namespace partita::onnx_export
