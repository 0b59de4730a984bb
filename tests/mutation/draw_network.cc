#include "tests/mutation/draw_network.h"

#include <algorithm>
#include <optional>
#include <set>

#include "graph/proto_io/proto_io.h"
#include "graph/read/graph_assembler.h"
#include "graph/text/text.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

using Ints = IntList;

constexpr int64_t kClasses = 10;  // what labels are drawn from
constexpr int64_t kMostElements = 3000;

int64_t Between(int64_t least, int64_t most, Dice& dice) {
  return least + static_cast<int64_t>(dice.Below(static_cast<size_t>(most - least + 1)));
}

// Grows a graph node by node. A node that its op refuses is not there.
class Network {
 public:
  explicit Network(Dice& dice) : assembler_(Ops()), dice_(dice) {}

  Subject Draw() {
    std::string x = Input();
    for (size_t layers = 1 + dice_.Below(8), tries = 0; layers > 0 && tries < 60; ++tries) {
      const std::optional<std::string> next = Layer(x);
      if (!next) continue;
      x = *next;
      trunk_.push_back(x);
      --layers;
    }
    return Finish(Classifier(x));
  }

 private:
  Dice& dice() { return dice_; }
  const Shape& ShapeOf(const std::string& name) const {
    return assembler_.graph().type(assembler_.graph().Find(name)).shape;
  }
  std::string NewName(const std::string& kind) { return kind + std::to_string(nodes_.size()); }

  // "": the op refuses the node.
  std::optional<std::string> Add(const std::string& op, std::vector<std::string> inputs, Attributes attributes = {}) {
    NodeDescription node{NewName(op), op, std::move(inputs), std::move(attributes)};
    const absl::StatusOr<ValueId> added = assembler_.Add(node);
    if (!added.ok()) return std::nullopt;
    nodes_.push_back(node);
    return node.name;
  }

  std::string Source(const std::string& op, const Shape& shape, const std::string& initializer, double scale) {
    const std::optional<std::string> source =
        Add(op, {}, {{"dtype", std::string("f64")}, {"shape", shape}, {"initializer", initializer}, {"scale", scale}});
    CHECK(source.has_value());
    return *source;
  }

  std::string Parameter(const Shape& shape) { return Source("parameter", shape, "uniform", 0.5); }

  std::string Input() {
    const Shape shape =
        dice().OneIn(4) ? Shape{Between(1, 9, dice_), Between(1, 12, dice_)}
                        : Shape{Between(1, 8, dice_), Between(1, 8, dice_), Between(1, 8, dice_), Between(1, 4, dice_)};
    const std::optional<std::string> input = Add("input", {}, {{"dtype", std::string("f64")}, {"shape", shape}});
    CHECK(input.has_value());
    trunk_.push_back(*input);
    return *input;
  }

  std::optional<std::string> Layer(const std::string& x) {
    const size_t rank = ShapeOf(x).size();
    switch (dice().Below(rank == 4 ? 20 : 13)) {
      case 0:
        return Add("relu", {x});
      case 1:
        return Add("sigmoid", {x});
      case 2:
        return Add("dropout", {x}, {{"rate", 0.25}});
      case 3:
        return Add("add", {x, Alike(x)});
      case 4:
        return Add("mul", {x, Alike(x)});
      case 5:
        return Concat(x);
      case 6:
        return Slice(x);
      case 7:
      case 8:
        return Add("reshape", {x}, {{"shape", DrawShape(Elements(ShapeOf(x)))}});
      case 9:
        return Add("bias", {x, Parameter({ShapeOf(x).back()})});
      case 10:
        return BatchNorm(x);
      case 11:
        return rank == 4 ? Add("global_average_pool", {x}) : Dense(x);
      case 12:
        return BatchProduct(x);
      case 13:
        return Pool("max_pool", x);
      case 14:
        return Pool("average_pool", x);
      default:
        return Convolution(x);
    }
  }

  // An earlier value of the same shape, or a parameter.
  std::string Alike(const std::string& x) {
    std::vector<std::string> alike;
    for (const std::string& value : trunk_) {
      if (ShapeOf(value) == ShapeOf(x)) alike.push_back(value);
    }
    const Shape shape = ShapeOf(x);
    return alike.empty() || dice().OneIn(2) ? Parameter(shape) : dice().Pick(alike);
  }

  std::optional<std::string> Concat(const std::string& x) {
    const int64_t axis = static_cast<int64_t>(dice().Below(ShapeOf(x).size()));
    std::vector<std::string> parts = {x, Alike(x)};
    if (dice().OneIn(3)) parts.push_back(x);
    return Add("concat", parts, {{"axis", axis}});
  }

  std::optional<std::string> Slice(const std::string& x) {
    Ints begin, size;
    for (const int64_t whole : ShapeOf(x)) {
      const int64_t first = dice().OneIn(2) ? 0 : Between(0, whole - 1, dice_);
      begin.push_back(first);
      size.push_back(dice().OneIn(2) ? whole - first : Between(1, whole - first, dice_));
    }
    return Add("slice", {x}, {{"begin", begin}, {"size", size}});
  }

