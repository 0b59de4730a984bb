#include "importer/translation/moves.h"

#include <algorithm>
#include <optional>

#include "importer/program/node_arguments.h"
#include "runtime/base/status.h"

namespace partita::torch_export {

absl::StatusOr<Imported> Cut(Translator& translator, const Imported& value, int dimension, int64_t begin, int64_t size,
                             const std::string& name) {
  const auto at = static_cast<size_t>(std::ranges::find(value.order, dimension) - value.order.begin());
  const Shape shape = translator.ShapeOf(value.node);
  if (begin == 0 && size == shape[at]) return value;
  if (begin < 0 || size < 1 || begin + size > shape[at]) {
    return InvalidArgument("it takes {} elements from {} on, of {}", size, begin, shape[at]);
  }
  IntList begins(shape.size(), 0), sizes(shape.size(), -1);
  begins[at] = begin;
  sizes[at] = size;
  ASSIGN_OR_RETURN(std::string node, translator.Add(name, "slice", {value.node}, {{"begin", begins}, {"size", sizes}}));
  return Imported{std::move(node), value.order};
}

absl::StatusOr<Imported> CutBatch(Translator& translator, const Imported& value, int dimension, const PartOfBatch& part,
                                  const std::string& name) {
  Order first = value.order;
  std::erase(first, dimension);
  first.insert(first.begin(), dimension);
  ASSIGN_OR_RETURN(Imported x, translator.In(value, first, name));
  Shape shape = translator.ShapeOf(x.node);
  for (size_t d = 1; d < shape.size(); ++d) {
    if (translator.Varies(x.node, d)) return InvalidArgument("it cuts a matrix of samples and samples");
  }
  if (shape[0] % part.of != 0) return InvalidArgument("it cuts {} samples into {}", shape[0], part.of);
  Shape parts = shape;
  parts[0] = -1;
  parts.insert(parts.begin(), part.of);
  ASSIGN_OR_RETURN(x.node, translator.Add(name + ".parts", "reshape", {x.node}, {{"shape", parts}}));
  IntList begins(parts.size(), 0), sizes(parts.size(), -1);
  begins[0] = part.begin;
  sizes[0] = part.samples;
  ASSIGN_OR_RETURN(x.node, translator.Add(name + ".cut", "slice", {x.node}, {{"begin", begins}, {"size", sizes}}));
  shape[0] = -1;
  ASSIGN_OR_RETURN(x.node, translator.Add(name, "reshape", {x.node}, {{"shape", shape}}));
  return x;
}

absl::StatusOr<Imported> Dropped(Translator& translator, const Imported& value, const std::vector<bool>& dropped,
                                 const std::string& name) {
  Imported left;
  Shape shape;
  IntList axes;
  size_t varying = 0;
  const Shape own = translator.ShapeOf(value.node);
  for (size_t j = 0; j < value.order.size(); ++j) {
    const int d = value.order[j];
    if (dropped[static_cast<size_t>(d)]) {
      axes.push_back(static_cast<int64_t>(j));
      continue;
    }
    const bool varies = translator.Varies(value.node, j);
    varying += varies ? 1 : 0;
    shape.push_back(varies ? -1 : own[j]);
    left.order.push_back(d - static_cast<int>(std::count(dropped.begin(), dropped.begin() + d, true)));
  }
  if (axes.empty()) return value;
  if (varying > 1) {
    ASSIGN_OR_RETURN(left.node, translator.Add(name, "sum", {value.node}, {{"axes", axes}}));
    return left;
  }
  if (varying == 0 && !shape.empty() && axes[0] != 0) shape[0] = -1;  // the batch, as far as it goes
  ASSIGN_OR_RETURN(left.node, translator.Add(name, "reshape", {value.node}, {{"shape", shape}}));
  return left;
}

absl::StatusOr<Imported> WithOne(Translator& translator, const Imported& value, int dimension,
                                 const std::string& name) {
  Imported made = value;
  for (int& d : made.order) d += d >= dimension ? 1 : 0;
  made.order.push_back(dimension);
  const IntList last = {static_cast<int64_t>(value.rank())};
  ASSIGN_OR_RETURN(made.node,
                   translator.Add(name + ".one", "expand", {value.node}, {{"axes", last}, {"sizes", IntList{1}}}));
  return made;
}

absl::StatusOr<Imported> MixedBy(Translator& translator, const Imported& value, int dimension,
                                 const std::string& matrix, const std::string& name) {
  const size_t rank = value.rank();
  const bool last = rank > 1 && value.order.back() == dimension;
  ASSIGN_OR_RETURN(Imported x, [&]() -> absl::StatusOr<Imported> {
    if (last) return value;
    Order first = value.order;
    std::erase(first, dimension);
    first.insert(first.begin(), dimension);
    return translator.In(value, first, name);
  }());
  if (last && rank <= 3) {
    ASSIGN_OR_RETURN(x.node, translator.Add(name, "matmul", {x.node, matrix}, {{"transpose_w", true}}));
    return x;
  }
  if (last) return InvalidArgument("it mixes the last of {} dimensions", rank);
  Shape shape = translator.ShapeOf(x.node);
  if (rank != 2) {
    for (size_t d = 1; d < rank; ++d) {
      if (translator.Varies(x.node, d)) return InvalidArgument("it mixes samples of {} dimensions", rank);
    }
    const Shape rows = {-1, Elements(shape) / shape[0]};
    ASSIGN_OR_RETURN(x.node, translator.Add(name + ".rows", "reshape", {x.node}, {{"shape", rows}}));
  }
  ASSIGN_OR_RETURN(x.node, translator.Add(name + ".mixed", "matmul", {matrix, x.node}));
  if (rank != 2) {
    shape[0] = -1;
    ASSIGN_OR_RETURN(x.node, translator.Add(name, "reshape", {x.node}, {{"shape", shape}}));
  }
  return x;
}

namespace {

// begin, begin + step, ...: the step; none: they are no such row, or not ascending.
std::optional<int64_t> StepOf(const std::vector<int64_t>& indices) {
  if (indices.size() < 2) return 1;
  const int64_t step = indices[1] - indices[0];
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] - indices[i - 1] != step) return std::nullopt;
  }
  return step > 0 ? std::optional(step) : std::nullopt;
}

