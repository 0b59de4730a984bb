// Losses: of classes, of truth values and of numbers; and distances.
#include <limits>
#include <string>
#include <utility>

#include "importer/translation/arithmetic.h"
#include "importer/translation/moves.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

// The elements of a loss as they are, their mean, or their sum: `reduction` 0, 1, 2.
absl::Status BoundBy(Formula& f, const Node& node, const std::string& elements, const Order& order) {
  const int64_t reduction = IntegerOf(node, "reduction", 1);
  if (reduction == 0) return Bound(f, elements, order);
  return Bound(f, f.Result(reduction == 1 ? "mean" : "sum", {elements}), {});
}

// What the classes of labels are compared with: logits with their classes last, and labels in the same order. Labels
// may be probabilities of the classes.
struct Classified {
  Imported logits, labels;
  bool probabilities = false;
};

absl::StatusOr<Classified> ClassifiedOf(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string target, TensorOf(node, "target"));
  Classified classified;
  ASSIGN_OR_RETURN(classified.logits, translator.Get(self));
  ASSIGN_OR_RETURN(classified.labels, translator.Whole(target, name));
  Imported &logits = classified.logits, &labels = classified.labels;
  classified.probabilities = IsFloating(translator.TypeOf(labels.node));
  if (labels.rank() + (classified.probabilities ? 0 : 1) != logits.rank()) {
    return InvalidArgument("labels that are no classes");
  }
  const Order classes_last = WithLast(InOrder(logits.rank()), logits.rank() > 1 ? 1 : 0);
  ASSIGN_OR_RETURN(logits, translator.In(logits, classes_last, name));
  if (const int64_t classes = translator.ShapeOf(logits.node).back(); classes > kMostSelected) {
    return InvalidArgument("{} classes; up to {} are read", classes, kMostSelected);
  }
  ASSIGN_OR_RETURN(labels,
                   translator.In(labels, classified.probabilities ? classes_last : InOrder(labels.rank()), name));
  return classified;
}

// The op of the graph: a mean or a sum over classes that all weigh the same.
absl::Status FusedCrossEntropy(Translator& translator, const Node& node, const Classified& classified) {
  const std::string& name = node.outputs[0];
  const Shape shape = translator.ShapeOf(classified.logits.node);
  Formula f(translator, name);
  std::string x = classified.logits.node, y = classified.labels.node;
  if (shape.size() > 3) {  // positions are one dimension
    const int64_t positions = Elements(shape) / shape[0] / shape.back();
    x = f("reshape", {x}, {{"shape", Shape{-1, positions, shape.back()}}});
    y = f("reshape", {y}, {{"shape", Shape{-1, positions}}});
  }
  Attributes attributes = {{"reduction", std::string(IntegerOf(node, "reduction", 1) == 1 ? "mean" : "sum")},
                           {"label_smoothing", NumberOf(node, "label_smoothing", 0)}};
  // By default PyTorch ignores labels of -100. One label for each sample, as a user gives it, is a class.
  const int64_t ignored = IntegerOf(node, "ignore_index", -100);
  const std::string target = OptionalTensorOf(node, "target");
  const Constant* const fixed = translator.ConstantOf(target);
  const bool counts = fixed != nullptr && fixed->counts_samples != 0;  // 0, 1, 2, ...
  if (ignored != -100 || shape.size() > 2 || !(translator.IsUserInput(target) || counts)) {
    attributes.Set("ignore_index", ignored);
  }
  return Bound(f, f.Result("softmax_cross_entropy", {x, y}, std::move(attributes)), {});
}

absl::StatusOr<std::string> NoClassesOfBatch(const std::string& what) {
  return InvalidArgument("{} of classes that are samples of the batch; cross_entropy with a mean or a sum is read",
                         what);
}

