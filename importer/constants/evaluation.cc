#include "importer/constants/evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

namespace partita::torch_export {
namespace {

using Unary = double (*)(double);
using Binary = double (*)(double, double);

const std::map<std::string, Unary>& Unaries() {
  static const auto& unaries = *new std::map<std::string, Unary>{
      {"neg", [](double x) { return -x; }},
      {"abs", [](double x) { return std::abs(x); }},
      {"exp", [](double x) { return std::exp(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"log2", [](double x) { return std::log2(x); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"square", [](double x) { return x * x; }},
      {"reciprocal", [](double x) { return 1 / x; }},
      {"sign", [](double x) { return static_cast<double>((x > 0) - (x < 0)); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"floor", [](double x) { return std::floor(x); }},
      {"round", [](double x) { return std::nearbyint(x); }},
      {"relu", [](double x) { return std::max(x, 0.0); }},
      {"logical_not", [](double x) { return static_cast<double>(x == 0); }},
  };
  return unaries;
}

double Remainder(double x, double y) { return x - y * std::floor(x / y); }
double And(double x, double y) { return static_cast<double>(AsInteger(x) & AsInteger(y)); }
double Or(double x, double y) { return static_cast<double>(AsInteger(x) | AsInteger(y)); }
double Xor(double x, double y) { return static_cast<double>(AsInteger(x) ^ AsInteger(y)); }

const std::map<std::string, Binary>& Binaries() {
  static const auto& binaries = *new std::map<std::string, Binary>{
      {"add", [](double x, double y) { return x + y; }},
      {"sub", [](double x, double y) { return x - y; }},
      {"rsub", [](double x, double y) { return y - x; }},
      {"mul", [](double x, double y) { return x * y; }},
      {"div", [](double x, double y) { return x / y; }},
      {"floor_divide", [](double x, double y) { return std::floor(x / y); }},
      {"remainder", Remainder},
      {"fmod", [](double x, double y) { return std::fmod(x, y); }},
      {"pow", [](double x, double y) { return std::pow(x, y); }},
      {"minimum", [](double x, double y) { return std::min(x, y); }},
      {"maximum", [](double x, double y) { return std::max(x, y); }},
      {"eq", [](double x, double y) { return static_cast<double>(x == y); }},
      {"ne", [](double x, double y) { return static_cast<double>(x != y); }},
      {"lt", [](double x, double y) { return static_cast<double>(x < y); }},
      {"le", [](double x, double y) { return static_cast<double>(x <= y); }},
      {"gt", [](double x, double y) { return static_cast<double>(x > y); }},
      {"ge", [](double x, double y) { return static_cast<double>(x >= y); }},
      {"__and__", And},
      {"bitwise_and", And},
      {"__or__", Or},
      {"bitwise_or", Or},
      {"__xor__", Xor},
      {"bitwise_xor", Xor},
      {"logical_and", [](double x, double y) { return static_cast<double>(x != 0 && y != 0); }},
      {"logical_or", [](double x, double y) { return static_cast<double>(x != 0 || y != 0); }},
  };
  return binaries;
}

bool HasParts(const std::string& op) {
  return op == "chunk" || op == "split" || op == "split_with_sizes" || op == "unbind" || op == "meshgrid";
}

}  // namespace

const std::map<std::string, Evaluation::Way>& Evaluation::Ways() {
  static const auto& ways = *new std::map<std::string, Way>{
      {"zeros", &Evaluation::Zeros},
      {"empty", &Evaluation::Zeros},
      {"new_zeros", &Evaluation::Zeros},
      {"new_empty", &Evaluation::Zeros},
      {"zero", &Evaluation::Zeros},
      {"ones", &Evaluation::Ones},
      {"new_ones", &Evaluation::Ones},
      {"zeros_like", &Evaluation::Zeros},
      {"empty_like", &Evaluation::Zeros},
      {"ones_like", &Evaluation::Ones},
      {"full", &Evaluation::Full},
      {"new_full", &Evaluation::Full},
      {"full_like", &Evaluation::Full},
      {"scalar_tensor", &Evaluation::Scalar},
      {"arange", &Evaluation::Range},
      {"linspace", &Evaluation::Spaced},
      {"eye", &Evaluation::Eye},
      {"view", &Evaluation::View},
      {"_unsafe_view", &Evaluation::View},
      {"reshape", &Evaluation::View},
      {"view_as", &Evaluation::View},
      {"reshape_as", &Evaluation::View},
      {"flatten", &Evaluation::View},
      {"unflatten", &Evaluation::View},
      {"squeeze", &Evaluation::View},
      {"unsqueeze", &Evaluation::View},
      {"alias", &Evaluation::Same},
      {"detach", &Evaluation::Same},
      {"lift_fresh_copy", &Evaluation::Copy},
      {"clone", &Evaluation::Copy},
      {"contiguous", &Evaluation::Copy},
      {"to", &Evaluation::Copy},
      {"_to_copy", &Evaluation::Copy},
      {"type_as", &Evaluation::Copy},
      {"expand", &Evaluation::Expand},
      {"expand_as", &Evaluation::Expand},
      {"permute", &Evaluation::Permute},
      {"transpose", &Evaluation::Transpose},
      {"t", &Evaluation::Transpose},
      {"slice", &Evaluation::Slice},
      {"select", &Evaluation::Select},
      {"where", &Evaluation::Where},
      {"masked_fill", &Evaluation::MaskedFill},
      {"clamp", &Evaluation::Clamp},
      {"clamp_min", &Evaluation::Clamp},
      {"clamp_max", &Evaluation::Clamp},
      {"tril", &Evaluation::Triangle},
      {"triu", &Evaluation::Triangle},
      {"cat", &Evaluation::Concatenate},
      {"stack", &Evaluation::Stack},
      {"repeat", &Evaluation::Repeat},
      {"roll", &Evaluation::Roll},
      {"flip", &Evaluation::Flip},
      {"cumsum", &Evaluation::CumulativeSum},
      {"diff", &Evaluation::Difference},
      {"sum", &Evaluation::Reduce},
      {"mean", &Evaluation::Reduce},
      {"prod", &Evaluation::Reduce},
      {"max", &Evaluation::Reduce},
      {"min", &Evaluation::Reduce},
      {"amax", &Evaluation::Reduce},
      {"amin", &Evaluation::Reduce},
      {"any", &Evaluation::Reduce},
      {"all", &Evaluation::Reduce},
      {"index", &Evaluation::Index},
      {"index_select", &Evaluation::IndexSelect},
      {"one_hot", &Evaluation::OneHot},
      {"gather", &Evaluation::Gather},
      {"pad", &Evaluation::Pad},
      {"constant_pad_nd", &Evaluation::Pad},
  };
  return ways;
}

bool Evaluation::ReadsShape(const std::string& op, const std::string& argument) {
  const bool self = op.starts_with("new_") || op.ends_with("_like");
  const bool other = op.ends_with("_as");
  return (self && argument == "self") || (other && argument == "other");
}

bool Evaluation::Computes(const std::string& op) {
  return Ways().contains(op) || Unaries().contains(op) || Binaries().contains(op) || HasParts(op) || op == "fill" ||
         op == "copy" || op == "bitwise_not";
}

absl::StatusOr<std::vector<Constant>> Evaluation::Run() {
  for (const std::string& name : node_.outputs) {
    const auto meta = program_.tensors.find(name);
    if (meta == program_.tensors.end()) return InvalidArgument("its result has no sizes");
    ASSIGN_OR_RETURN(const int64_t elements, CheckedElements(meta->second.shape()));
    if (elements > kMostElements)
      return InvalidArgument("it is a constant of {} elements; at most {} are read", elements, kMostElements);
  }
  if (HasParts(op_)) return Parts();
  const auto evaluate = [this]() -> One {
    if (op_ == "fill") {
      ASSIGN_OR_RETURN(const std::vector<double> values, Operand("value"));
      return Dense(meta(), values);
    }
    if (op_ == "copy") {
      ASSIGN_OR_RETURN(const std::vector<double> values, Operand("src"));
      return Dense(meta(), values);
    }
    if (const auto way = Ways().find(op_); way != Ways().end()) return (this->*way->second)();
    if (const auto unary = Unaries().find(op_); unary != Unaries().end()) return OfOne(unary->second);
    if (op_ == "bitwise_not") {
      const bool logical = meta().type == ScalarType::kBool;
      return OfOne(logical ? Unaries().at("logical_not") : [](double x) { return -x - 1; });
    }
    return OfTwo(Binaries().at(op_));
  };
  if (!OptionalTensorOf(node_, "out").empty()) return InvalidArgument("it writes into a constant (out=)");
  ASSIGN_OR_RETURN(Constant result, evaluate());
  if (IsInPlace(node_.target)) {
    ASSIGN_OR_RETURN(result, Written(result));
  }
  return std::vector<Constant>{std::move(result)};
}

Evaluation::One Evaluation::Written(const Constant& result) const {
  ASSIGN_OR_RETURN(Constant self, Self());
  if (self.shape != result.shape)
    return InvalidArgument("it writes {} into {}", ToString(result.shape), ToString(self.shape));
  const std::vector<double> values = result.values();
  const std::vector<int64_t> places = self.places();
  for (size_t i = 0; i < places.size(); ++i)
    (*self.storage)[static_cast<size_t>(places[i])] = Held(values[i], self.type);
  return self;
}

absl::StatusOr<std::vector<Constant>> Evaluation::List(const std::string& argument) const {
  const auto found = node_.arguments.find(argument);
  const auto* const tensors = found == node_.arguments.end() ? nullptr : std::get_if<TensorNames>(&found->second);
  if (tensors == nullptr || tensors->names.empty()) return InvalidArgument("it has no tensors");
  std::vector<Constant> list;
  for (const std::string& name : tensors->names) {
    if (name.empty()) return InvalidArgument("argument {} has tensors and gaps", Quoted(argument));
    list.push_back(*constants_.Find(name));
  }
  return list;
}

Evaluation::One Evaluation::Range() {
  const std::vector<Size>& sizes = meta().sizes;
  if (sizes.size() != 1) return InvalidArgument("its result has no sizes");
  if (!sizes[0].symbol.empty()) {
    const int64_t step = IntegerOf(node_, "step", 1);
    if (NumberOf(node_, "start", 0) != 0 || step < 1) {
      return InvalidArgument("it counts samples from another number than 0, or not upwards");
    }
    Constant samples = Dense(meta(), {0});
    samples.counts_samples = step;
    return samples;
  }
  const double start = NumberOf(node_, "start", 0), step = NumberOf(node_, "step", 1);
  std::vector<double> values;
  for (int64_t i = 0; i < sizes[0].value; ++i) values.push_back(start + static_cast<double>(i) * step);
  return Dense(meta(), std::move(values));
}

Evaluation::One Evaluation::Spaced() {
  RETURN_IF_ERROR(CheckNoSamples(1));
  const int64_t count = IntegerOf(node_, "steps", 0);
  if (ResultShape() != Shape{count}) return InvalidArgument("its result has no sizes");
  const double start = NumberOf(node_, "start", 0), end = NumberOf(node_, "end", 0);
  const double step = count > 1 ? (end - start) / static_cast<double>(count - 1) : 0;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {  // from both ends, as PyTorch does
    values.push_back(i < count / 2 || count == 1 ? start + static_cast<double>(i) * step
                                                 : end - static_cast<double>(count - 1 - i) * step);
  }
  return Dense(meta(), std::move(values));
}

Evaluation::One Evaluation::Eye() {
  RETURN_IF_ERROR(CheckNoSamples(2));
  const Shape shape = ResultShape();
  if (shape.size() != 2) return InvalidArgument("its result has {} dimensions; expected 2", shape.size());
  std::vector<double> values(static_cast<size_t>(Elements(shape)), 0);
  for (int64_t i = 0; i < std::min(shape[0], shape[1]); ++i) values[static_cast<size_t>(i * shape[1] + i)] = 1;
  return Dense(meta(), std::move(values));
}

Evaluation::One Evaluation::OfOne(Unary function) {
  ASSIGN_OR_RETURN(std::vector<double> values, Operand(node_.arguments.contains("self") ? "self" : "input"));
  for (double& value : values) value = function(value);
  return Dense(meta(), std::move(values));
}

Evaluation::One Evaluation::OfTwo(Binary function) {
  const bool power = op_ == "pow" && node_.arguments.contains("exponent");
  ASSIGN_OR_RETURN(std::vector<double> x, Operand("self"));
  ASSIGN_OR_RETURN(const std::vector<double> y, Operand(power ? "exponent" : "other"));
  RETURN_IF_ERROR(CheckFixed(node_, "alpha"));
  const double alpha = NumberOf(node_, "alpha", 1);
  const auto found = node_.arguments.find("rounding_mode");
  const auto* const rounding = found == node_.arguments.end() ? nullptr : std::get_if<std::string>(&found->second);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = op_ == "rsub" ? y[i] - alpha * x[i] : function(x[i], alpha == 1 ? y[i] : alpha * y[i]);
    if (rounding != nullptr) x[i] = *rounding == "floor" ? std::floor(x[i]) : std::trunc(x[i]);
  }
  return Dense(meta(), std::move(x));
}

Evaluation::One Evaluation::Where() {
  ASSIGN_OR_RETURN(const std::vector<double> condition, Operand("condition"));
  ASSIGN_OR_RETURN(std::vector<double> x, Operand("self"));
  ASSIGN_OR_RETURN(const std::vector<double> y, Operand("other"));
  for (size_t i = 0; i < x.size(); ++i) {
    if (condition[i] == 0) x[i] = y[i];
  }
  return Dense(meta(), std::move(x));
}

Evaluation::One Evaluation::MaskedFill() {
  ASSIGN_OR_RETURN(std::vector<double> x, Operand("self"));
  ASSIGN_OR_RETURN(const std::vector<double> mask, Operand("mask"));
  ASSIGN_OR_RETURN(const std::vector<double> value, Operand("value"));
  for (size_t i = 0; i < x.size(); ++i) {
    if (mask[i] != 0) x[i] = value[i];
  }
  return Dense(meta(), std::move(x));
}

Evaluation::One Evaluation::Clamp() {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const double least = NumberOf(node_, "min", -kNone), most = NumberOf(node_, "max", kNone);
  ASSIGN_OR_RETURN(std::vector<double> x, Operand("self"));
  for (double& value : x) value = std::min(std::max(value, least), most);
  return Dense(meta(), std::move(x));
}

Evaluation::One Evaluation::Triangle() {
  RETURN_IF_ERROR(CheckNoSamples(2));
  ASSIGN_OR_RETURN(std::vector<double> x, Operand("self"));
  const Shape shape = ResultShape();
  if (shape.size() < 2) return InvalidArgument("it has {} dimensions; expected 2", shape.size());
  const int64_t rows = shape[shape.size() - 2], columns = shape.back(), diagonal = IntegerOf(node_, "diagonal", 0);
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t column = static_cast<int64_t>(i) % columns, row = static_cast<int64_t>(i) / columns % rows;
    const bool kept = op_ == "tril" ? column - row <= diagonal : column - row >= diagonal;
    if (!kept) x[i] = 0;
  }
  return Dense(meta(), std::move(x));
}

Evaluation::One Evaluation::CumulativeSum() {
  ASSIGN_OR_RETURN(std::vector<double> x, Operand("self"));
  const Shape shape = ResultShape();
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node_, "dim", 0), shape.size()));
  if (!meta().sizes[static_cast<size_t>(dimension)].symbol.empty()) return InvalidArgument("it sums over the batch");
  const auto stride = static_cast<size_t>(RowMajor(shape)[static_cast<size_t>(dimension)]);
  const auto size = static_cast<size_t>(shape[static_cast<size_t>(dimension)]);
  for (size_t i = 0; i < x.size(); ++i) {
    if (i / stride % size > 0) x[i] += x[i - stride];
  }
  return Dense(meta(), std::move(x));
}