absl::Status CheckIndices(const std::vector<int64_t>& indices, int64_t size) {
  for (const int64_t index : indices) {
    if (index < 0 || index >= size) return InvalidArgument("index {} of {} elements", index, size);
  }
  if (indices.empty()) return InvalidArgument("it takes no elements");
  return absl::OkStatus();
}

// Of the first dimension, which is no batch then: rows of a table, as of biases by relative position.
absl::StatusOr<Imported> Rows(Translator& translator, const Imported& value, const std::vector<int64_t>& indices,
                              const std::string& name) {
  Shape shape = translator.ShapeOf(value.node);
  const int64_t size = shape[0], behind = Elements(shape) / size, taken = static_cast<int64_t>(indices.size());
  ASSIGN_OR_RETURN(const std::string ids, translator.Values(name + ".rows", DType::kI32, {taken},
                                                            std::vector<double>(indices.begin(), indices.end())));
  if (shape.size() == 2) {
    ASSIGN_OR_RETURN(std::string node, translator.Add(name, "embedding", {value.node, ids}));
    return Imported{std::move(node), value.order};
  }
  ASSIGN_OR_RETURN(std::string node,
                   translator.Add(name + ".table", "reshape", {value.node}, {{"shape", Shape{size, behind}}}));
  ASSIGN_OR_RETURN(node, translator.Add(name + ".taken", "embedding", {node, ids}));
  shape[0] = taken;
  ASSIGN_OR_RETURN(node, translator.Add(name, "reshape", {node}, {{"shape", shape}}));
  return Imported{std::move(node), value.order};
}

}  // namespace

absl::StatusOr<Imported> Taken(Translator& translator, const Imported& value, int dimension,
                               const std::vector<int64_t>& indices, const std::string& name) {
  const auto at = static_cast<size_t>(std::ranges::find(value.order, dimension) - value.order.begin());
  const Shape shape = translator.ShapeOf(value.node);
  RETURN_IF_ERROR(CheckIndices(indices, shape[at]));
  const int64_t size = shape[at], begin = indices[0];
  const std::optional<int64_t> step = StepOf(indices);
  if (step == 1) return Cut(translator, value, dimension, begin, static_cast<int64_t>(indices.size()), name);
  // Every step-th element: the first of each group of so many.
  if (step && size % *step == 0 && begin < *step && static_cast<int64_t>(indices.size()) == size / *step &&
      shape.size() < 8) {
    Shape groups = shape;
    groups[at] = size / *step;
    groups.insert(groups.begin() + static_cast<int64_t>(at) + 1, *step);
    if (at != 0) groups[0] = -1;
    ASSIGN_OR_RETURN(std::string node, translator.Add(name + ".groups", "reshape", {value.node}, {{"shape", groups}}));
    IntList begins(groups.size(), 0), sizes(groups.size(), -1);
    begins[at + 1] = begin;
    sizes[at + 1] = 1;
    ASSIGN_OR_RETURN(node, translator.Add(name + ".first", "slice", {node}, {{"begin", begins}, {"size", sizes}}));
    Shape result = shape;
    result[at] = size / *step;
    if (at != 0) result[0] = -1;
    ASSIGN_OR_RETURN(node, translator.Add(name, "reshape", {node}, {{"shape", result}}));
    return Imported{std::move(node), value.order};
  }
  if (at == 0 && IsFloating(translator.TypeOf(value.node))) return Rows(translator, value, indices, name);
  const auto taken = static_cast<int64_t>(indices.size());
  if (size * taken > kMostSelected) {
    return InvalidArgument("it takes {} of {} elements at places without order; this is read up to a product of {}",
                           taken, size, kMostSelected);
  }
  std::vector<double> ones(static_cast<size_t>(size * taken), 0);
  for (int64_t i = 0; i < taken; ++i) ones[static_cast<size_t>(i * size + indices[static_cast<size_t>(i)])] = 1;
  return Mixed(translator, value, dimension, ones, name);
}

