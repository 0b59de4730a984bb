// Sums, means, norms and largest elements over dimensions.
#include <algorithm>
#include <cmath>
#include <optional>

#include "importer/translation/arithmetic.h"
#include "importer/translation/moves.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

// Which of PyTorch's dimensions are reduced; all without `dim`.
struct Reduction {
  std::vector<bool> reduced;
  bool kept = false;  // with size 1
};

absl::StatusOr<Reduction> ReductionOf(const Node& node, size_t rank) {
  IntList dims = IntegersOf(node, "dim", {});
  if (dims.empty() && IsNumber(node, "dim")) dims.push_back(IntegerOf(node, "dim", 0));
  Reduction reduction{std::vector<bool>(rank, dims.empty()), SwitchOf(node, "keepdim", false)};
  for (const int64_t d : dims) {
    ASSIGN_OR_RETURN(const int dimension, DimensionOf(d, rank));
    reduction.reduced[static_cast<size_t>(dimension)] = true;
  }
  return reduction;
}

// The node's operand, of a mean or a sum, over those dimensions.
absl::StatusOr<Imported> Reduced(Translator& translator, const Imported& x, const Reduction& reduction,
                                 const std::string& op, const std::string& name) {
  IntList axes;
  Order order;
  for (size_t j = 0; j < x.order.size(); ++j) {
    const int d = x.order[j];
    const bool reduced = reduction.reduced[static_cast<size_t>(d)];
    if (reduced) axes.push_back(static_cast<int64_t>(j));
    if (reduction.kept) {
      order.push_back(d);
    } else if (!reduced) {
      order.push_back(d - static_cast<int>(std::count(reduction.reduced.begin(), reduction.reduced.begin() + d, true)));
    }
  }
  if (axes.empty()) return x;
  ASSIGN_OR_RETURN(std::string y, translator.Add(name, op, {x.node}, {{"axes", axes}, {"keep_sizes", reduction.kept}}));
  return Imported{std::move(y), std::move(order)};
}

absl::StatusOr<Imported> Operand(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported x, translator.Whole(self, node.outputs[0]));
  ASSIGN_OR_RETURN(x.node, translator.AsFloats(x.node, node.outputs[0]));
  return x;
}

// Sums of integers stay floats: in an evaluation whose last batch is not full they are weighed, and no whole numbers.
absl::Status Reduce(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const Imported x, Operand(translator, node));
  ASSIGN_OR_RETURN(Imported y, Summed(translator, node, x, OpOf(node.target), node.outputs[0]));
  translator.Bind(node.outputs[0], std::move(y));
  return absl::OkStatus();
}

// How many elements there are in each sum, as a node where that varies with the batch.
struct Count {
  double number = 1;
  bool of_samples = false;  // times the number of samples
};

Count CountOf(const Translator& translator, const std::string& self, const Reduction& reduction) {
  Count count;
  for (size_t d = 0; d < reduction.reduced.size(); ++d) {
    if (!reduction.reduced[d]) continue;
    const Size& size = translator.SizeOf(self, d);
    const std::optional<double> each = size.symbol.empty() ? std::nullopt : translator.PerSample(size);
    count.of_samples |= each.has_value();
    count.number *= each ? *each : static_cast<double>(size.value);
  }
  return count;
}