  int64_t DivisorOf(int64_t number) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= number; ++d) {
      if (number % d == 0) divisors.push_back(d);
    }
    return dice().Pick(divisors);
  }

  Shape DrawShape(int64_t elements) {
    const size_t rank = dice().OneIn(3) ? 1 + dice().Below(5) : dice().OneIn(2) ? 2 : 4;
    Shape shape;
    while (shape.size() + 1 < rank) {
      shape.push_back(DivisorOf(elements));
      elements /= shape.back();
    }
    shape.push_back(elements);
    return shape;
  }

  std::optional<std::string> BatchNorm(const std::string& x) {
    const Shape channels = {ShapeOf(x).back()};
    const int64_t samples = ShapeOf(x)[0];
    const int64_t group = dice().OneIn(2) && samples % 2 == 0 ? samples / 2 : 0;
    return Add("batch_norm",
               {x, Parameter(channels), Parameter(channels), Source("state", channels, "constant", 0.1),
                Source("state", channels, "constant", 1)},
               {{"statistics_samples", group}, {"frozen", dice().OneIn(4)}});
  }

  std::optional<std::string> Dense(const std::string& x) {
    if (ShapeOf(x).size() != 2) return std::nullopt;
    return Add("matmul", {x, Parameter({ShapeOf(x)[1], Between(1, 9, dice_)})});
  }

  // Of two values of one shape: the columns of a sample by its columns, or rows by rows.
  std::optional<std::string> BatchProduct(const std::string& x) {
    if (ShapeOf(x).size() < 3) return std::nullopt;
    const bool columns = dice().OneIn(2);
    return Add("batch_matmul", {x, Alike(x)}, {{"transpose_x", columns}, {"transpose_y", !columns}});
  }

  Ints DrawInts(size_t count, int64_t least, int64_t most) {
    Ints ints;
    while (ints.size() < count) ints.push_back(Between(least, most, dice_));
    return ints;
  }

  Ints DrawPadding() { return dice().OneIn(2) ? Ints{0, 0, 0, 0} : DrawInts(4, 0, 2); }

  std::optional<std::string> Pool(const std::string& op, const std::string& x) {
    return Add(op, {x}, {{"kernel", DrawInts(2, 1, 3)}, {"stride", DrawInts(2, 1, 2)}, {"padding", DrawPadding()}});
  }

  std::optional<std::string> Convolution(const std::string& x) {
    const int64_t channels = ShapeOf(x)[3], groups = dice().OneIn(3) ? DivisorOf(channels) : 1;
    const int64_t out = groups * Between(1, 4, dice_);
    // Now and then images that are trained themselves.
    const std::string images = dice().OneIn(20) ? Parameter(ShapeOf(x)) : x;
    const std::string weights = Parameter({out, Between(1, 3, dice_), Between(1, 3, dice_), channels / groups});
    return Add("conv2d", {images, weights},
               {{"padding", DrawPadding()},
                {"stride", dice().OneIn(3) ? DrawInts(2, 1, 2) : Ints{1, 1}},
                {"dilation", dice().OneIn(4) ? DrawInts(2, 1, 2) : Ints{1, 1}},
                {"groups", groups}});
  }

  // Rows of features, a product to classes, the loss.
  std::string Classifier(std::string x) {
    if (ShapeOf(x).size() != 2) {
      const Shape shape = ShapeOf(x);
      const std::optional<std::string> flat =
          shape.size() == 4 && dice().OneIn(2)
              ? Add("global_average_pool", {x})
              : Add("reshape", {x}, {{"shape", Ints{dice().OneIn(2) ? shape[0] : shape.back(), -1}}});
      CHECK(flat.has_value());
      x = *flat;
    }
    const int64_t rows = ShapeOf(x)[0];
    const std::optional<std::string> logits = Add("matmul", {x, Parameter({ShapeOf(x)[1], kClasses})});
    const std::optional<std::string> labels = Add("input", {}, {{"dtype", std::string("i32")}, {"shape", Ints{rows}}});
    CHECK(logits && labels);
    const std::optional<std::string> loss = Add("softmax_cross_entropy", {*logits, *labels});
    CHECK(loss.has_value());
    return *loss;
  }

  // Without what does not lead to the loss.
  Subject Finish(const std::string& loss) {
    std::set<std::string> needed = {loss};
    Subject subject;
    subject.model = "a network";
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      if (!needed.count(node->name)) continue;
      needed.insert(node->inputs.begin(), node->inputs.end());
      subject.nodes.insert(subject.nodes.begin(), *node);
    }
    subject.loss = loss;
    subject.optimizer.attributes = {{"momentum", dice().OneIn(2) ? 0.9 : 0.0}};
    subject.optimizer.clip_norm = dice().OneIn(3) ? 0.1 : 0;
    subject.learning_rate.base = 0.01;
    return subject;
  }

  GraphAssembler assembler_;
  Dice& dice_;
  std::vector<NodeDescription> nodes_;
  std::vector<std::string> trunk_;
};

