// Norms: by statistics of the batch, of a sample, or of a group of its channels.
#include <algorithm>
#include <limits>
#include <tuple>

#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

// A parameter of a norm, or a constant in its place.
absl::StatusOr<std::string> OfNorm(Translator& translator, const Node& node, const std::string& argument, int64_t size,
                                   double value) {
  const std::string tensor = OptionalTensorOf(node, argument);
  if (tensor.empty()) {
    return translator.Add(node.outputs[0] + "." + argument, "constant", {}, {{"shape", Shape{size}}, {"value", value}});
  }
  ASSIGN_OR_RETURN(const Imported parameter,
                   translator.GetParameter(tensor, {0}, value == 1 ? Beginning::kOnes : Beginning::kZeros));
  return parameter.node;
}

// (x - mean) / sqrt(variance + epsilon), over those of PyTorch's dimensions.
absl::StatusOr<std::string> Standardized(Translator& translator, const Imported& x, const std::vector<int>& dimensions,
                                         double epsilon, const std::string& name) {
  IntList axes;
  for (size_t j = 0; j < x.order.size(); ++j) {
    if (std::ranges::find(dimensions, x.order[j]) != dimensions.end()) axes.push_back(static_cast<int64_t>(j));
  }
  const Attributes kept = {{"axes", axes}, {"keep_sizes", true}};
  ASSIGN_OR_RETURN(const std::string mean, translator.Add(name + ".mean", "mean", {x.node}, kept));
  ASSIGN_OR_RETURN(const std::string centred, translator.Add(name + ".centred", "sub", {x.node, mean}));
  ASSIGN_OR_RETURN(std::string deviation, translator.Add(name + ".square", "square", {centred}));
  ASSIGN_OR_RETURN(deviation, translator.Add(name + ".variance", "mean", {deviation}, kept));
  ASSIGN_OR_RETURN(const std::string constant, translator.Values(name + ".epsilon", DType::kF32, Shape{1}, {epsilon}));
  ASSIGN_OR_RETURN(deviation, translator.Add(name + ".sum", "add", {deviation, constant}));
  ASSIGN_OR_RETURN(deviation, translator.Add(name + ".deviation", "sqrt", {deviation}));
  return translator.Add(name, "div", {centred, deviation});
}

// Times the weight and plus the bias of each channel, if there are any: PyTorch's dimension 1.
absl::StatusOr<std::string> PerChannel(Translator& translator, const Node& node, const Imported& x,
                                       std::string result) {
  for (const auto& [argument, op, begins] :
       {std::tuple("weight", "mul", Beginning::kOnes), {"bias", "add", Beginning::kZeros}}) {
    const std::string tensor = OptionalTensorOf(node, argument);
    if (tensor.empty()) continue;
    ASSIGN_OR_RETURN(const Imported parameter, translator.GetParameter(tensor, {0}, begins));
    Shape shape(x.rank(), 1);
    shape[static_cast<size_t>(std::ranges::find(x.order, 1) - x.order.begin())] = translator.ShapeOf(parameter.node)[0];
    ASSIGN_OR_RETURN(const std::string lying,
                     translator.Add(node.outputs[0] + "." + argument, "reshape", {parameter.node}, {{"shape", shape}}));
    ASSIGN_OR_RETURN(result, translator.Add(node.outputs[0] + "." + op, op, {result, lying}));
  }
  return result;
}

absl::Status Normalized(Translator& translator, const Node& node, Imported x, const std::vector<int>& dimensions) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(std::string y, Standardized(translator, x, dimensions, NumberOf(node, "eps", 1e-5), name));
  ASSIGN_OR_RETURN(x.node, PerChannel(translator, node, x, std::move(y)));
  translator.Bind(name, std::move(x));
  return absl::OkStatus();
}