// 1 at the class of each label, [..., classes]: rows of the identity, which refuse labels that are no classes, where
// each sample has one that a user gives; else by comparing them.
std::string HotOf(Formula& f, const Node& node, const Classified& classified) {
  Translator& translator = f.translator();
  const Shape shape = translator.ShapeOf(classified.logits.node);
  const int64_t classes = shape.back(), ignored = IntegerOf(node, "ignore_index", -100);
  constexpr int64_t kMostRows = 1024;
  if (translator.Varies(classified.logits.node, shape.size() - 1)) {
    if (ignored >= 0) return f.Kept([] { return NoClassesOfBatch("ignored labels"); });
    const std::string numbers =
        f("positions", {classified.logits.node}, {{"axis", static_cast<int64_t>(shape.size()) - 1}});
    return f.Compared("eq",
                      f("expand", {f.Floats(classified.labels.node)},
                        {{"axes", IntList{static_cast<int64_t>(shape.size()) - 1}}, {"sizes", IntList{1}}}),
                      numbers);
  }
  const bool given = translator.IsUserInput(OptionalTensorOf(node, "target"));
  if (shape.size() == 2 && given && classes <= kMostRows && IntegerOf(node, "ignore_index", -100) == -100) {
    std::vector<double> ones(static_cast<size_t>(classes * classes), 0);
    for (int64_t i = 0; i < classes; ++i) ones[static_cast<size_t>(i * classes + i)] = 1;
    const std::string rows = f.Kept([&] {
      return translator.Values(f.name() + ".rows", DType::kF32, {classes, classes}, ones);
    });
    return f("embedding", {rows, classified.labels.node});
  }
  std::vector<double> numbers;
  for (int64_t i = 0; i < classes; ++i) numbers.push_back(i == ignored ? -0.5 : static_cast<double>(i));
  const std::string all =
      f.Kept([&] { return translator.Values(f.name() + ".classes", DType::kF32, {classes}, numbers); });
  Shape with_classes = shape;
  with_classes[0] = -1;
  with_classes.back() = 1;
  const std::string labels = f("reshape", {f.Floats(classified.labels.node)}, {{"shape", with_classes}});
  return f.Compared("eq", labels, all);
}

// - sum over classes of weight q log p, where q is 1 at the label or the label itself; smoothing mixes q with 1 of all
// classes divided by their number. A mean over labels divides by their weights.
absl::Status CrossEntropyOf(Translator& translator, const Node& node, const Classified& classified, bool logarithms) {
  const std::string& name = node.outputs[0];
  Formula f(translator, name);
  const auto last = static_cast<int64_t>(classified.logits.rank()) - 1;
  const Attributes classes = {{"axes", IntList{last}}};
  const std::string log = logarithms ? classified.logits.node : f("log_softmax", {classified.logits.node});
  std::string q = classified.probabilities ? classified.labels.node : HotOf(f, node, classified);
  std::string weights;
  if (const std::string given = OptionalTensorOf(node, "weight"); !given.empty()) {
    weights = f.Kept([&] { return translator.Get(given); }).node;
  }
  RETURN_IF_ERROR(f.status());
  // What each row of labels counts: the weight of its class, and nothing if it is ignored.
  const std::string weighed = weights.empty() ? q : f("mul", {q, weights});
  const std::string row = classified.probabilities ? "" : f("sum", {weighed}, classes);
  const double smoothing = NumberOf(node, "label_smoothing", 0);
  std::string terms = classified.probabilities ? f("mul", {log, weighed}) : f("masked", {log, q});
  if (!classified.probabilities && !weights.empty()) terms = f("mul", {terms, weights});
  std::string elements = f("sum", {terms}, classes);
  if (smoothing > 0) {
    if (translator.Varies(classified.logits.node, static_cast<size_t>(last))) {
      return NoClassesOfBatch("label smoothing").status();
    }
    const double each = smoothing / static_cast<double>(translator.ShapeOf(classified.logits.node).back());
    std::string all = f("sum", {weights.empty() ? log : f("mul", {log, weights})}, classes);
    if (!classified.probabilities) all = f("masked", {all, f("sum", {q}, classes)});
    elements = f("add", {f.Times(elements, 1 - smoothing), f.Times(all, each)});
  }
  elements = f.Negative(elements);
  Order order = InOrder(classified.logits.rank() - 1);
  if (classified.probabilities || IntegerOf(node, "reduction", 1) != 1) return BoundBy(f, node, elements, order);
  return Bound(f, f.Result("over", {f("sum", {elements}), f("sum", {row})}), {});
}

absl::Status CrossEntropy(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const Classified classified, ClassifiedOf(translator, node));
  const bool plain = OptionalTensorOf(node, "weight").empty() && IntegerOf(node, "reduction", 1) != 0;
  if (plain && !classified.probabilities) return FusedCrossEntropy(translator, node, classified);
  return CrossEntropyOf(translator, node, classified, false);
}

