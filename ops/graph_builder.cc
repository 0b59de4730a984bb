#include "ops/graph_builder.h"

#include "graph/read/listed_values.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

IntList Both(const Sides& sides) { return {sides.height, sides.width}; }
IntList Padding(const Sides& sides) { return {sides.height, sides.height, sides.width, sides.width}; }

Attributes WindowAttributes(const WindowOptions& window) {
  return {{"kernel", Both(window.kernel)}, {"stride", Both(window.stride)}, {"padding", Padding(window.padding)}};
}

}  // namespace

ValueId GraphBuilder::Add(const std::string& name, const std::string& op, const std::vector<ValueId>& inputs,
                          const Attributes& attributes) {
  if (!status_.ok()) return kNoValue;
  NodeDescription node{name, op, {}, attributes};
  for (ValueId input : inputs) node.inputs.push_back(input == kNoValue ? "" : assembler_.graph().value(input).name);
  const absl::StatusOr<ValueId> value = assembler_.Add(node);
  if (!value.ok()) status_ = value.status();
  return value.ok() ? *value : kNoValue;
}

// Whether a layer can look at the shape of `x` to size its parameters.
bool GraphBuilder::Usable(const std::string& name, ValueId x, size_t least_rank) {
  if (!status_.ok()) return false;
  if (x == kNoValue) {
    status_ = InvalidArgument("node {}: its input is missing", Quoted(name));
  } else if (type(x).shape.size() < least_rank) {
    status_ = InvalidArgument("node {}: its input has shape {}; at least {} dimensions are needed", Quoted(name),
                              ToString(type(x).shape), least_rank);
  }
  return status_.ok();
}

ValueId GraphBuilder::Input(const std::string& name, DType dtype, const Shape& shape) {
  return Add(name, "input", {}, {{"dtype", std::string(Name(dtype))}, {"shape", shape}});
}

ValueId GraphBuilder::Parameter(const std::string& name, const Shape& shape, const std::string& initializer,
                                double scale) {
  return Add(name, "parameter", {},
             {{"dtype", std::string(Name(dtype_))}, {"shape", shape}, {"initializer", initializer}, {"scale", scale}});
}

ValueId GraphBuilder::State(const std::string& name, const Shape& shape, double value) {
  return Add(name, "state", {},
             {{"dtype", std::string(Name(dtype_))},
              {"shape", shape},
              {"initializer", std::string("constant")},
              {"scale", value}});
}

ValueId GraphBuilder::Table(const std::string& name, DType dtype, const Shape& shape,
                            const std::vector<double>& values) {
  return Add(name, "state", {},
             {{"dtype", std::string(partita::Name(dtype))},
              {"initializer", "values"},
              {"shape", shape},
              {"values", ListedValues(values)}});
}

ValueId GraphBuilder::Conv2d(const std::string& name, ValueId x, const Conv2dOptions& options) {
  if (!Usable(name, x, 4)) return kNoValue;
  if (options.groups < 1) {
    status_ = InvalidArgument("node {}: groups is {}; at least 1 is needed", Quoted(name), options.groups);
    return kNoValue;
  }
  const Shape shape = {options.channels, options.kernel.height, options.kernel.width, Channels(x) / options.groups};
  const ValueId weights = Parameter(name + "/weights", shape, "he_normal");
  return Add(name, "conv2d", {x, weights},
             {{"stride", Both(options.stride)},
              {"padding", Padding(options.padding)},
              {"dilation", Both(options.dilation)},
              {"groups", options.groups}});
}

ValueId GraphBuilder::MatMul(const std::string& name, ValueId x, int64_t units, const std::string& initializer) {
  if (!Usable(name, x, 2)) return kNoValue;
  const ValueId weights = Parameter(name + "/weights", {Channels(x), units}, initializer);
  return Add(name, "matmul", {x, weights});
}

ValueId GraphBuilder::Bias(const std::string& name, ValueId x) {
  if (!Usable(name, x, 2)) return kNoValue;
  const ValueId values = Parameter(name + "/values", {Channels(x)}, "constant", 0);
  return Add(name, "bias", {x, values});
}

ValueId GraphBuilder::Dense(const std::string& name, ValueId x, int64_t units, const std::string& initializer) {
  return Bias(name + "/bias", MatMul(name + "/matmul", x, units, initializer));
}

