// Functions of single elements: activations, powers, logarithms, rounding.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "importer/translation/arithmetic.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

absl::Status Unary(Translator& translator, const Node& node, const std::string& op, Attributes attributes = {}) {
  return Made(translator, node,
              [&](Formula& f, const std::string& x) { return f.Result(op, {x}, std::move(attributes)); });
}

// The ops of the graph that are called as here, and those that have another name there.
absl::Status Same(Translator& translator, const Node& node) { return Unary(translator, node, OpOf(node.target)); }
absl::Status HardSigmoid(Translator& translator, const Node& node) { return Unary(translator, node, "hard_sigmoid"); }
absl::Status HardSwish(Translator& translator, const Node& node) { return Unary(translator, node, "hard_swish"); }

absl::Status Detach(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  ASSIGN_OR_RETURN(value.node, translator.Add(node.outputs[0], "stop_gradient", {value.node}));
  translator.Bind(node.outputs[0], std::move(value));
  return absl::OkStatus();
}

absl::Status Gelu(Translator& translator, const Node& node) {
  const auto found = node.arguments.find("approximate");
  const auto* const form = found == node.arguments.end() ? nullptr : std::get_if<std::string>(&found->second);
  return Unary(translator, node, form != nullptr && *form == "tanh" ? "gelu_tanh" : "gelu");
}

absl::Status Dropout(Translator& translator, const Node& node) {
  const double rate = NumberOf(node, "p", 0.5);
  if (rate == 0 || !SwitchOf(node, "train", true)) {
    return Made(translator, node, [](Formula&, const std::string& x) { return x; });
  }
  return Unary(translator, node, "dropout", {{"rate", rate}});
}

// exp, log and others to another base than e.
absl::Status ToBase(Translator& translator, const Node& node) {
  const std::string op = OpOf(node.target);
  const double base = op.ends_with("10") ? std::numbers::ln10 : std::numbers::ln2;
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    return op == "exp2" ? f("exp", {f.Times(x, base)}) : f.Times(f("log", {x}), 1 / base);
  });
}

absl::Status Tangent(Translator& translator, const Node& node) {
  return Made(translator, node, [](Formula& f, const std::string& x) {
    return f.Result("div", {f("sin", {x}), f("cos", {x})});
  });
}

// (exp(x) + exp(-x)) / 2, and (e + e / (1 + e)) / 2 of e = exp(x) - 1, which has the digits of a small x.
absl::Status Hyperbolic(Translator& translator, const Node& node) {
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    if (OpOf(node.target) == "cosh") return f.Times(f("add", {f("exp", {x}), f("exp", {f.Negative(x)})}), 0.5);
    const std::string e = f("expm1", {x});
    return f.Times(f("add", {e, f("div", {e, f.Plus(e, 1)})}), 0.5);
  });
}

// atan(x); asin(x) = 2 atan(x / (1 + sqrt(1 - x^2))), acos(x) = pi / 2 - asin(x).
absl::Status Arc(Translator& translator, const Node& node) {
  const std::string op = OpOf(node.target);
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    if (op == "atan") return f.Result("atan", {x});
    const std::string root = f("sqrt", {f.Without(f("square", {x}))});
    const std::string half = f("atan", {f("div", {x, f.Plus(root, 1)})});
    return op.find("cos") == std::string::npos ? f.Times(half, 2) : f.Plus(f.Times(half, -2), std::numbers::pi / 2);
  });
}

// atanh(x) = (log(1 + x) - log(1 - x)) / 2; asinh(x) = 2 atanh(x / (1 + sqrt(1 + x^2))), acosh(x) = log(x +
// sqrt(x^2 - 1)).
absl::Status AreaHyperbolic(Translator& translator, const Node& node) {
  const std::string op = OpOf(node.target);
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    const auto twice = [&f](const std::string& t) { return f("sub", {f("log1p", {t}), f("log1p", {f.Negative(t)})}); };
    if (op == "atanh") return f.Times(twice(x), 0.5);
    const std::string root = f("sqrt", {f.Plus(f("square", {x}), op == "asinh" ? 1 : -1)});
    return op == "asinh" ? twice(f("div", {x, f.Plus(root, 1)})) : f("log", {f("add", {x, root})});
  });
}