// The logarithms of a softmax are logits of the same probabilities; others are taken as they are.
absl::Status NegativeLogLikelihood(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const Imported given, translator.Get(self));
  ASSIGN_OR_RETURN(const Classified classified, ClassifiedOf(translator, node));
  if (classified.probabilities) return InvalidArgument("labels that are probabilities");
  const bool plain = OptionalTensorOf(node, "weight").empty() && IntegerOf(node, "reduction", 1) != 0;
  if (plain && translator.OpAt(given.node) == "log_softmax") return FusedCrossEntropy(translator, node, classified);
  return CrossEntropyOf(translator, node, classified, true);
}

// Predictions and targets as floats, in one order.
absl::StatusOr<Pair> OperandsOf(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string target, TensorOf(node, "target"));
  Pair pair;
  ASSIGN_OR_RETURN(pair.x, translator.Get(self));
  ASSIGN_OR_RETURN(pair.y, translator.Whole(target, node.outputs[0]));
  ASSIGN_OR_RETURN(pair.y, translator.In(pair.y, pair.x.order, node.outputs[0]));
  ASSIGN_OR_RETURN(pair.y.node, translator.AsFloats(pair.y.node, node.outputs[0]));
  pair.order = pair.x.order;
  return pair;
}

// An operand that broadcasts beside those, "" if the node has none.
std::string Beside(Formula& f, const Node& node, const std::string& argument, const Order& order) {
  const std::string tensor = OptionalTensorOf(node, argument);
  if (tensor.empty()) return "";
  const Imported value = f.Kept([&] { return f.translator().Get(tensor); });
  return f.Floats(f.Lifted(value, order));
}

// (1 - y) x + (1 + (pos_weight - 1) y) (max(-x, 0) + log(1 + exp(-|x|))), which does not overflow.
absl::Status BinaryCrossEntropyWithLogits(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const Pair pair, OperandsOf(translator, node));
  Formula f(translator, node.outputs[0]);
  const std::string &x = pair.x.node, &y = pair.y.node;
  std::string miss = f.Softplus(f.Negative(x));
  if (const std::string weight = Beside(f, node, "pos_weight", pair.order); !weight.empty()) {
    miss = f("mul", {miss, f.Plus(f("mul", {f.Plus(weight, -1), y}), 1)});
  }
  std::string elements = f("add", {f("mul", {f.Without(y), x}), miss});
  if (const std::string weight = Beside(f, node, "weight", pair.order); !weight.empty()) {
    elements = f("mul", {elements, weight});
  }
  return BoundBy(f, node, elements, pair.order);
}

// Of probabilities x, whose logarithms PyTorch bounds by -100. Its gradient is (x - y) / max(x (1 - x), 1e-12), also
// where a logarithm is bounded; that of y, log(1 - x) - log(x).
absl::Status BinaryCrossEntropy(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const Pair pair, OperandsOf(translator, node));
  Formula f(translator, node.outputs[0]);
  const std::string &x = pair.x.node, &y = pair.y.node;
  const std::string p = f("stop_gradient", {x}), t = f("stop_gradient", {y}), q = f.Without(p);
  const auto log = [&f](const std::string& of) { return f("maximum", {f("log", {of}), f.Number(-100, of)}); };
  const std::string hit = log(p), miss = log(q);
  std::string elements = f.Negative(f("add", {f("mul", {t, hit}), f("mul", {f.Without(t), miss})}));
  // What has those gradients, and adds 0.
  const std::string spread = f("maximum", {f("mul", {p, q}), f.Number(1e-12, p)});
  const std::string slope = f("div", {f("sub", {p, t}), spread});
  elements = f("add", {elements, f("mul", {slope, f("sub", {x, p})})});
  elements = f("add", {elements, f("mul", {f("sub", {miss, hit}), f("sub", {y, t})})});
  if (const std::string weight = Beside(f, node, "weight", pair.order); !weight.empty()) {
    elements = f("mul", {elements, weight});
  }
  return BoundBy(f, node, elements, pair.order);
}