// The mean of squared distances from the mean, times n / (n - correction); its root; and the mean.
absl::Status Variance(Translator& translator, const Node& node) {
  const std::string &name = node.outputs[0], op = OpOf(node.target);
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const Imported x, Operand(translator, node));
  ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(node, x.rank()));
  const double correction = NumberOf(node, "correction", SwitchOf(node, "unbiased", true) ? 1 : 0);
  const Count count = CountOf(translator, self, reduction);
  if (!count.of_samples && count.number <= correction)
    return InvalidArgument("a variance of {} elements", count.number);
  const Reduction with_sizes{reduction.reduced, true};
  ASSIGN_OR_RETURN(const Imported mean, Reduced(translator, x, with_sizes, "mean", name + ".mean"));
  Formula f(translator, name);
  const std::string square = f("square", {f("sub", {x.node, mean.node})});
  RETURN_IF_ERROR(f.status());
  ASSIGN_OR_RETURN(Imported y, Reduced(translator, {square, x.order}, reduction, "mean", name + ".variance"));
  if (correction != 0 && count.of_samples) {
    const std::string all = f.Times(f.Samples(), count.number);
    y.node = f("over", {y.node, f("div", {f.Plus(all, -correction), all})});
  } else {
    y.node = f.Times(y.node, count.number / (count.number - correction));
  }
  if (op.starts_with("std")) y.node = f.Root(y.node);
  if (op.ends_with("_mean") && node.outputs.size() > 1 && !node.outputs[1].empty()) {
    ASSIGN_OR_RETURN(Imported center, Reduced(translator, x, reduction, "mean", node.outputs[1]));
    translator.Bind(node.outputs[1], std::move(center));
  }
  return Bound(f, y.node, std::move(y.order));
}

// The largest element along our dimension j, by which a gradient does not come back; a product of rows and columns may
// vary in both.
absl::StatusOr<Imported> RowMaximum(Translator& translator, const Imported& value, size_t j, const std::string& name) {
  constexpr size_t kMostDimensions = 4;
  ASSIGN_OR_RETURN(Imported x, translator.In(value, WithLast(value.order, value.order[j]), name));
  const size_t rank = x.rank();
  if (rank > kMostDimensions) return InvalidArgument("the largest of a batch, of {} dimensions", rank);
  if (rank == 1) {
    ASSIGN_OR_RETURN(x.node, translator.Add(name + ".row", "reshape", {x.node}, {{"shape", Shape{1, -1}}}));
  }
  ASSIGN_OR_RETURN(x.node, translator.Add(name + ".largest", "row_maximum", {x.node}));
  if (rank == 1) return x;
  const IntList last = {static_cast<int64_t>(rank) - 1};
  ASSIGN_OR_RETURN(x.node, translator.Add(name + ".kept", "expand", {x.node}, {{"axes", last}, {"sizes", IntList{1}}}));
  return translator.In(x, value.order, name);
}

// Pools windows of all elements of a dimension, one dimension after the other. Of one that varies with the batch the
// largest has no gradient.
absl::StatusOr<Imported> LargestOf(Translator& translator, Imported x, const Reduction& reduction,
                                   const std::string& name) {
  for (size_t j = 0; j < x.order.size(); ++j) {
    const Shape shape = translator.ShapeOf(x.node);
    if (!reduction.reduced[static_cast<size_t>(x.order[j])] || shape[j] == 1) continue;
    if (translator.Varies(x.node, j) || (j == 0 && translator.ReadsInputs(x.node))) {
      ASSIGN_OR_RETURN(x, RowMaximum(translator, x, j, name));
      continue;
    }
    int64_t behind = 1;
    for (size_t d = j + 1; d < shape.size(); ++d) behind *= shape[d];
    ASSIGN_OR_RETURN(std::string y, translator.Add(name + ".rows", "reshape", {x.node},
                                                   {{"shape", Shape{j == 0 ? 1 : -1, shape[j], 1, behind}}}));
    ASSIGN_OR_RETURN(y, translator.Add(name + ".pool", "max_pool", {y}, {{"kernel", IntList{shape[j], 1}}}));
    Shape result = shape;
    result[0] = -1;
    result[j] = 1;
    ASSIGN_OR_RETURN(x.node, translator.Add(name + ".largest", "reshape", {y}, {{"shape", result}}));
  }
  return x;
}

// Without the dimensions that were reduced to size 1.
absl::StatusOr<Imported> WithoutReduced(Translator& translator, const Imported& x, const Reduction& reduction,
                                        const std::string& name) {
  if (reduction.kept) return x;
  return Dropped(translator, x, reduction.reduced, name);
}