absl::Status ComplementaryErf(Translator& translator, const Node& node) {
  return Made(translator, node, [](Formula& f, const std::string& x) { return f.Without(f("erf", {x})); });
}

// x to a whole power, by squares.
std::string WholePower(Formula& f, const std::string& x, int exponent) {
  std::string power, square = x;
  for (int rest = exponent; rest > 0; rest /= 2) {
    if (rest % 2 == 1) power = power.empty() ? square : f("mul", {power, square});
    if (rest > 1) square = f("square", {square});
  }
  return power;
}

std::string Inverse(Formula& f, const std::string& x) { return f.Result("div", {f.Number(1, x), x}); }

absl::Status Reciprocal(Translator& translator, const Node& node) {
  const bool root = OpOf(node.target) == "rsqrt";
  return Made(translator, node,
              [&](Formula& f, const std::string& x) { return Inverse(f, root ? f("sqrt", {x}) : x); });
}

absl::Status Power(Translator& translator, const Node& node) {
  constexpr double kMostWhole = 64;
  if (!IsNumber(node, "exponent")) {
    const std::string exponent = OptionalTensorOf(node, "exponent"), self = OptionalTensorOf(node, "self");
    Formula f(translator, node.outputs[0]);
    if (self.empty()) {
      const double base = NumberOf(node, "self", 1);
      if (base <= 0) return InvalidArgument("a power of {} whose exponent is a tensor", base);
      Imported value = f.Kept([&] { return translator.Get(exponent); });
      value.node = f.Result("exp", {f.Times(f.Floats(value.node), std::log(base))});
      RETURN_IF_ERROR(f.status());
      translator.Bind(node.outputs[0], std::move(value));
      return absl::OkStatus();
    }
    const Pair pair = f.Kept([&] { return PairOf(translator, self, exponent, node.outputs[0]); });
    // 0 to a power is 0, and to the power 0 it is 1; PyTorch's gradients are 0 there, but by x to the power 1.
    const std::string is_zero = f.Compared("eq", pair.x.node, f.Number(0, pair.x.node));
    const std::string is_finite = f("mul", {is_zero, f.Compared("ge", pair.y.node, f.Number(0, pair.y.node))});
    const std::string base = f("add", {pair.x.node, is_finite});
    const std::string vanishes = f("mul", {is_zero, f.Compared("gt", pair.y.node, f.Number(0, pair.y.node))});
    std::string power = f("masked", {f("exp", {f("mul", {pair.y.node, f("log", {base})})}), f.Without(vanishes)});
    RETURN_IF_ERROR(f.status());
    translator.Bind(node.outputs[0], {std::move(power), pair.order});
    return absl::OkStatus();
  }
  const double exponent = NumberOf(node, "exponent", 1), size = std::abs(exponent);
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    if (exponent == 0) return f.Plus(f.Times(f("stop_gradient", {x}), 0), 1);
    if (size != 0.5 && (size > kMostWhole || !IsWhole(size))) return f.Raised(x, exponent);
    const std::string power = size == 0.5 ? f("sqrt", {x}) : WholePower(f, x, static_cast<int>(size));
    return exponent < 0 ? Inverse(f, power) : power;
  });
}

absl::Status Clamp(Translator& translator, const Node& node) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const std::string op = OpOf(node.target), &name = node.outputs[0];
  const bool tanh = op == "hardtanh", six = op == "relu6";
  const double least = tanh ? NumberOf(node, "min_val", -1) : six ? 0 : NumberOf(node, "min", -kNone);
  const double most = tanh ? NumberOf(node, "max_val", 1) : six ? 6 : NumberOf(node, "max", kNone);
  const std::string low = OptionalTensorOf(node, "min"), high = OptionalTensorOf(node, "max");
  if (low.empty() && high.empty()) {
    return Made(translator, node, [&](Formula& f, const std::string& x) { return f.Clamped(x, least, most); });
  }
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(self));
  Formula f(translator, name);
  for (const std::string& bound : {low, high}) {
    if (bound.empty()) continue;
    const Imported value = f.Kept([&] { return translator.Get(bound); });
    const std::string b = f.Floats(f.Lifted(value, x.order));
    x.node = bound == low ? f("maximum", {x.node, b}) : f.Negative(f("maximum", {f.Negative(x.node), f.Negative(b)}));
  }
  RETURN_IF_ERROR(f.status());
  translator.Bind(name, std::move(x));
  return absl::OkStatus();
}