absl::StatusOr<Imported> Mixed(Translator& translator, const Imported& value, int dimension,
                               const std::vector<double>& matrix, const std::string& name) {
  const auto at = static_cast<size_t>(std::ranges::find(value.order, dimension) - value.order.begin());
  const Shape shape = translator.ShapeOf(value.node);
  const int64_t size = shape[at], made = static_cast<int64_t>(matrix.size()) / size;
  int64_t before = 1, behind = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d < at) before *= shape[d];
    if (d > at) behind *= shape[d];
  }
  ASSIGN_OR_RETURN(const std::string weights, translator.Values(name + ".weights", DType::kF32, {made, size}, matrix));
  const bool last = behind == 1;
  const Shape rows = last ? Shape{at == 0 ? 1 : -1, size} : Shape{at == 0 ? 1 : -1, size, behind};
  ASSIGN_OR_RETURN(std::string node, translator.Add(name + ".rows", "reshape", {value.node}, {{"shape", rows}}));
  if (last) {
    ASSIGN_OR_RETURN(node, translator.Add(name + ".mixed", "matmul", {node, weights}, {{"transpose_w", true}}));
  } else {
    ASSIGN_OR_RETURN(node, translator.Add(name + ".mixed", "batch_matmul", {weights, node}));
  }
  Shape result = shape;
  result[at] = made;
  if (at != 0) result[0] = -1;
  ASSIGN_OR_RETURN(node, translator.Add(name, "reshape", {node}, {{"shape", result}}));
  return Imported{std::move(node), value.order};
}

absl::StatusOr<Imported> Replaced(Translator& translator, const Node& view, const Imported& part,
                                  const std::string& name) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(view, "self"));
  ASSIGN_OR_RETURN(Imported whole, translator.Whole(self, name));
  ASSIGN_OR_RETURN(whole, translator.In(whole, InOrder(whole.rank()), name));
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(view, "dim", 0), whole.rank()));
  const auto at = static_cast<size_t>(dimension);
  const int64_t all = translator.SizeOf(self, at).value;
  const auto place = [all](int64_t index) { return std::clamp<int64_t>(index < 0 ? index + all : index, 0, all); };
  const bool selects = OpOf(view.target) == "select";
  const int64_t begin = place(IntegerOf(view, selects ? "index" : "start", 0));
  const int64_t end = selects ? begin + 1 : place(IntegerOf(view, "end", all));
  if (IntegerOf(view, "step", 1) != 1)
    return InvalidArgument("it writes into every {}th element", IntegerOf(view, "step", 1));
  Imported written = part;
  ASSIGN_OR_RETURN(written, translator.In(written, InOrder(written.rank()), name));
  if (selects) {
    std::vector<Size> sizes = translator.SizesOf(self);
    if (at >= sizes.size()) return InvalidArgument("it writes into {} dimensions", sizes.size());
    sizes[at] = {1};
    ASSIGN_OR_RETURN(written.node, translator.Reshape(written.node, sizes, name + ".part"));
  }
  std::vector<std::string> parts;
  if (begin > 0) {
    ASSIGN_OR_RETURN(Imported before, Cut(translator, whole, dimension, 0, begin, name + ".before"));
    parts.push_back(std::move(before.node));
  }
  parts.push_back(written.node);
  if (end < all) {
    ASSIGN_OR_RETURN(Imported behind, Cut(translator, whole, dimension, end, all - end, name + ".behind"));
    parts.push_back(std::move(behind.node));
  }
  if (parts.size() == 1) return Imported{parts[0], whole.order};
  ASSIGN_OR_RETURN(whole.node, translator.Add(name + ".replaced", "concat", parts, {{"axis", int64_t{dimension}}}));
  return whole;
}

}  // namespace partita::torch_export