Evaluation::One Evaluation::Difference() {
  ASSIGN_OR_RETURN(const Constant self, Self());
  if (self.counts_samples || IntegerOf(node_, "n", 1) != 1) return InvalidArgument("a difference of this kind");
  std::vector<Constant> operands;
  for (const char* const end : {"prepend", "append"}) {
    if (OptionalTensorOf(node_, end).empty()) continue;
    ASSIGN_OR_RETURN(Constant operand, Of(end));
    operands.push_back(std::move(operand));
  }
  ASSIGN_OR_RETURN(const int dimension, Dimension(self, "dim", -1));
  const auto d = static_cast<size_t>(dimension);
  // All in one row: what is prepended, the operand, what is appended.
  const bool prepends = !OptionalTensorOf(node_, "prepend").empty();
  operands.insert(operands.begin() + (prepends ? 1 : 0), self);
  const Shape shape = ResultShape();
  for (const Constant& operand : operands) {
    bool fits = operand.shape.size() == shape.size();
    for (size_t k = 0; fits && k < shape.size(); ++k) fits = k == d || operand.shape[k] == shape[k];
    if (!fits) return InvalidArgument("its operand has the shape {}", ToString(operand.shape));
  }
  std::vector<double> values;
  const auto element = [&](IntList at) -> absl::StatusOr<double> {
    for (const Constant& operand : operands) {
      if (at[d] < operand.shape[d]) {
        int64_t place = operand.offset;
        for (size_t k = 0; k < at.size(); ++k) place += at[k] * operand.strides[k];
        return (*operand.storage)[static_cast<size_t>(place)];
      }
      at[d] -= operand.shape[d];
    }
    return InvalidArgument("its result has more elements than its operands");
  };
  IntList at(shape.size(), 0);
  for (int64_t left = Elements(shape); left > 0; --left) {
    IntList next = at;
    ++next[d];
    ASSIGN_OR_RETURN(const double before, element(at));
    ASSIGN_OR_RETURN(const double after, element(next));
    values.push_back(after - before);
    for (size_t k = shape.size(); k-- > 0;) {
      if (++at[k] < shape[k]) break;
      at[k] = 0;
    }
  }
  return Dense(meta(), std::move(values));
}

