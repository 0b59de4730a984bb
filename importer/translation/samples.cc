// Matrices of samples and samples: identities, triangles and diagonals, whose sizes may vary with the batch.
#include <algorithm>

#include "importer/translation/arithmetic.h"
#include "importer/translation/moves.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

// The number of the row and of the column of each element of a matrix, as a column and as a row.
struct Places {
  std::string row, column;
};

Places PlacesOf(Formula& f, const std::vector<Size>& sizes) {
  return {f.Numbers(sizes[sizes.size() - 2], 2, 0), f.Numbers(sizes[sizes.size() - 1], 2, 1)};
}

// As many numbers as a multiple of the batch, from one on that may be such a multiple.
absl::Status Range(Translator& translator, const Node& node) {
  Formula f(translator, node.outputs[0]);
  const std::vector<Size>& sizes = translator.SizesOf(f.name());
  if (sizes.size() != 1) return InvalidArgument("its result has {} dimensions; expected 1", sizes.size());
  const std::string numbers = f.Times(f.Numbers(sizes[0], 1, 0), NumberOf(node, "step", 1));
  return Bound(f, f("add", {numbers, f.Argument(node, "start", numbers)}), InOrder(1));
}

absl::Status Identity(Translator& translator, const Node& node) {
  Formula f(translator, node.outputs[0]);
  const std::vector<Size>& sizes = translator.SizesOf(f.name());
  if (sizes.size() != 2) return InvalidArgument("its result has {} dimensions; expected 2", sizes.size());
  const Places places = PlacesOf(f, sizes);
  return Bound(f, f.Compared("eq", places.row, places.column), InOrder(2));
}

// What lies above or below a diagonal is 0.
absl::Status Triangle(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported x, translator.Whole(self, node.outputs[0]));
  const std::vector<Size>& sizes = translator.SizesOf(self);
  if (x.rank() < 2 || sizes.size() != x.rank()) {
    return InvalidArgument("it has {} dimensions; expected 2", x.rank());
  }
  Formula f(translator, node.outputs[0]);
  ASSIGN_OR_RETURN(x, translator.In(x, InOrder(x.rank()), f.name()));
  const Places places = PlacesOf(f, sizes);
  const std::string diagonal = f.Plus(places.row, static_cast<double>(IntegerOf(node, "diagonal", 0)));
  const bool below = OpOf(node.target) == "tril";
  const std::string kept = f.Compared(below ? "ge" : "le", diagonal, places.column);
  return Bound(f, f.Result("masked", {f.Floats(x.node), kept}), x.order);
}

// The elements whose column is their row plus the offset: the sums over the columns, of which the others count as 0.
absl::StatusOr<Imported> DiagonalOf(Formula& f, const Node& node, const Imported& value, const std::vector<Size>& sizes,
                                    const char* offset, int first, int second) {
  Translator& translator = f.translator();
  Order order = value.order;
  std::erase_if(order, [&](int d) { return d == first || d == second; });
  order.push_back(first);
  order.push_back(second);
  ASSIGN_OR_RETURN(Imported x, translator.In(value, order, f.name()));
  const Size &rows = sizes[static_cast<size_t>(first)], &columns = sizes[static_cast<size_t>(second)];
  const Places places = PlacesOf(f, {rows, columns});
  const std::string apart = f("add", {places.row, f.Argument(node, offset, places.row)});
  x.node = f("masked", {x.node, f.Compared("eq", apart, places.column)});
  const auto last = static_cast<int64_t>(order.size()) - 1;
  x.node = f("sum", {x.node}, {{"axes", IntList{last}}});
  RETURN_IF_ERROR(f.status());
  // Named as in the result: the other dimensions in turn, and the diagonal behind them.
  x.order.pop_back();
  x.order.back() = static_cast<int>(value.rank());
  for (int& d : x.order) d -= (d > first ? 1 : 0) + (d > second ? 1 : 0);
  const Size made = translator.SizeOf(f.name(), x.rank() - 1);
  const int at = static_cast<int>(x.rank()) - 1;
  const int64_t begin = std::max<int64_t>(0, -IntegerOf(node, offset, 0));
  if (rows.symbol.empty()) return Cut(translator, x, at, begin, made.value, f.name());
  const bool main = !IsOfBatch(node, offset) && IntegerOf(node, offset, 0) == 0 && rows.symbol == columns.symbol;
  if (main || made.symbol == rows.symbol) return x;
  const std::optional<double> of = translator.PerSample(rows), samples = translator.PerSample(made);
  const auto given = node.arguments.find(offset);
  const std::optional<double> by =
      IsOfBatch(node, offset) ? translator.MultipleOf(std::get<Size>(given->second)) : std::nullopt;
  if (!of || !samples || !by) return InvalidArgument("a diagonal that is no multiple of the batch");
  const auto from = static_cast<int64_t>(std::max(0.0, -*by));
  return CutBatch(translator, x, at, {static_cast<int64_t>(*of), from, static_cast<int64_t>(*samples)}, f.name());
}