// max(x, 0) + slope min(x, 0), whose gradient at 0 is the slope.
absl::Status LeakyRelu(Translator& translator, const Node& node) {
  const double slope = NumberOf(node, "negative_slope", 0.01);
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    const std::string positive = f("relu", {x});
    return f.Result("add", {positive, f.Times(f("sub", {x, positive}), slope)});
  });
}

absl::Status Absolute(Translator& translator, const Node& node) {
  return Made(translator, node, [](Formula& f, const std::string& x) { return f.Magnitude(x); });
}

// log(1 + exp(beta x)) / beta, and x where beta x is above the threshold. Above 20, PyTorch's default, f64 hardly tells
// the two apart.
absl::Status Softplus(Translator& translator, const Node& node) {
  constexpr double kAlmostSame = 20;
  const double beta = NumberOf(node, "beta", 1), threshold = NumberOf(node, "threshold", kAlmostSame);
  if (beta == 0) return InvalidArgument("a softplus with beta 0");
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    const std::string scaled = f.Times(x, beta), curve = f.Times(f.Softplus(scaled), 1 / beta);
    if (threshold >= kAlmostSame) return curve;
    return f.Chosen(f.Compared("gt", scaled, f.Number(threshold, scaled)), x, curve);
  });
}

// scale (max(x, 0) + alpha (exp(min(x, 0)) - 1)); of celu exp(min(x, 0) / alpha).
absl::Status Elu(Translator& translator, const Node& node) {
  const std::string op = OpOf(node.target);
  const bool self_normalizing = op == "selu", celu = op == "celu";
  const double alpha = self_normalizing ? 1.6732632423543772848170429916717 : NumberOf(node, "alpha", 1);
  const double scale = self_normalizing ? 1.0507009873554804934193349852946 : NumberOf(node, "scale", 1);
  if (NumberOf(node, "input_scale", 1) != 1) return InvalidArgument("an elu that scales its input");
  if (celu && alpha == 0) return InvalidArgument("a celu with alpha 0");
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    const std::string positive = f("relu", {x});
    const std::string below = f("expm1", {f.Times(f("sub", {x, positive}), celu ? 1 / alpha : 1)});
    return f.Times(f("add", {positive, f.Times(below, alpha)}), scale);
  });
}

absl::Status Mish(Translator& translator, const Node& node) {
  return Made(translator, node, [](Formula& f, const std::string& x) {
    return f.Result("mul", {x, f("tanh", {f.Softplus(x)})});
  });
}

absl::Status LogSigmoid(Translator& translator, const Node& node) {
  return Made(translator, node, [](Formula& f, const std::string& x) { return f.Negative(f.Softplus(f.Negative(x))); });
}

// x where it is above the threshold, else a value; x where |x| > lambda, else 0.
absl::Status Threshold(Translator& translator, const Node& node) {
  const bool shrinks = OpOf(node.target) == "hardshrink";
  const double threshold = NumberOf(node, shrinks ? "lambd" : "threshold", 0.5), value = NumberOf(node, "value", 0);
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    const std::string above = f.Compared("gt", shrinks ? f.Magnitude(x) : x, f.Number(threshold, x));
    const std::string kept = f("masked", {x, above});
    return value == 0 ? kept : f.Result("add", {kept, f.Times(f.Without(above), value)});
  });
}

// max(x - lambda, 0) - max(-x - lambda, 0).
absl::Status SoftShrink(Translator& translator, const Node& node) {
  const double lambda = NumberOf(node, "lambd", 0.5);
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    return f.Result("sub", {f("relu", {f.Plus(x, -lambda)}), f("relu", {f.Plus(f.Negative(x), -lambda)})});
  });
}

