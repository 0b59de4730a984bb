// The largest or smallest elements along a dimension in their order, and what is written at places that an input names.
#include <algorithm>
#include <numeric>

#include "importer/translation/arithmetic.h"
#include "importer/translation/moves.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

constexpr int64_t kMostTaken = 64;  // each is a pass over the dimension

// Elements that were taken one after the other, and their places; each [rows,1].
struct TakenElements {
  std::vector<std::string> values, places;
};

// Of x [rows,size], by the numbers that rank them: each time the first of those that are not below the largest of what
// is left. Elements have gradients, places and ranks none.
TakenElements TakeLargest(Formula& f, const std::string& x, const std::string& ranks, int64_t size, int64_t count) {
  std::vector<double> numbers(static_cast<size_t>(size));
  std::iota(numbers.rbegin(), numbers.rend(), 1);  // places count from the end
  const std::string left =
      f.Kept([&] { return f.translator().Values(f.name() + ".left", DType::kF32, {size}, numbers); });
  const auto largest = [&f](const std::string& of) {
    return f("expand", {f("row_maximum", {of})}, {{"axes", IntList{1}}, {"sizes", IntList{1}}});
  };
  const std::string fixed = f("stop_gradient", {ranks});
  std::string rest = fixed, free;
  TakenElements taken;
  for (int64_t i = 0; i < count; ++i) {
    std::string equal = f("greater_equal", {rest, largest(rest)});
    if (!free.empty()) equal = f("mul", {equal, free});
    const std::string scores = f("mul", {equal, left}), best = largest(scores);
    const std::string hot = f("greater_equal", {scores, best});
    taken.values.push_back(f("sum", {f("masked", {x, hot})}, {{"axes", IntList{1}}, {"keep_sizes", true}}));
    taken.places.push_back(f.Plus(f.Negative(best), static_cast<double>(size)));
    if (i + 1 == count) break;
    free = free.empty() ? f.Without(hot) : f("sub", {free, hot});
    rest = f("add", {f("masked", {fixed, free}), f("log", {free})});  // the logarithm of 0 is below all
  }
  return taken;
}

// topk, sort, argsort.
absl::Status Ranked(Translator& translator, const Node& node) {
  const std::string &name = node.outputs[0], op = OpOf(node.target);
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported x, translator.Whole(self, name));
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", -1), x.rank()));
  ASSIGN_OR_RETURN(x, translator.In(x, WithLast(x.order, dimension), name));
  const bool largest = op == "topk" ? SwitchOf(node, "largest", true) : SwitchOf(node, "descending", false);
  Shape shape = translator.ShapeOf(x.node);
  if (translator.Varies(x.node, shape.size() - 1)) return InvalidArgument("an order of the samples of a batch");
  const int64_t size = shape.back(), count = op == "topk" ? IntegerOf(node, "k", 1) : size;
  if (count < 1 || count > kMostTaken || count > size) {
    return InvalidArgument("{} of {} elements in their order; 1 to {} are read", count, size, kMostTaken);
  }
  Formula f(translator, name);
  const std::string rows = f("reshape", {f.Floats(x.node)}, {{"shape", Shape{shape.size() == 1 ? 1 : -1, size}}});
  const TakenElements taken = TakeLargest(f, rows, largest ? rows : f.Negative(rows), size, count);
  shape.back() = count;
  if (shape.size() > 1) shape[0] = -1;
  const auto joined = [&](const std::vector<std::string>& parts) {
    const std::string all = parts.size() == 1 ? parts[0] : f("concat", parts, {{"axis", int64_t{1}}});
    return f("reshape", {all}, {{"shape", shape}});
  };
  const std::string values = op == "argsort" ? "" : joined(taken.values);
  const size_t places = op == "argsort" ? 0 : 1;
  if (node.outputs.size() > places && translator.IsKnown(node.outputs[places]) &&
      translator.IsRead(node.outputs[places])) {
    const std::string at = joined(taken.places);
    const std::string indices = f.Kept([&] { return AsType(translator, at, DType::kI32, name + ".places"); });
    RETURN_IF_ERROR(f.status());
    translator.Bind(node.outputs[places], {indices, x.order});
  }
  if (op == "argsort") return f.status();
  return Bound(f, values, std::move(x.order));
}

// Along a dimension, at places of the index: numbers, or elements of `src`, which scatter_add adds.
absl::Status Scatter(Translator& translator, const Node& node) {
  const std::string &name = node.outputs[0], op = OpOf(node.target);
  if (node.arguments.contains("reduce")) return InvalidArgument("a scatter that reduces; scatter_add is read");
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string index, TensorOf(node, "index"));
  const std::string source = OptionalTensorOf(node, "src");
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", 0), translator.SizesOf(self).size()));
  const auto operand = [&](const std::string& tensor) -> absl::StatusOr<Imported> {
    ASSIGN_OR_RETURN(Imported value, translator.Whole(tensor, name));
    ASSIGN_OR_RETURN(value, translator.In(value, WithLast(InOrder(value.rank()), dimension), name));
    ASSIGN_OR_RETURN(value.node, translator.AsFloats(value.node, name));
    return value;
  };
  ASSIGN_OR_RETURN(Imported x, operand(self));
  ASSIGN_OR_RETURN(const Imported at, operand(index));
  const Shape shape = translator.ShapeOf(x.node), places = translator.ShapeOf(at.node);
  if (places.size() != shape.size() || places.empty() || !std::equal(places.begin(), places.end() - 1, shape.begin())) {
    return InvalidArgument("its index has other sizes than what it writes into");
  }
  if (translator.Varies(x.node, shape.size() - 1) || translator.Varies(at.node, shape.size() - 1)) {
    return InvalidArgument("it writes into samples at places that depend on inputs");
  }
  if (places.back() > kMostTaken) {
    return InvalidArgument("{} places that depend on inputs; up to {} are read", places.back(), kMostTaken);
  }
  Formula f(translator, name);
  const Imported written = source.empty() ? Imported{} : f.Kept([&] { return operand(source); });
  const std::string numbers = f.Numbers({shape.back()}, 1, 0);
  for (int64_t i = 0; i < places.back(); ++i) {
    const auto part = [&](const Imported& of) {
      return f.Kept([&] { return Cut(translator, of, dimension, i, 1, name + ".part"); }).node;
    };
    const std::string hot = f.Compared("eq", part(at), numbers);
    const std::string value =
        source.empty() ? f.Times(hot, NumberOf(node, "value", 0)) : f("masked", {part(written), hot});
    x.node = f("add", {op == "scatter" ? f("masked", {x.node, f.Without(hot)}) : x.node, value});
  }
  RETURN_IF_ERROR(f.status());
  return Bound(f, x.node, std::move(x.order));
}

}  // namespace

void AddSelection(Translations& translations) {
  translations.insert(
      {{"topk", Ranked}, {"sort", Ranked}, {"argsort", Ranked}, {"scatter", Scatter}, {"scatter_add", Scatter}});
}

}  // namespace partita::torch_export