absl::Status Diagonal(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const Imported x, translator.Get(self));
  ASSIGN_OR_RETURN(const int first, DimensionOf(IntegerOf(node, "dim1", 0), x.rank()));
  ASSIGN_OR_RETURN(const int second, DimensionOf(IntegerOf(node, "dim2", 1), x.rank()));
  if (first == second || translator.SizesOf(self).size() != x.rank()) {
    return InvalidArgument("the diagonal of {} dimensions", x.rank());
  }
  Formula f(translator, node.outputs[0]);
  ASSIGN_OR_RETURN(const Imported y, DiagonalOf(f, node, x, translator.SizesOf(self), "offset", first, second));
  return Bound(f, y.node, y.order);
}

// The diagonal of a matrix, or a matrix with that diagonal; the sum of the diagonal.
absl::Status DiagonalOfMatrix(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const Imported x, translator.Get(self));
  const std::vector<Size>& sizes = translator.SizesOf(self);
  Formula f(translator, node.outputs[0]);
  if (x.rank() == 1 && sizes.size() == 1 && OpOf(node.target) == "diag" && IntegerOf(node, "diagonal", 0) == 0) {
    const Places places = PlacesOf(f, {sizes[0], sizes[0]});
    return Bound(f, f.Result("masked", {x.node, f.Compared("eq", places.row, places.column)}), InOrder(2));
  }
  if (x.rank() != 2 || sizes.size() != 2) return InvalidArgument("the diagonal of {} dimensions", x.rank());
  if (OpOf(node.target) == "diag") {
    ASSIGN_OR_RETURN(const Imported y, DiagonalOf(f, node, x, sizes, "diagonal", 0, 1));
    return Bound(f, y.node, y.order);
  }
  const Places places = PlacesOf(f, sizes);
  ASSIGN_OR_RETURN(const Imported y, translator.In(x, InOrder(2), f.name()));
  const std::string kept = f("masked", {y.node, f.Compared("eq", places.row, places.column)});
  return Bound(f, f.Result("sum", {kept}), {});
}

// Distances of all rows of x1 [..,p,k] from all of x2 [..,r,k].
absl::Status Distances(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string first, TensorOf(node, "x1"));
  ASSIGN_OR_RETURN(const std::string second, TensorOf(node, "x2"));
  const double p = NumberOf(node, "p", 2);
  if (p != 1 && p != 2) return InvalidArgument("a distance of order {}; 1 and 2 are read", p);
  const auto rows_of = [&](const std::string& tensor, int one) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(Imported x, translator.Whole(tensor, node.outputs[0]));
    const int rank = static_cast<int>(x.rank());
    ASSIGN_OR_RETURN(x, WithOne(translator, x, rank - one, node.outputs[0]));
    ASSIGN_OR_RETURN(x, translator.In(x, InOrder(x.rank()), node.outputs[0]));
    return x.node;
  };
  ASSIGN_OR_RETURN(const std::string x, rows_of(first, 1));
  ASSIGN_OR_RETURN(const std::string y, rows_of(second, 2));
  Formula f(translator, node.outputs[0]);
  const std::string apart = f("sub", {x, y});
  RETURN_IF_ERROR(f.status());
  const auto last = static_cast<int64_t>(translator.ShapeOf(apart).size()) - 1;
  const std::string sum = f("sum", {p == 1 ? f.Magnitude(apart) : f("square", {apart})}, {{"axes", IntList{last}}});
  return Bound(f, p == 1 ? sum : f.Root(sum), InOrder(static_cast<size_t>(last)));
}

}  // namespace

void AddSamples(Translations& translations) {
  translations.insert({{"arange", Range},
                       {"eye", Identity},
                       {"tril", Triangle},
                       {"triu", Triangle},
                       {"diagonal", Diagonal},
                       {"diag", DiagonalOfMatrix},
                       {"trace", DiagonalOfMatrix},
                       {"cdist", Distances}});
}

}  // namespace partita::torch_export