// |d|; smooth: with m = min(|d|, beta), m (|d| - m / 2) / beta, which huber_loss multiplies by its delta.
absl::Status AbsoluteError(Translator& translator, const Node& node) {
  const std::string op = OpOf(node.target);
  ASSIGN_OR_RETURN(const Pair pair, OperandsOf(translator, node));
  Formula f(translator, node.outputs[0]);
  const std::string size = f.Magnitude(f("sub", {pair.x.node, pair.y.node}));
  const double beta = NumberOf(node, op == "huber_loss" ? "delta" : "beta", 1);
  if (op == "l1_loss" || beta == 0) return BoundBy(f, node, size, pair.order);
  const std::string over = f("relu", {f.Plus(size, -beta)});
  const std::string least = f("sub", {size, over});
  std::string elements = f("mul", {f("sub", {size, f.Times(least, 0.5)}), least});
  if (op == "smooth_l1_loss") elements = f.Times(elements, 1 / beta);
  return BoundBy(f, node, elements, pair.order);
}

absl::Status SquaredError(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  if (IntegerOf(node, "reduction", 1) != 1) {
    ASSIGN_OR_RETURN(const Pair pair, OperandsOf(translator, node));
    Formula f(translator, name);
    return BoundBy(f, node, f("square", {f("sub", {pair.x.node, pair.y.node})}), pair.order);
  }
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string target, TensorOf(node, "target"));
  ASSIGN_OR_RETURN(Imported predictions, translator.Get(self));
  ASSIGN_OR_RETURN(Imported targets, translator.Get(target));
  if (!predictions.order.empty() && predictions.order[0] != 0) {  // an evaluation weighs the first dimension
    ASSIGN_OR_RETURN(predictions, translator.In(predictions, InOrder(predictions.rank()), name));
  }
  ASSIGN_OR_RETURN(targets, translator.In(targets, predictions.order, name));
  Formula f(translator, name);
  return Bound(f, f.Result("mean_squared_error", {predictions.node, targets.node}), {});
}

// y log(y) - y x of logarithms x, where y is 0 0; of logarithms y, exp(y) (y - x).
absl::Status KullbackLeibler(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const Pair pair, OperandsOf(translator, node));
  Formula f(translator, node.outputs[0]);
  const std::string &x = pair.x.node, &y = pair.y.node;
  if (SwitchOf(node, "log_target", false)) {
    return BoundBy(f, node, f("mul", {f("exp", {y}), f("sub", {y, x})}), pair.order);
  }
  const std::string own = f("masked", {f("mul", {y, f("log", {y})}), y});
  return BoundBy(f, node, f("sub", {own, f("mul", {y, x})}), pair.order);
}

// exp(x) - y x, or x - y log(x + eps); without Stirling's terms.
absl::Status Poisson(Translator& translator, const Node& node) {
  const std::string input = OptionalTensorOf(node, "input"), target = OptionalTensorOf(node, "target");
  if (SwitchOf(node, "full", false)) return InvalidArgument("Stirling's terms (full)");
  ASSIGN_OR_RETURN(const Pair pair, PairOf(translator, input, target, node.outputs[0]));
  Formula f(translator, node.outputs[0]);
  const std::string &x = pair.x.node, &y = pair.y.node;
  const bool logarithms = SwitchOf(node, "log_input", true);
  const std::string log = logarithms ? x : f("log", {f.Plus(x, NumberOf(node, "eps", 1e-8))});
  return BoundBy(f, node, f("sub", {logarithms ? f("exp", {x}) : x, f("mul", {y, log})}), pair.order);
}

// log(1 + exp(-y x)).
absl::Status SoftMargin(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const Pair pair, OperandsOf(translator, node));
  Formula f(translator, node.outputs[0]);
  return BoundBy(f, node, f.Softplus(f.Negative(f("mul", {pair.x.node, pair.y.node}))), pair.order);
}

// max(0, margin - y (x1 - x2)).
absl::Status MarginRanking(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string first, TensorOf(node, "input1"));
  ASSIGN_OR_RETURN(const std::string second, TensorOf(node, "input2"));
  ASSIGN_OR_RETURN(const Pair pair, PairOf(translator, first, second, node.outputs[0]));
  Formula f(translator, node.outputs[0]);
  const std::string y = Beside(f, node, "target", pair.order);
  const std::string apart = f.Negative(f("mul", {y, f("sub", {pair.x.node, pair.y.node})}));
  return BoundBy(f, node, f("relu", {f.Plus(apart, NumberOf(node, "margin", 0))}), pair.order);
}