// Of those along a dimension that is reduced, if it varies with the batch or is the batch.
bool IsOfSamples(const Translator& translator, const Imported& x, const Reduction& reduction) {
  for (size_t j = 0; j < x.order.size(); ++j) {
    if (!reduction.reduced[static_cast<size_t>(x.order[j])]) continue;
    if (translator.Varies(x.node, j) || (j == 0 && translator.ReadsInputs(x.node))) return true;
  }
  return false;
}

// Of equal largest elements amax and the largest of all divide the gradient, as PyTorch's do: the mean of those that
// are not below the largest. The largest along one dimension is the first of them.
absl::Status Extreme(Formula& f, Imported x, const Reduction& reduction, bool smallest) {
  Translator& translator = f.translator();
  if (smallest) x.node = f.Negative(x.node);
  RETURN_IF_ERROR(f.status());
  ASSIGN_OR_RETURN(const Imported largest, LargestOf(translator, x, reduction, f.name()));
  const std::string equal = f("greater_equal", {x.node, largest.node});
  const std::string kept = f("masked", {x.node, equal});
  RETURN_IF_ERROR(f.status());
  ASSIGN_OR_RETURN(Imported sum, Reduced(translator, {kept, x.order}, reduction, "sum", f.name() + ".sum"));
  ASSIGN_OR_RETURN(const Imported count, Reduced(translator, {equal, x.order}, reduction, "sum", f.name() + ".equal"));
  const std::string mean = f("div", {sum.node, count.node});
  return Bound(f, smallest ? f.Negative(mean) : mean, std::move(sum.order));
}

// The element along the reduced dimension at a place that PyTorch's value of that name has.
absl::StatusOr<Imported> ElementAt(Formula& f, const Imported& x, const std::string& place, const Reduction& reduction,
                                   const Size& size) {
  Translator& translator = f.translator();
  ASSIGN_OR_RETURN(const Imported at, translator.Get(place));
  const int dimension = static_cast<int>(std::ranges::find(reduction.reduced, true) - reduction.reduced.begin());
  Imported places = {f.Floats(at.node), at.order};
  if (!reduction.kept) {  // with a dimension of size 1 again
    ASSIGN_OR_RETURN(places, WithOne(translator, places, dimension, f.name()));
  }
  const std::string aligned = f.Lifted(places, x.order);
  const auto j = static_cast<size_t>(std::ranges::find(x.order, dimension) - x.order.begin());
  const std::string chosen = f.Compared("eq", f.Numbers(size, x.rank(), j), aligned);
  const std::string kept = f("masked", {x.node, chosen});
  RETURN_IF_ERROR(f.status());
  return Reduced(translator, {kept, x.order}, reduction, "sum", f.name() + ".element");
}

// The smallest and the largest of a norm's sizes; the root of the sum of powers of them; how many are not 0.
absl::Status VectorNorm(Translator& translator, const Node& node) {
  const std::string &name = node.outputs[0], op = OpOf(node.target);
  const auto word = node.arguments.find("ord");
  if (word != node.arguments.end() && std::holds_alternative<std::string>(word->second) &&
      std::get<std::string>(word->second) != "fro") {
    return InvalidArgument("a norm of matrices of order {}; 'fro' is read", std::get<std::string>(word->second));
  }
  const bool frobenius = op == "linalg_matrix_norm" || word == node.arguments.end() || !IsNumber(node, "ord");
  const double order = frobenius && op.starts_with("linalg") ? 2 : NumberOf(node, op == "norm" ? "p" : "ord", 2);
  ASSIGN_OR_RETURN(Imported x, Operand(translator, node));
  ASSIGN_OR_RETURN(Reduction reduction, ReductionOf(node, x.rank()));
  if (op == "linalg_matrix_norm" && !node.arguments.contains("dim")) {  // the last two
    reduction.reduced.assign(x.rank(), false);
    for (size_t d = x.rank() - std::min<size_t>(2, x.rank()); d < x.rank(); ++d) reduction.reduced[d] = true;
  }
  if (op == "linalg_norm" && !frobenius && std::ranges::count(reduction.reduced, true) > 1) {
    return InvalidArgument("a norm of matrices of order {}; 'fro' is read", order);
  }
  Formula f(translator, name);
  if (std::isinf(order)) {
    const std::string size = f.Magnitude(x.node);
    RETURN_IF_ERROR(f.status());
    return Extreme(f, {size, x.order}, reduction, order < 0);
  }
  const auto raised = [&f](const std::string& size, double exponent) {  // 0 at 0, with the gradient 0
    const std::string above = f("add", {size, f.Compared("eq", size, f.Number(0, size))});
    return f("masked", {f.Raised(above, exponent), size});
  };
  const std::string size = order == 2 ? "" : f.Magnitude(x.node);
  const std::string power = order == 2   ? f("square", {x.node})
                            : order == 1 ? size
                            : order == 0 ? f.Compared("ne", size, f.Number(0, size))
                                         : raised(size, order);
  RETURN_IF_ERROR(f.status());
  ASSIGN_OR_RETURN(Imported y, Reduced(translator, {power, x.order}, reduction, "sum", name + ".sum"));
  if (order == 2) return Bound(f, f.Root(y.node), std::move(y.order));
  if (order == 1 || order == 0) return Bound(f, y.node, std::move(y.order));
  return Bound(f, raised(y.node, 1 / order), std::move(y.order));
}