// x / sqrt(mean of squares + epsilon), times a weight for each channel.
absl::Status RmsNorm(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string input, TensorOf(node, "input"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(input));
  const IntList normalized = IntegersOf(node, "normalized_shape", {});
  if (normalized.size() != 1) return InvalidArgument("it normalizes {} dimensions; 1 is read", normalized.size());
  const int64_t axis = std::ranges::find(x.order, static_cast<int>(x.rank()) - 1) - x.order.begin();
  // Without one PyTorch takes that of the type: f64 here only if the weights are.
  const bool is_double = translator.MetaOf(input).type == ScalarType::kF64;
  const double epsilon =
      NumberOf(node, "eps", is_double ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon());
  ASSIGN_OR_RETURN(std::string size, translator.Add(name + ".square", "square", {x.node}));
  ASSIGN_OR_RETURN(size,
                   translator.Add(name + ".mean", "mean", {size}, {{"axes", IntList{axis}}, {"keep_sizes", true}}));
  ASSIGN_OR_RETURN(const std::string constant, translator.Values(name + ".epsilon", DType::kF32, Shape{1}, {epsilon}));
  ASSIGN_OR_RETURN(size, translator.Add(name + ".sum", "add", {size, constant}));
  ASSIGN_OR_RETURN(size, translator.Add(name + ".root", "sqrt", {size}));
  const std::string weight = OptionalTensorOf(node, "weight");
  ASSIGN_OR_RETURN(x.node, translator.Add(weight.empty() ? name : name + ".norm", "div", {x.node, size}));
  if (!weight.empty()) {
    ASSIGN_OR_RETURN(Imported gain, translator.GetParameter(weight, {0}, Beginning::kOnes));
    Shape shape(x.rank(), 1);
    shape[static_cast<size_t>(axis)] = normalized[0];
    ASSIGN_OR_RETURN(gain.node, translator.Add(name + ".weight", "reshape", {gain.node}, {{"shape", shape}}));
    ASSIGN_OR_RETURN(x.node, translator.Add(name, "mul", {x.node, gain.node}));
  }
  translator.Bind(name, std::move(x));
  return absl::OkStatus();
}

// g v / |v|, with a norm for each index of one dimension.
absl::Status WeightNorm(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string direction, TensorOf(node, "v"));
  ASSIGN_OR_RETURN(const std::string size, TensorOf(node, "g"));
  ASSIGN_OR_RETURN(Imported v, translator.Get(direction));
  ASSIGN_OR_RETURN(Imported g, translator.Get(size));
  ASSIGN_OR_RETURN(const int kept, DimensionOf(IntegerOf(node, "dim", 0), v.rank()));
  ASSIGN_OR_RETURN(g, translator.In(g, v.order, name));
  IntList axes;
  for (size_t j = 0; j < v.order.size(); ++j) {
    if (v.order[j] != kept) axes.push_back(static_cast<int64_t>(j));
  }
  ASSIGN_OR_RETURN(std::string norm, translator.Add(name + ".square", "square", {v.node}));
  ASSIGN_OR_RETURN(norm, translator.Add(name + ".sum", "sum", {norm}, {{"axes", axes}, {"keep_sizes", true}}));
  ASSIGN_OR_RETURN(norm, translator.Add(name + ".norm", "sqrt", {norm}));
  ASSIGN_OR_RETURN(norm, translator.Add(name + ".scale", "div", {g.node, norm}));
  ASSIGN_OR_RETURN(v.node, translator.Add(name, "mul", {v.node, norm}));
  translator.Bind(name, std::move(v));
  return absl::OkStatus();
}

absl::Status InstanceNorm(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string input, TensorOf(node, "input"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(input));
  if (!SwitchOf(node, "use_input_stats", true)) return InvalidArgument("an instance norm by running statistics");
  if (!OptionalTensorOf(node, "running_mean").empty()) {
    return InvalidArgument("an instance norm with running statistics, which training would leave as they are");
  }
  std::vector<int> dimensions = InOrder(x.rank());
  std::erase_if(dimensions, [](int d) { return d < 2; });
  return Normalized(translator, node, std::move(x), dimensions);
}