// How many units a rule of a node splits; 0: none.
int64_t UnitsOf(const Graph& graph, const Node& node, const Rule& rule) {
  for (size_t i = 0; i < rule.inputs.size() + rule.outputs.size(); ++i) {
    const bool output = i >= rule.inputs.size();
    const Pattern& pattern = output ? rule.outputs[i - rule.inputs.size()] : rule.inputs[i];
    const ValueId value = output ? node.outputs[i - rule.inputs.size()] : node.inputs[i];
    if (pattern.kind != AxisLayout::Kind::kSplit || value == kNoValue) continue;
    return pattern.windows ? pattern.windows->count : graph.type(value).shape[pattern.dimension] / pattern.unit;
  }
  return 0;
}

std::vector<int64_t> DrawCuts(int64_t units, int ranks, Dice& dice) {
  std::vector<int64_t> cuts = {0, units};
  while (static_cast<int>(cuts.size()) <= ranks) cuts.push_back(Between(0, units, dice));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

void AddCuts(const Graph& graph, const Strategy& strategy, OpConfig& entry, Dice& dice) {
  const Node& node = graph.node(graph.value(graph.Find(entry.pattern)).producer);
  for (auto& [axis, config] : entry.update.empty() ? entry.axes : entry.update) {
    for (const Rule& rule : RulesOf(graph, node)) {
      if (rule.name != config.split) continue;
      const int ranks = strategy.mesh.axes[strategy.mesh.AxisIndex(axis)].size;
      config.cuts = DrawCuts(UnitsOf(graph, node, rule), ranks, dice);
    }
  }
}

// One to three blocks of most of the nodes, in their order.
void AddBlocks(const Graph& graph, Strategy& strategy, Dice& dice) {
  const size_t blocks = 1 + dice.Below(3), nodes = graph.nodes().size();
  strategy.recompute.resize(blocks);
  for (size_t id = 0; id < nodes; ++id) {
    if (dice.OneIn(5)) continue;
    strategy.recompute[id * blocks / nodes].nodes.push_back(graph.name(static_cast<NodeId>(id)));
  }
  std::erase_if(strategy.recompute, [](const RecomputedBlock& block) { return block.nodes.empty(); });
}

}  // namespace

Subject DrawNetwork(Dice& dice) {
  while (true) {
    Subject subject = Network(dice).Draw();
    const absl::StatusOr<Graph> graph = GraphOf(subject);
    CHECK(graph.ok());
    const auto small = [](const Value& value) { return Elements(value.type.shape) <= kMostElements; };
    if (std::all_of(graph->values().begin(), graph->values().end(), small)) return subject;
  }
}

Strategy DrawStrategy(const Subject& subject, Dice& dice) {
  Subject with = subject;
  const std::vector<std::vector<MeshAxis>> meshes = {{{"data", 2}},
                                                     {{"data", 3}},
                                                     {{"data", 4}},
                                                     {{"data", 2}, {"model", 2}},
                                                     {{"data", 3}, {"model", 2}},
                                                     {{"data", 2}, {"model", 3}}};
  Strategy& strategy = with.strategy;
  strategy.mesh.axes = dice.Pick(meshes);
  const absl::StatusOr<Graph> graph = GraphOf(subject);
  CHECK(graph.ok());
  for (size_t entries = 1 + dice.Below(6); entries-- > 0;) {
    OpConfig entry = DrawEntry(with, dice);
    if (dice.OneIn(2)) AddCuts(*graph, strategy, entry, dice);
    strategy.ops.push_back(std::move(entry));
  }
  if (dice.OneIn(2)) strategy.ops.push_back({"*", {{"data", {"samples", 0, {}}}}, {}});
  if (dice.OneIn(8)) strategy.pipeline.micro_batches = 2;
  if (dice.OneIn(3)) AddBlocks(*graph, strategy, dice);
  return strategy;
}

absl::StatusOr<Strategy> DrawFlags(const Subject& subject, Dice& dice) {
  const absl::StatusOr<Graph> graph = GraphOf(subject);
  CHECK(graph.ok());
  const std::vector<std::pair<int, int>> sizes = {{1, 2}, {2, 1}, {2, 2}, {3, 2}, {2, 3}, {1, 4}, {3, 1}};
  const std::vector<LayerSplit> splits = {LayerSplit::kChannels, LayerSplit::kSamples, LayerSplit::kRows};
  const auto [data, model] = dice.Pick(sizes);
  DataModelOptions options;
  options.convolutions = dice.Pick(splits);
  options.dense = splits[dice.Below(2)];
  options.input_gradients = dice.OneIn(2) ? InputGradients::kReduceScatter : InputGradients::kAllReduce;
  return DataModelStrategy(*graph, data, model, options);
}

std::string ToText(const Subject& subject) {
  const absl::StatusOr<Graph> graph = GraphOf(subject);
  return (graph.ok() ? ToText(*graph) : graph.status().ToString()) +
         PrintStrategy(subject.strategy, ProtoFormat::kText);
}

}  // namespace partita