Evaluation::One Evaluation::Reduce() {
  ASSIGN_OR_RETURN(const Constant self, Self());
  if (self.counts_samples) return InvalidArgument("it computes with the numbers of samples");
  if (!OptionalTensorOf(node_, "other").empty()) {
    return OfTwo(Binaries().at(op_ == "max" ? "maximum" : "minimum"));
  }
  if (node_.outputs.size() != 1) return InvalidArgument("it gives indices as well");
  IntList dims = IntegersOf(node_, "dim", {});
  if (dims.empty() && IsNumber(node_, "dim")) dims.push_back(IntegerOf(node_, "dim", 0));
  std::vector<bool> reduced(self.shape.size(), dims.empty());
  for (const int64_t dimension : dims) {
    ASSIGN_OR_RETURN(const int d, DimensionOf(dimension, self.shape.size()));
    reduced[static_cast<size_t>(d)] = true;
  }
  const bool orders = op_ != "sum" && op_ != "mean" && op_ != "prod";
  Shape kept = self.shape;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) continue;
    if (self.varies[d] && !orders && op_ != "mean") return InvalidArgument("it sums over the batch");
    kept[d] = 1;
  }
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const bool largest = op_.ends_with("max") || op_ == "any", smallest = op_.ends_with("min") || op_ == "all";
  std::vector<double> values(static_cast<size_t>(Elements(kept)), largest         ? -kInfinite
                                                                  : smallest      ? kInfinite
                                                                  : op_ == "prod" ? 1
                                                                                  : 0);
  std::vector<int64_t> strides = RowMajor(kept);
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (kept[d] == 1) strides[d] = 0;
  }
  const std::vector<double> from = self.values();
  const std::vector<int64_t> places = PlacesOf(self.shape, strides, 0);
  for (size_t i = 0; i < from.size(); ++i) {
    double& value = values[static_cast<size_t>(places[i])];
    const double one = op_ == "any" || op_ == "all" ? static_cast<double>(from[i] != 0) : from[i];
    value = largest         ? std::max(value, one)
            : smallest      ? std::min(value, one)
            : op_ == "prod" ? value * one
                            : value + one;
  }
  if (op_ == "mean") {
    for (double& value : values) value *= static_cast<double>(values.size()) / static_cast<double>(from.size());
  }
  return Dense(meta(), std::move(values));
}

}  // namespace partita::torch_export