// How many elements a dimension has, beside that node.
std::string HowMany(Formula& f, const Size& size, const std::string& beside) {
  if (size.symbol.empty()) return f.Number(static_cast<double>(size.value), beside);
  return f.Times(f.Samples(), f.translator().PerSample(size).value_or(1));
}

// size, size - 1, ..., 1 along a dimension.
absl::StatusOr<std::string> PlacesLeft(Formula& f, const Size& size, size_t rank, size_t at) {
  if (size.value > (int64_t{1} << 24)) return InvalidArgument("a place among {} elements", size.value);
  if (size.symbol.empty()) {
    Shape shape(rank, 1);
    shape[at] = size.value;
    std::vector<double> left;
    for (int64_t i = 0; i < size.value; ++i) left.push_back(static_cast<double>(size.value - i));
    return f.translator().Values(f.name() + ".left", DType::kF32, shape, left);
  }
  const std::string numbers = f.Numbers(size, rank, at);
  const std::string left = f("add", {f.Negative(numbers), HowMany(f, size, numbers)});
  RETURN_IF_ERROR(f.status());
  return left;
}

// The place of the first element along a dimension that is not below the largest: the largest of what is left there,
// where places count from the end.
absl::Status BindPlace(Translator& translator, const Imported& x, const Imported& largest, const Reduction& reduction,
                       const Size& size, const std::string& name) {
  const int dimension = static_cast<int>(std::ranges::find(reduction.reduced, true) - reduction.reduced.begin());
  const auto at = static_cast<size_t>(std::ranges::find(x.order, dimension) - x.order.begin());
  Formula f(translator, name);
  ASSIGN_OR_RETURN(const std::string places, PlacesLeft(f, size, x.rank(), at));
  const std::string equal = f("greater_equal", {x.node, largest.node});
  Imported kept = {f("mul", {equal, places}), x.order};
  RETURN_IF_ERROR(f.status());
  ASSIGN_OR_RETURN(kept, LargestOf(translator, std::move(kept), reduction, name));
  ASSIGN_OR_RETURN(kept, WithoutReduced(translator, kept, reduction, name + ".largest"));
  return Bound(f, f("add", {f.Negative(kept.node), HowMany(f, size, kept.node)}), std::move(kept.order));
}

// The size of the only dimension that is reduced.
Size ReducedSize(const Translator& translator, const Node& node, const Reduction& reduction) {
  const auto dimension = std::ranges::find(reduction.reduced, true) - reduction.reduced.begin();
  return translator.SizeOf(OptionalTensorOf(node, "self"), static_cast<size_t>(dimension));
}