// x where y is 1, max(0, margin - x) where it is -1.
absl::Status HingeEmbedding(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const Pair pair, OperandsOf(translator, node));
  Formula f(translator, node.outputs[0]);
  const std::string &x = pair.x.node, &y = pair.y.node;
  const std::string far = f("relu", {f.Plus(f.Negative(x), NumberOf(node, "margin", 1))});
  const std::string near = f("masked", {x, f.Compared("ne", y, f.Number(-1, y))});
  return BoundBy(f, node, f("add", {near, f("masked", {far, f.Compared("ne", y, f.Number(1, y))})}), pair.order);
}

// 1 - cos where y is 1, max(0, cos - margin) where it is -1, of the cosine over the last dimension, whose squares of
// lengths PyTorch adds 1e-12 to.
absl::Status CosineEmbedding(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string first, TensorOf(node, "input1"));
  ASSIGN_OR_RETURN(const std::string second, TensorOf(node, "input2"));
  ASSIGN_OR_RETURN(const Pair pair, PairOf(translator, first, second, node.outputs[0]));
  Formula f(translator, node.outputs[0]);
  const int last = static_cast<int>(pair.order.size()) - 1;
  const auto summed = [&](const std::string& x) {
    return f.Kept([&] { return SummedOver(translator, {x, pair.order}, last, false, f.name()); });
  };
  const auto length = [&](const std::string& x) { return f.Plus(summed(f("square", {x})).node, 1e-12); };
  const Imported products = summed(f("mul", {pair.x.node, pair.y.node}));
  const std::string lengths = f("sqrt", {f("mul", {length(pair.x.node), length(pair.y.node)})});
  const std::string cosine = f("div", {products.node, lengths});
  const std::string y = Beside(f, node, "target", products.order);
  const std::string far = f("relu", {f.Plus(cosine, -NumberOf(node, "margin", 0))});
  const std::string alike = f("masked", {f.Without(cosine), f.Compared("eq", y, f.Number(1, y))}),
                    apart = f("masked", {far, f.Compared("eq", y, f.Number(-1, y))});
  return BoundBy(f, node, f("add", {alike, apart}), products.order);
}

// The mean over classes of max(0, margin - x of the label + x)^p, of which that of the label itself counts 0.
absl::Status MultiMargin(Translator& translator, const Node& node) {
  const double p = NumberOf(node, "p", 1);
  if (p != 1 && p != 2) return InvalidArgument("a margin to the power {}; 1 and 2 are read", p);
  ASSIGN_OR_RETURN(const Classified classified, ClassifiedOf(translator, node));
  if (classified.probabilities || classified.logits.rank() != 2) return InvalidArgument("labels that are no classes");
  Formula f(translator, node.outputs[0]);
  const Attributes classes = {{"axes", IntList{1}}, {"keep_sizes", true}};
  const std::string hot = HotOf(f, node, classified), &x = classified.logits.node;
  std::string terms =
      f("relu", {f.Plus(f("sub", {x, f("sum", {f("masked", {x, hot})}, classes)}), NumberOf(node, "margin", 1))});
  if (p == 2) terms = f("square", {terms});
  if (const std::string given = OptionalTensorOf(node, "weight"); !given.empty()) {
    const std::string weights = f.Kept([&] { return translator.Get(given); }).node;
    terms = f("mul", {terms, f("sum", {f("mul", {hot, weights})}, classes)});
  }
  terms = f("mean", {f("masked", {terms, f.Without(hot)})}, {{"axes", IntList{1}}});
  return BoundBy(f, node, terms, InOrder(1));
}

// The sum of products over one dimension, divided by both lengths there, of which each is at least eps.
absl::Status CosineSimilarity(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string first, TensorOf(node, "x1"));
  ASSIGN_OR_RETURN(const std::string second, TensorOf(node, "x2"));
  ASSIGN_OR_RETURN(const Pair pair, PairOf(translator, first, second, name));
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", 1), pair.order.size()));
  const double least = NumberOf(node, "eps", 1e-8);
  Formula f(translator, name);
  const auto summed = [&](const std::string& x) {
    return f.Kept([&] { return SummedOver(translator, {x, pair.order}, dimension, false, name); });
  };
  const auto length = [&](const std::string& x) {
    const std::string root = f.Root(summed(f("square", {x})).node);
    return f("maximum", {root, f.Number(least, root)});
  };
  const Imported products = summed(f("mul", {pair.x.node, pair.y.node}));
  const std::string lengths = f("mul", {length(pair.x.node), length(pair.y.node)});
  return Bound(f, f.Result("div", {products.node, lengths}), products.order);
}

