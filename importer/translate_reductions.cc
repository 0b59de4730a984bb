// Sums, means, norms and largest elements over dimensions.
#include <algorithm>
#include <cmath>

#include "importer/moves.h"
#include "importer/translator.h"
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

absl::Status Reduce(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const Imported x, Operand(translator, node));
  ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(node, x.rank()));
  ASSIGN_OR_RETURN(Imported y, Reduced(translator, x, reduction, OpOf(node.target), name));
  const ScalarType type = translator.MetaOf(name).type;
  if (!IsFloat(type) && type != ScalarType::kBool) {
    ASSIGN_OR_RETURN(y.node, translator.Add(name + ".integers", "cast", {y.node}, {{"dtype", std::string("i32")}}));
  }
  translator.Bind(name, std::move(y));
  return absl::OkStatus();
}

// The mean of squared distances from the mean, times n / (n - correction); its root.
absl::Status Variance(Translator& translator, const Node& node) {
  const std::string &name = node.outputs[0], op = OpOf(node.target);
  ASSIGN_OR_RETURN(const Imported x, Operand(translator, node));
  ASSIGN_OR_RETURN(Reduction reduction, ReductionOf(node, x.rank()));
  const double correction = NumberOf(node, "correction", SwitchOf(node, "unbiased", true) ? 1 : 0);
  double count = 1;
  const Shape shape = translator.ShapeOf(x.node);
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  for (size_t j = 0; j < shape.size(); ++j) {
    const auto d = static_cast<size_t>(x.order[j]);
    if (!reduction.reduced[d]) continue;
    if (correction != 0 && !translator.SizeOf(self, d).symbol.empty()) {
      return InvalidArgument("a variance over the batch with correction {}; 0 is read", correction);
    }
    count *= static_cast<double>(shape[j]);
  }
  if (count <= correction) return InvalidArgument("a variance of {} elements", count);
  const Reduction with_sizes{reduction.reduced, true};
  ASSIGN_OR_RETURN(const Imported mean, Reduced(translator, x, with_sizes, "mean", name + ".mean"));
  Imported square = x;
  ASSIGN_OR_RETURN(square.node, translator.Add(name + ".centred", "sub", {x.node, mean.node}));
  ASSIGN_OR_RETURN(square.node, translator.Add(name + ".square", "square", {square.node}));
  ASSIGN_OR_RETURN(Imported y, Reduced(translator, square, reduction, "mean", name + ".variance"));
  ASSIGN_OR_RETURN(y.node,
                   translator.Add(name + ".corrected", "scale", {y.node}, {{"factor", count / (count - correction)}}));
  if (op == "std") {
    ASSIGN_OR_RETURN(y.node, translator.Add(name, "sqrt", {y.node}));
  }
  translator.Bind(name, std::move(y));
  return absl::OkStatus();
}

absl::Status VectorNorm(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  const double order = NumberOf(node, node.arguments.contains("ord") ? "ord" : "p", 2);
  ASSIGN_OR_RETURN(Imported x, Operand(translator, node));
  ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(node, x.rank()));
  if (order != 2 && order != 1) return InvalidArgument("a norm of order {}; 1 and 2 are read", order);
  if (order == 2) {
    ASSIGN_OR_RETURN(x.node, translator.Add(name + ".square", "square", {x.node}));
  } else {
    ASSIGN_OR_RETURN(const std::string negative,
                     translator.Add(name + ".negative", "scale", {x.node}, {{"factor", -1.0}}));
    ASSIGN_OR_RETURN(x.node, translator.Add(name + ".size", "maximum", {x.node, negative}));
  }
  ASSIGN_OR_RETURN(Imported y, Reduced(translator, x, reduction, "sum", name + ".sum"));
  if (order == 2) {
    ASSIGN_OR_RETURN(y.node, translator.Add(name, "sqrt", {y.node}));
  }
  translator.Bind(name, std::move(y));
  return absl::OkStatus();
}