absl::Status Largest(Translator& translator, const Node& node) {
  const std::string &name = node.outputs[0], op = OpOf(node.target);
  if (const std::string other = OptionalTensorOf(node, "other"); !other.empty()) {
    ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
    ASSIGN_OR_RETURN(const Pair pair, PairOf(translator, self, other, name));
    Formula f(translator, name);
    if (op == "max") return Bound(f, f.Result("maximum", {pair.x.node, pair.y.node}), pair.order);
    return Bound(f, f.Negative(f("maximum", {f.Negative(pair.x.node), f.Negative(pair.y.node)})), pair.order);
  }
  ASSIGN_OR_RETURN(Imported x, Operand(translator, node));
  ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(node, x.rank()));
  const bool smallest = op.ends_with("min"), first = !op.starts_with("a") && node.arguments.contains("dim");
  Formula f(translator, name);
  if (!first) return Extreme(f, x, reduction, smallest);
  if (smallest) x.node = f.Negative(x.node);
  RETURN_IF_ERROR(f.status());
  ASSIGN_OR_RETURN(Imported largest, LargestOf(translator, x, reduction, name));
  const bool places = node.outputs.size() > 1 && !node.outputs[1].empty();
  const std::string place = places ? node.outputs[1] : name + ".place";
  const bool of_samples = IsOfSamples(translator, x, reduction);
  if (places || of_samples) {
    RETURN_IF_ERROR(BindPlace(translator, x, largest, reduction, ReducedSize(translator, node, reduction), place));
  }
  if (of_samples) {  // the element at the place, which has the gradient
    ASSIGN_OR_RETURN(largest, ElementAt(f, x, place, reduction, ReducedSize(translator, node, reduction)));
  } else {
    ASSIGN_OR_RETURN(largest, WithoutReduced(translator, largest, reduction, name));
  }
  return Bound(f, smallest ? f.Negative(largest.node) : largest.node, std::move(largest.order));
}

absl::Status PlaceOfLargest(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(Imported x, Operand(translator, node));
  if (!IsNumber(node, "dim")) return InvalidArgument("the place among all elements; with dim it is read");
  ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(node, x.rank()));
  if (OpOf(node.target) == "argmin") {
    ASSIGN_OR_RETURN(x.node, translator.Add(node.outputs[0] + ".negative", "scale", {x.node}, {{"factor", -1.0}}));
  }
  ASSIGN_OR_RETURN(const Imported largest, LargestOf(translator, x, reduction, node.outputs[0]));
  return BindPlace(translator, x, largest, reduction, ReducedSize(translator, node, reduction), node.outputs[0]);
}

// The largest element, from which no gradient comes, and the logarithm of the sum of exponentials of what is below.
absl::Status LogSumExp(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(Imported x, Operand(translator, node));
  ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(node, x.rank()));
  const Reduction with_sizes{reduction.reduced, true};
  ASSIGN_OR_RETURN(Imported largest, LargestOf(translator, x, reduction, name));
  ASSIGN_OR_RETURN(largest.node, translator.Add(name + ".bound", "stop_gradient", {largest.node}));
  ASSIGN_OR_RETURN(x.node, translator.Add(name + ".below", "sub", {x.node, largest.node}));
  ASSIGN_OR_RETURN(x.node, translator.Add(name + ".exp", "exp", {x.node}));
  ASSIGN_OR_RETURN(x, Reduced(translator, x, with_sizes, "sum", name + ".sum"));
  ASSIGN_OR_RETURN(x.node, translator.Add(name + ".log", "log", {x.node}));
  ASSIGN_OR_RETURN(x.node, translator.Add(name + ".whole", "add", {x.node, largest.node}));
  ASSIGN_OR_RETURN(x, WithoutReduced(translator, x, reduction, name));
  translator.Bind(name, std::move(x));
  return absl::OkStatus();
}

// Of samples: times a triangle of as many.
absl::Status SumOfSamples(Translator& translator, const Node& node, const Imported& x, int dimension) {
  const std::string& name = node.outputs[0];
  Formula f(translator, name);
  const Size& size = translator.SizeOf(OptionalTensorOf(node, "self"), static_cast<size_t>(dimension));
  const std::string triangle = f.Compared("ge", f.Numbers(size, 2, 0), f.Numbers(size, 2, 1));
  RETURN_IF_ERROR(f.status());
  ASSIGN_OR_RETURN(Imported y, MixedBy(translator, x, dimension, triangle, name));
  return Bound(f, y.node, std::move(y.order));
}