// |x - y + eps| over the last dimension, to the power p.
Imported Distance(Formula& f, const Imported& x, const Imported& y, double p, double epsilon, bool kept) {
  const std::string apart = f.Plus(f("sub", {x.node, y.node}), epsilon);
  const std::string power = p == 1 ? f.Magnitude(apart) : f("square", {apart});
  Imported sum = f.Kept([&] {
    return SummedOver(f.translator(), {power, x.order}, static_cast<int>(x.rank()) - 1, kept, f.name());
  });
  if (p != 1) sum.node = f.Root(sum.node);
  return sum;
}

absl::Status CheckPower(double p) {
  if (p == 1 || p == 2) return absl::OkStatus();
  return InvalidArgument("a distance of order {}; 1 and 2 are read", p);
}

absl::Status PairwiseDistance(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string first, TensorOf(node, "x1"));
  ASSIGN_OR_RETURN(const std::string second, TensorOf(node, "x2"));
  ASSIGN_OR_RETURN(const Pair pair, PairOf(translator, first, second, node.outputs[0]));
  const double p = NumberOf(node, "p", 2);
  RETURN_IF_ERROR(CheckPower(p));
  Formula f(translator, node.outputs[0]);
  const Imported distance = Distance(f, {pair.x.node, pair.order}, {pair.y.node, pair.order}, p,
                                     NumberOf(node, "eps", 1e-6), SwitchOf(node, "keepdim", false));
  return Bound(f, distance.node, distance.order);
}

// max(0, margin + |anchor - positive| - |anchor - negative|); `swap` takes the lesser distance to the negative one.
absl::Status TripletMargin(Translator& translator, const Node& node) {
  const double p = NumberOf(node, "p", 2), epsilon = NumberOf(node, "eps", 1e-6);
  RETURN_IF_ERROR(CheckPower(p));
  std::vector<Imported> points;
  for (const char* const argument : {"anchor", "positive", "negative"}) {
    ASSIGN_OR_RETURN(const std::string tensor, TensorOf(node, argument));
    ASSIGN_OR_RETURN(Imported point, translator.Whole(tensor, node.outputs[0]));
    ASSIGN_OR_RETURN(point, translator.In(point, InOrder(point.rank()), node.outputs[0]));
    points.push_back(std::move(point));
  }
  Formula f(translator, node.outputs[0]);
  const Imported near = Distance(f, points[0], points[1], p, epsilon, false);
  std::string far = Distance(f, points[0], points[2], p, epsilon, false).node;
  if (SwitchOf(node, "swap", false)) {
    const std::string other = Distance(f, points[1], points[2], p, epsilon, false).node;
    far = f.Negative(f("maximum", {f.Negative(far), f.Negative(other)}));
  }
  const std::string apart = f.Plus(f("sub", {near.node, far}), NumberOf(node, "margin", 1));
  return BoundBy(f, node, f("relu", {apart}), near.order);
}

}  // namespace

void AddLosses(Translations& translations) {
  for (const char* const name : {"nll_loss", "nll_loss_nd", "nll_loss2d"}) translations[name] = NegativeLogLikelihood;
  for (const char* const name : {"l1_loss", "smooth_l1_loss", "huber_loss"}) translations[name] = AbsoluteError;
  translations.insert({{"cross_entropy_loss", CrossEntropy},
                       {"mse_loss", SquaredError},
                       {"binary_cross_entropy", BinaryCrossEntropy},
                       {"binary_cross_entropy_with_logits", BinaryCrossEntropyWithLogits},
                       {"kl_div", KullbackLeibler},
                       {"poisson_nll_loss", Poisson},
                       {"soft_margin_loss", SoftMargin},
                       {"margin_ranking_loss", MarginRanking},
                       {"hinge_embedding_loss", HingeEmbedding},
                       {"cosine_similarity", CosineSimilarity},
                       {"cosine_embedding_loss", CosineEmbedding},
                       {"multi_margin_loss", MultiMargin},
                       {"pairwise_distance", PairwiseDistance},
                       {"triplet_margin_loss", TripletMargin}});
}

}  // namespace partita::torch_export