// Channels last, [n, rows and columns, groups, channels of one].
absl::Status GroupNorm(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string input, TensorOf(node, "input"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(input));
  ASSIGN_OR_RETURN(x, translator.In(x, WithLast(InOrder(x.rank()), 1), name));
  const Shape shape = translator.ShapeOf(x.node);
  const int64_t groups = IntegerOf(node, "num_groups", 1), channels = shape.back();
  if (groups < 1 || channels % groups != 0) return InvalidArgument("{} groups of {} channels", groups, channels);
  const Shape grouped = {-1, Elements(shape) / shape[0] / channels, groups, channels / groups};
  ASSIGN_OR_RETURN(std::string y, translator.Add(name + ".groups", "reshape", {x.node}, {{"shape", grouped}}));
  ASSIGN_OR_RETURN(y, Standardized(translator, {y, InOrder(4)}, {1, 3}, NumberOf(node, "eps", 1e-5), name + ".norm"));
  Shape whole = shape;
  whole[0] = -1;
  ASSIGN_OR_RETURN(y, translator.Add(name, "reshape", {y}, {{"shape", whole}}));
  ASSIGN_OR_RETURN(x.node, PerChannel(translator, node, x, std::move(y)));
  translator.Bind(name, std::move(x));
  return absl::OkStatus();
}

absl::Status BatchNorm(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string input, TensorOf(node, "input"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(input));
  const bool frozen = !SwitchOf(node, "training", false);
  if (frozen && !translator.AllowsFrozenStatistics()) {
    return InvalidArgument(
        "a batch norm of a module in evaluation; call module.train() before torch.export.export, or keep its "
        "statistics as they are with --freeze-statistics");
  }
  const std::string mean = OptionalTensorOf(node, "running_mean"), variance = OptionalTensorOf(node, "running_var");
  if (mean.empty() || variance.empty()) {  // as of weights that are standardized
    std::vector<int> dimensions = InOrder(x.rank());
    std::erase(dimensions, 1);
    return Normalized(translator, node, std::move(x), dimensions);
  }
  if (x.rank() < 2 || x.rank() > 5) return InvalidArgument("its input has {} dimensions; expected 2 to 5", x.rank());
  ASSIGN_OR_RETURN(x, translator.In(x, WithLast(InOrder(x.rank()), 1), name));
  const Shape shape = translator.ShapeOf(x.node);
  const int64_t channels = shape.back();
  const bool is_image = shape.size() == 2 || shape.size() == 4;
  if (!is_image) {
    ASSIGN_OR_RETURN(x.node,
                     translator.Add(name + ".image", "reshape", {x.node},
                                    {{"shape", Shape{-1, Elements(shape) / shape[0] / channels, 1, channels}}}));
  }
  ASSIGN_OR_RETURN(const std::string gamma, OfNorm(translator, node, "weight", channels, 1));
  ASSIGN_OR_RETURN(const std::string beta, OfNorm(translator, node, "bias", channels, 0));
  const bool updates = SwitchOf(node, "training", false) && !translator.AllowsFrozenStatistics();
  if (updates && translator.IsMade(mean)) {
    return InvalidArgument(
        "a batch norm that is called twice, whose running statistics each call changes; call it once, on both inputs "
        "joined by torch.cat, or give each call a module of its own");
  }
  ASSIGN_OR_RETURN(const Imported running_mean, translator.GetState(mean, 0));
  ASSIGN_OR_RETURN(const Imported running_variance, translator.GetState(variance, 1));
  ASSIGN_OR_RETURN(std::string y, translator.Add(is_image ? name : name + ".norm", "batch_norm",
                                                 {x.node, gamma, beta, running_mean.node, running_variance.node},
                                                 {{"epsilon", NumberOf(node, "eps", 1e-5)},
                                                  {"momentum", NumberOf(node, "momentum", 0.1)},
                                                  {"frozen", frozen}}));
  if (!is_image) {
    Shape whole = shape;
    whole[0] = -1;
    ASSIGN_OR_RETURN(y, translator.Add(name, "reshape", {y}, {{"shape", whole}}));
  }
  translator.Bind(name, {std::move(y), x.order});
  return absl::OkStatus();
}