// max(x, 0) + weight min(x, 0), with a weight for each channel or one.
absl::Status PRelu(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string weight, TensorOf(node, "weight"));
  ASSIGN_OR_RETURN(const Imported x, translator.Get(self));
  ASSIGN_OR_RETURN(Imported w, translator.GetParameter(weight, {0}, Beginning::kOnes));
  const int64_t weights = translator.ShapeOf(w.node)[0];
  Formula f(translator, name);
  if (weights > 1) {
    Shape shape(x.rank(), 1);
    shape[static_cast<size_t>(std::ranges::find(x.order, 1) - x.order.begin())] = weights;
    w.node = f("reshape", {w.node}, {{"shape", shape}});
  }
  const std::string positive = f("relu", {x.node});
  std::string y = f.Result("add", {positive, f("mul", {f("sub", {x.node, positive}), w.node})});
  RETURN_IF_ERROR(f.status());
  translator.Bind(name, {std::move(y), x.order});
  return absl::OkStatus();
}

// The largest whole number up to x, the least from x, the one between x and 0.
std::string Whole(Formula& f, const std::string& op, const std::string& x) {
  if (op == "floor" || op == "round") return f(op, {x});
  if (op == "ceil") return f.Negative(f("floor", {f.Negative(x)}));
  return f.Truncated(x);
}

absl::Status Round(Translator& translator, const Node& node) {
  if (const int64_t decimals = IntegerOf(node, "decimals", 0); decimals != 0) {
    return InvalidArgument("rounding to {} decimals", decimals);
  }
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    if (OpOf(node.target) == "frac") return f("sub", {x, Whole(f, "trunc", x)});
    return Whole(f, OpOf(node.target), x);
  });
}

absl::Status Sign(Translator& translator, const Node& node) {
  return Made(translator, node, [](Formula& f, const std::string& x) {
    const std::string zero = f.Number(0, x);
    return f.Result("sub", {f("greater", {x, zero}), f("greater", {zero, x})});
  });
}

// NaN becomes a number, and infinities the largest that there are.
absl::Status WithoutNaN(Translator& translator, const Node& node) {
  if (IsNumber(node, "posinf") || IsNumber(node, "neginf")) return InvalidArgument("numbers for infinities");
  constexpr double kMost = std::numeric_limits<float>::max();
  return Made(translator, node, [&](Formula& f, const std::string& x) {
    const std::string number = f.Compared("eq", x, x);
    std::string kept = f("masked", {x, number});
    if (const double other = NumberOf(node, "nan", 0); other != 0) {
      kept = f("add", {kept, f.Times(f.Without(number), other)});
    }
    return f.Clamped(kept, -kMost, kMost);
  });
}

}  // namespace

void AddActivations(Translations& translations) {
  for (const char* const name :
       {"relu", "sigmoid", "tanh", "silu", "exp", "log", "sqrt", "square", "sin", "cos", "log1p", "expm1", "erf"}) {
    translations[name] = Same;
  }
  for (const char* const name : {"clamp", "clamp_min", "clamp_max", "clip", "relu6", "hardtanh"}) {
    translations[name] = Clamp;
  }
  for (const char* const name : {"floor", "ceil", "round", "trunc", "fix", "frac"}) translations[name] = Round;
  translations.insert({{"hardswish", HardSwish},
                       {"hardsigmoid", HardSigmoid},
                       {"detach", Detach},
                       {"gelu", Gelu},
                       {"dropout", Dropout},
                       {"feature_dropout", Dropout},
                       {"exp2", ToBase},
                       {"log2", ToBase},
                       {"log10", ToBase},
                       {"tan", Tangent},
                       {"erfc", ComplementaryErf},
                       {"cosh", Hyperbolic},
                       {"sinh", Hyperbolic},
                       {"atan", Arc},
                       {"asin", Arc},
                       {"acos", Arc},
                       {"asinh", AreaHyperbolic},
                       {"acosh", AreaHyperbolic},
                       {"atanh", AreaHyperbolic},
                       {"reciprocal", Reciprocal},
                       {"rsqrt", Reciprocal},
                       {"pow", Power},
                       {"leaky_relu", LeakyRelu},
                       {"abs", Absolute},
                       {"absolute", Absolute},
                       {"softplus", Softplus},
                       {"elu", Elu},
                       {"selu", Elu},
                       {"celu", Elu},
                       {"mish", Mish},
                       {"log_sigmoid", LogSigmoid},
                       {"threshold", Threshold},
                       {"hardshrink", Threshold},
                       {"softshrink", SoftShrink},
                       {"prelu", PRelu},
                       {"sign", Sign},
                       {"sgn", Sign},
                       {"nan_to_num", WithoutNaN}});
}

}  // namespace partita::torch_export