// Products of the two halves of a dimension, until one is left.
absl::Status ProductOf(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(Imported x, Operand(translator, node));
  ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(node, x.rank()));
  if (IsOfSamples(translator, x, reduction)) return InvalidArgument("the product of a batch's samples");
  Formula f(translator, name);
  for (size_t j = 0; j < x.order.size(); ++j) {
    const int d = x.order[j];
    if (!reduction.reduced[static_cast<size_t>(d)]) continue;
    const auto part = [&](int64_t begin, int64_t size) {
      return f.Kept([&] { return Cut(translator, x, d, begin, size, name + ".part"); }).node;
    };
    for (int64_t size = translator.ShapeOf(x.node)[j]; size > 1; size = size / 2 + size % 2) {
      const int64_t half = size / 2;
      std::string product = f("mul", {part(0, half), part(half, half)});
      if (size % 2 != 0) product = f("concat", {product, part(2 * half, 1)}, {{"axis", static_cast<int64_t>(j)}});
      RETURN_IF_ERROR(f.status());
      x.node = product;
    }
  }
  ASSIGN_OR_RETURN(x, WithoutReduced(translator, x, reduction, name));
  return Bound(f, x.node, std::move(x.order));
}

// Times a triangle of ones.
absl::Status CumulativeSum(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const Imported x, Operand(translator, node));
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", 0), x.rank()));
  const auto at = std::ranges::find(x.order, dimension) - x.order.begin();
  const int64_t size = translator.ShapeOf(x.node)[static_cast<size_t>(at)];
  if (translator.Varies(x.node, static_cast<size_t>(at))) return SumOfSamples(translator, node, x, dimension);
  if (size > 4096) return InvalidArgument("running sums of {} elements; up to 4096 are read", size);
  std::vector<double> triangle(static_cast<size_t>(size * size), 0);
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j <= i; ++j) triangle[static_cast<size_t>(i * size + j)] = 1;
  }
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(Imported y, Mixed(translator, x, dimension, triangle, name));
  if (!IsFloat(translator.MetaOf(name).type)) {
    ASSIGN_OR_RETURN(y.node, translator.Add(name + ".integers", "cast", {y.node}, {{"dtype", std::string("i32")}}));
  }
  translator.Bind(name, std::move(y));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Imported> Summed(Translator& translator, const Node& node, const Imported& value, const std::string& op,
                                const std::string& name) {
  ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(node, value.rank()));
  return Reduced(translator, value, reduction, op, name);
}

absl::StatusOr<Imported> SummedOver(Translator& translator, const Imported& value, int dimension, bool kept,
                                    const std::string& name) {
  if (dimension < 0 || dimension >= static_cast<int>(value.rank())) return InvalidArgument("it has no dimensions");
  Reduction reduction{std::vector<bool>(value.rank(), false), kept};
  reduction.reduced[static_cast<size_t>(dimension)] = true;
  return Reduced(translator, value, reduction, "sum", name + ".sum");
}

void AddReductions(Translations& translations) {
  translations.insert({{"mean", Reduce},
                       {"sum", Reduce},
                       {"var", Variance},
                       {"std", Variance},
                       {"var_mean", Variance},
                       {"std_mean", Variance},
                       {"linalg_vector_norm", VectorNorm},
                       {"norm", VectorNorm},
                       {"linalg_norm", VectorNorm},
                       {"linalg_matrix_norm", VectorNorm},
                       {"prod", ProductOf},
                       {"amax", Largest},
                       {"amin", Largest},
                       {"max", Largest},
                       {"min", Largest},
                       {"argmax", PlaceOfLargest},
                       {"argmin", PlaceOfLargest},
                       {"logsumexp", LogSumExp},
                       {"cumsum", CumulativeSum}});
}

}  // namespace partita::torch_export