// Over the last dimensions as one, with their weights.
absl::Status LayerNormOfSeveral(Translator& translator, const Node& node, const Imported& value,
                                const IntList& normalized) {
  const std::string& name = node.outputs[0];
  if (normalized.empty() || normalized.size() > value.rank()) {
    return InvalidArgument("it normalizes {} of {} dimensions", normalized.size(), value.rank());
  }
  ASSIGN_OR_RETURN(const Imported x, translator.In(value, InOrder(value.rank()), name));
  Shape whole = translator.ShapeOf(x.node);
  const int64_t elements = Elements(Shape(normalized.begin(), normalized.end()));
  Shape rows(whole.begin(), whole.end() - static_cast<int64_t>(normalized.size()));
  rows.push_back(elements);
  if (rows.size() > 1) rows[0] = whole[0] = -1;
  std::vector<std::string> inputs;
  ASSIGN_OR_RETURN(inputs.emplace_back(), translator.Add(name + ".rows", "reshape", {x.node}, {{"shape", rows}}));
  for (const auto& [argument, begins] : {std::pair("weight", Beginning::kOnes), {"bias", Beginning::kZeros}}) {
    const std::string tensor = OptionalTensorOf(node, argument);
    if (tensor.empty()) {
      ASSIGN_OR_RETURN(inputs.emplace_back(),
                       translator.Add(name + "." + argument, "constant", {},
                                      {{"shape", Shape{elements}}, {"value", begins == Beginning::kOnes ? 1.0 : 0.0}}));
      continue;
    }
    ASSIGN_OR_RETURN(const Imported parameter, translator.GetParameter(tensor, InOrder(normalized.size()), begins));
    ASSIGN_OR_RETURN(inputs.emplace_back(),
                     translator.Add(name + "." + argument, "reshape", {parameter.node}, {{"shape", Shape{elements}}}));
  }
  ASSIGN_OR_RETURN(std::string y,
                   translator.Add(name + ".norm", "layer_norm", inputs, {{"epsilon", NumberOf(node, "eps", 1e-5)}}));
  ASSIGN_OR_RETURN(y, translator.Add(name, "reshape", {y}, {{"shape", whole}}));
  translator.Bind(name, {std::move(y), x.order});
  return absl::OkStatus();
}

absl::Status LayerNorm(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string input, TensorOf(node, "input"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(input));
  const IntList normalized = IntegersOf(node, "normalized_shape", {});
  if (normalized.size() != 1) return LayerNormOfSeveral(translator, node, x, normalized);
  ASSIGN_OR_RETURN(x, translator.In(x, WithLast(x.order, static_cast<int>(x.rank()) - 1), name));
  ASSIGN_OR_RETURN(const std::string gamma, OfNorm(translator, node, "weight", normalized[0], 1));
  ASSIGN_OR_RETURN(const std::string beta, OfNorm(translator, node, "bias", normalized[0], 0));
  Shape whole = translator.ShapeOf(x.node);
  const bool joined = whole.size() > 4;
  if (joined) {
    const Shape rows = {-1, Elements(whole) / whole[0] / whole.back(), whole.back()};
    ASSIGN_OR_RETURN(x.node, translator.Add(name + ".rows", "reshape", {x.node}, {{"shape", rows}}));
  }
  ASSIGN_OR_RETURN(x.node, translator.Add(joined ? name + ".norm" : name, "layer_norm", {x.node, gamma, beta},
                                          {{"epsilon", NumberOf(node, "eps", 1e-5)}}));
  if (joined) {
    whole[0] = -1;
    ASSIGN_OR_RETURN(x.node, translator.Add(name, "reshape", {x.node}, {{"shape", whole}}));
  }
  translator.Bind(name, std::move(x));
  return absl::OkStatus();
}

}  // namespace

void AddNorms(Translations& translations) {
  translations.insert({{"batch_norm", BatchNorm},
                       {"layer_norm", LayerNorm},
                       {"group_norm", GroupNorm},
                       {"instance_norm", InstanceNorm},
                       {"rms_norm", RmsNorm},
                       {"_weight_norm", WeightNorm}});
}

}  // namespace partita::torch_export