ValueId GraphBuilder::BatchNorm(const std::string& name, ValueId x, const BatchNormOptions& options) {
  if (!Usable(name, x, 2)) return kNoValue;
  const Shape shape = {Channels(x)};
  const ValueId gamma = Parameter(name + "/gamma", shape, "constant", 1);
  const ValueId beta = Parameter(name + "/beta", shape, "constant", 0);
  const ValueId mean = State(name + "/running_mean", shape, 0);
  const ValueId variance = State(name + "/running_variance", shape, 1);
  return Add(name, "batch_norm", {x, gamma, beta, mean, variance},
             {{"epsilon", options.epsilon},
              {"momentum", options.momentum},
              {"statistics_samples", options.statistics_samples}});
}

ValueId GraphBuilder::LayerNorm(const std::string& name, ValueId x, double epsilon) {
  if (!Usable(name, x, 2)) return kNoValue;
  const ValueId gain = Parameter(name + "/gain", {Channels(x)}, "constant", 1);
  const ValueId offset = Parameter(name + "/offset", {Channels(x)}, "constant", 0);
  return Add(name, "layer_norm", {x, gain, offset}, {{"epsilon", epsilon}});
}

ValueId GraphBuilder::Relu(const std::string& name, ValueId x) { return Add(name, "relu", {x}); }

ValueId GraphBuilder::Sigmoid(const std::string& name, ValueId x) { return Add(name, "sigmoid", {x}); }

ValueId GraphBuilder::MaxPool(const std::string& name, ValueId x, const WindowOptions& window) {
  return Add(name, "max_pool", {x}, WindowAttributes(window));
}

ValueId GraphBuilder::AveragePool(const std::string& name, ValueId x, const WindowOptions& window) {
  Attributes attributes = WindowAttributes(window);
  attributes.Set("count_padding", window.count_padding);
  return Add(name, "average_pool", {x}, attributes);
}

ValueId GraphBuilder::GlobalAveragePool(const std::string& name, ValueId x) {
  return Add(name, "global_average_pool", {x});
}

ValueId GraphBuilder::Dropout(const std::string& name, ValueId x, double rate) {
  return Add(name, "dropout", {x}, {{"rate", rate}});
}

ValueId GraphBuilder::Concat(const std::string& name, const std::vector<ValueId>& parts, int64_t axis) {
  return Add(name, "concat", parts, {{"axis", axis}});
}

ValueId GraphBuilder::Flatten(const std::string& name, ValueId x) {
  if (!Usable(name, x, 2)) return kNoValue;
  const Shape& shape = type(x).shape;
  const int64_t features = Elements(Shape(shape.begin() + 1, shape.end()));
  return Add(name, "reshape", {x}, {{"shape", IntList{-1, features}}});
}

ValueId GraphBuilder::SoftmaxCrossEntropy(const std::string& name, ValueId logits, ValueId labels,
                                          double label_smoothing) {
  return Add(name, "softmax_cross_entropy", {logits, labels}, {{"label_smoothing", label_smoothing}});
}

ValueId GraphBuilder::Accuracy(const std::string& name, ValueId logits, ValueId labels) {
  return Add(name, "accuracy", {logits, labels});
}

absl::StatusOr<Graph> GraphBuilder::Build(ValueId loss, const std::vector<ValueId>& metrics,
                                          const std::vector<FurtherLoss>& further_losses) {
  RETURN_IF_ERROR(status_);
  if (loss == kNoValue) return InvalidArgument("the graph names no loss; the scalar to be minimised is needed");
  std::vector<std::string> names;
  for (ValueId metric : metrics) {
    if (metric == kNoValue) return InvalidArgument("a metric is missing; values of the graph are needed");
    names.push_back(assembler_.graph().value(metric).name);
  }
  std::vector<FurtherLossDescription> further;
  for (const FurtherLoss& each : further_losses) {
    if (each.value == kNoValue) return InvalidArgument("a further loss is missing; values of the graph are needed");
    further.push_back({assembler_.graph().value(each.value).name, each.weight, each.training_only});
  }
  return assembler_.Finish(assembler_.graph().value(loss).name, names, further);
}

}  // namespace partita