// Pools windows of all elements of a dimension, one dimension after the other.
absl::StatusOr<Imported> LargestOf(Translator& translator, Imported x, const Reduction& reduction,
                                   const std::string& name) {
  for (size_t j = 0; j < x.order.size(); ++j) {
    const Shape shape = translator.ShapeOf(x.node);
    if (!reduction.reduced[static_cast<size_t>(x.order[j])] || shape[j] == 1) continue;
    if (j == 0) return InvalidArgument("the largest element of a batch");
    int64_t behind = 1;
    for (size_t d = j + 1; d < shape.size(); ++d) behind *= shape[d];
    ASSIGN_OR_RETURN(std::string y,
                     translator.Add(name + ".rows", "reshape", {x.node}, {{"shape", Shape{-1, shape[j], 1, behind}}}));
    ASSIGN_OR_RETURN(y, translator.Add(name + ".pool", "max_pool", {y}, {{"kernel", IntList{shape[j], 1}}}));
    Shape result = shape;
    result[j] = 1;
    result[0] = -1;
    ASSIGN_OR_RETURN(x.node, translator.Add(name + ".largest", "reshape", {y}, {{"shape", result}}));
  }
  return x;
}

// Without the dimensions that were reduced to size 1.
absl::StatusOr<Imported> Dropped(Translator& translator, Imported x, const Reduction& reduction,
                                 const std::string& name) {
  if (reduction.kept) return x;
  Order order;
  std::vector<Size> sizes;
  for (const int d : x.order) {
    if (reduction.reduced[static_cast<size_t>(d)]) continue;
    order.push_back(d - static_cast<int>(std::count(reduction.reduced.begin(), reduction.reduced.begin() + d, true)));
    sizes.push_back(translator.SizeOf(name, static_cast<size_t>(order.back())));
  }
  ASSIGN_OR_RETURN(x.node, translator.Reshape(x.node, sizes, name));
  x.order = std::move(order);
  return x;
}

absl::Status Largest(Translator& translator, const Node& node) {
  const std::string &name = node.outputs[0], op = OpOf(node.target);
  if (!OptionalTensorOf(node, "other").empty()) return InvalidArgument("the larger of two tensors; maximum is read");
  ASSIGN_OR_RETURN(Imported x, Operand(translator, node));
  ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(node, x.rank()));
  const bool smallest = op.ends_with("min");
  if (smallest) {
    ASSIGN_OR_RETURN(x.node, translator.Add(name + ".negative", "scale", {x.node}, {{"factor", -1.0}}));
  }
  ASSIGN_OR_RETURN(x, LargestOf(translator, std::move(x), reduction, name));
  if (smallest) {
    ASSIGN_OR_RETURN(x.node, translator.Add(name + ".smallest", "scale", {x.node}, {{"factor", -1.0}}));
  }
  ASSIGN_OR_RETURN(x, Dropped(translator, std::move(x), reduction, name));
  translator.Bind(name, std::move(x));
  return absl::OkStatus();
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
  ASSIGN_OR_RETURN(x, Dropped(translator, std::move(x), reduction, name));
  translator.Bind(name, std::move(x));
  return absl::OkStatus();
}

// Times a triangle of ones.
absl::Status CumulativeSum(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const Imported x, Operand(translator, node));
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", 0), x.rank()));
  const auto at = std::ranges::find(x.order, dimension) - x.order.begin();
  const int64_t size = translator.ShapeOf(x.node)[static_cast<size_t>(at)];
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

void AddReductions(Translations& translations) {
  translations.insert({{"mean", Reduce},
                       {"sum", Reduce},
                       {"var", Variance},
                       {"std", Variance},
                       {"linalg_vector_norm", VectorNorm},
                       {"norm", VectorNorm},
                       {"amax", Largest},
                       {"amin", Largest},
                       {"max", Largest},
                       {"min", Largest},
                       {"logsumexp", LogSumExp},
                       {"cumsum", CumulativeSum}});
}

}  // namespace partita::torch_export
