// Ops that take elements at places that are known, or rows at places that an input names.
#include <algorithm>
#include <numeric>

#include "graph/value/node_name.h"
#include "importer/translation/arithmetic.h"
#include "importer/translation/moves.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

// What index.Tensor does with one operand: dimensions that are indexed by constants, or by the number of the sample,
// which is the sample itself.
struct Indexing {
  std::vector<int> indexed, kept;  // of the operand
  int samples = -1;                // the dimension of the operand that is the batch, if its index counts samples
  int samples_in_block = -1;       // where that index has its samples
  Shape block;                     // that the indices broadcast to; 1 for samples
  size_t place = 0;                // of the block in the result
  std::vector<int64_t> indices;    // into the indexed dimensions as one
};

absl::StatusOr<Indexing> IndexingOf(Translator& translator, const std::string& self,
                                    const std::vector<std::string>& names) {
  Indexing indexing;
  const std::vector<Size>& sizes = translator.SizesOf(self);
  std::vector<const Constant*> constants;
  size_t rank = 0, first = sizes.size(), last = 0, count = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const std::string name = d < names.size() ? names[d] : "";
    if (name.empty()) {
      indexing.kept.push_back(static_cast<int>(d));
      continue;
    }
    const Constant* const constant = translator.ConstantOf(name);
    if (constant == nullptr) return InvalidArgument("its index {} depends on inputs", Quoted(name));
    if (constant->type == ScalarType::kBool) return InvalidArgument("it takes elements by a mask");
    first = std::min(first, d);
    last = d;
    ++count;
    rank = std::max(rank, constant->shape.size());
    constants.push_back(constant);
    const bool varies = !sizes[d].symbol.empty();
    if (constant->counts_samples != (varies ? 1 : 0)) return InvalidArgument("it takes some samples of the batch");
    if (varies) {
      indexing.samples = static_cast<int>(d);
    } else {
      indexing.indexed.push_back(static_cast<int>(d));
    }
  }
  if (indexing.indexed.empty()) return InvalidArgument("it indexes samples alone");
  indexing.block = Shape(rank, 1);
  for (const Constant* const constant : constants) {
    const size_t more = rank - constant->shape.size();
    for (size_t k = 0; k < constant->shape.size(); ++k) {
      if (constant->shape[k] != 1) indexing.block[more + k] = constant->shape[k];
      if (constant->counts_samples && constant->varies[k]) indexing.samples_in_block = static_cast<int>(more + k);
    }
  }
  indexing.place = last - first + 1 == count ? first : 0;
  indexing.indices.assign(static_cast<size_t>(Elements(indexing.block)), 0);
  for (const int d : indexing.indexed) {
    const int64_t size = sizes[static_cast<size_t>(d)].value;
    ASSIGN_OR_RETURN(const std::vector<double> own,
                     Broadcast(*translator.ConstantOf(names[static_cast<size_t>(d)]), indexing.block));
    for (size_t i = 0; i < own.size(); ++i) {
      const auto index = AsInteger(own[i]);
      if (index < -size || index >= size) return InvalidArgument("index {} of {} elements", index, size);
      indexing.indices[i] = indexing.indices[i] * size + (index < 0 ? index + size : index);
    }
  }
  return indexing;
}

// Rows, and what of more dimensions is in a row, at places that an input names.
absl::Status RowsAt(Translator& translator, const Node& node, const std::string& self, const std::string& index) {
  const std::string& name = node.outputs[0];
  const size_t rank = translator.SizesOf(self).size();
  ASSIGN_OR_RETURN(Imported table, translator.GetParameter(self, InOrder(rank), Beginning::kTable));
  if (const Shape shape = translator.ShapeOf(table.node); rank != 2) {
    const Shape rows = {-1, Elements(shape) / shape[0]};
    ASSIGN_OR_RETURN(table.node, translator.Add(name + ".table", "reshape", {table.node}, {{"shape", rows}}));
  }
  ASSIGN_OR_RETURN(Imported ids, translator.Get(index));
  ASSIGN_OR_RETURN(ids, translator.In(ids, InOrder(ids.rank()), name));
  if (const Shape shape = translator.ShapeOf(ids.node); shape.size() > 2) {
    ASSIGN_OR_RETURN(ids.node, translator.Add(name + ".ids", "reshape", {ids.node},
                                              {{"shape", Shape{-1, Elements(shape) / shape[0]}}}));
  }
  ASSIGN_OR_RETURN(std::string rows, translator.Add(name + ".rows", "embedding", {table.node, ids.node}));
  ASSIGN_OR_RETURN(rows, translator.Reshape(rows, translator.SizesOf(name), name));
  translator.Bind(name, {std::move(rows), InOrder(translator.SizesOf(name).size())});
  return absl::OkStatus();
}

// Of a value that is the same for all samples, along its first dimensions.
absl::Status RowsOf(Translator& translator, const std::string& self, const Indexing& indexing,
                    const std::string& name) {
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  ASSIGN_OR_RETURN(value, translator.In(value, InOrder(value.rank()), name));
  std::vector<Size> joined = {{1}};
  for (size_t d = 0; d < value.rank(); ++d) {
    const Size& size = translator.SizeOf(self, d);
    if (d < indexing.indexed.size()) {
      joined[0].value *= size.value;
    } else {
      joined.push_back(size);
    }
  }
  ASSIGN_OR_RETURN(value.node, translator.Reshape(value.node, joined, name + ".joined"));
  value.order = InOrder(joined.size());
  ASSIGN_OR_RETURN(value, Taken(translator, value, 0, indexing.indices, name + ".at"));
  ASSIGN_OR_RETURN(value.node, translator.Reshape(value.node, translator.SizesOf(name), name));
  translator.Bind(name, {std::move(value.node), InOrder(translator.SizesOf(name).size())});
  return absl::OkStatus();
}

// Elements of a dimension at places that an input names, [..., places]: each is the sum of all, of which the others
// count as 0.
absl::Status PickedAt(Translator& translator, const std::string& self, const std::string& index, int dimension,
                      const std::string& name) {
  constexpr int64_t kMostPlaces = 64;
  ASSIGN_OR_RETURN(Imported x, translator.Whole(self, name));
  ASSIGN_OR_RETURN(x, translator.In(x, WithLast(InOrder(x.rank()), dimension), name));
  ASSIGN_OR_RETURN(Imported at, translator.Get(index));
  ASSIGN_OR_RETURN(at, translator.In(at, WithLast(InOrder(at.rank()), dimension), name));
  Shape shape = translator.ShapeOf(x.node), places = translator.ShapeOf(at.node);
  if (places.size() != shape.size() || shape.back() > kMostSelected) {
    return InvalidArgument("its index has {} dimensions, and it takes from {}", places.size(), ToString(shape));
  }
  const int64_t all = shape.back(), taken = places.back();
  if (!std::equal(places.begin(), places.end() - 1, shape.begin())) {
    return InvalidArgument("its index has other sizes than what it takes from");
  }
  if (taken > kMostPlaces)
    return InvalidArgument("{} places that depend on inputs; up to {} are read", taken, kMostPlaces);
  shape[0] = places[0] = -1;
  Shape rows = shape, one = places;
  rows.insert(rows.end() - 1, 1);
  one.push_back(1);
  std::vector<double> numbers(static_cast<size_t>(all));
  std::iota(numbers.begin(), numbers.end(), 0);
  Formula f(translator, name);
  const std::string each = f.Kept([&] { return translator.Values(name + ".each", DType::kF32, {all}, numbers); });
  const std::string chosen = f.Compared("eq", f("reshape", {f.Floats(at.node)}, {{"shape", one}}), each);
  const std::string of = f("masked", {f("reshape", {f.Floats(x.node)}, {{"shape", rows}}), chosen});
  return Bound(f, f("sum", {of}, {{"axes", IntList{static_cast<int64_t>(rows.size()) - 1}}}), x.order);
}

// Whether the first of two indices is each sample's number, [n] or [n,1], and the second has as many places of each.
bool CountsSamples(Translator& translator, const std::string& self, const std::vector<std::string>& names) {
  const Constant* const samples = translator.ConstantOf(names[0]);
  const Size &all = translator.SizeOf(self, 0), &taken = translator.SizeOf(names[1], 0);
  const size_t rank = translator.SizesOf(names[1]).size();
  if (samples == nullptr || rank < 1 || rank > 2 || translator.SizesOf(names[0]).size() != rank ||
      translator.SizesOf(self).size() < 2 || all.value != taken.value || all.symbol != taken.symbol) {
    return false;
  }
  if (samples->counts_samples != 0) return samples->counts_samples == 1 && samples->varies[0];
  const std::vector<double> values = samples->values();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<double>(i)) return false;
  }
  return static_cast<int64_t>(values.size()) == all.value && samples->shape[0] == all.value;
}

// x[arange(n), places] of x [n,t,...]: of each sample the elements at its places, [n] or [n,k], by matrices of 0 and 1.
absl::Status OfEachSample(Translator& translator, const std::string& self, const std::string& index,
                          const std::string& name) {
  ASSIGN_OR_RETURN(Imported x, translator.Whole(self, name));
  ASSIGN_OR_RETURN(x, translator.In(x, InOrder(x.rank()), name));
  ASSIGN_OR_RETURN(Imported at, translator.Get(index));
  ASSIGN_OR_RETURN(at, translator.In(at, InOrder(at.rank()), name));
  const Shape shape = translator.ShapeOf(x.node);
  const int64_t all = shape[1], taken = at.rank() == 1 ? 1 : translator.ShapeOf(at.node)[1];
  std::vector<double> numbers(static_cast<size_t>(all));
  std::iota(numbers.begin(), numbers.end(), 0);
  Formula f(translator, name);
  const std::string each = f.Kept([&] { return translator.Values(name + ".each", DType::kF32, {all}, numbers); });
  std::string places = f("reshape", {f.Floats(at.node)}, {{"shape", Shape{-1, taken, 1}}});
  const std::string from_the_end = f.Compared("lt", places, f.Number(0, places));
  places = f("add", {places, f.Times(from_the_end, static_cast<double>(all))});
  const Shape rows = {-1, all, Elements(shape) / shape[0] / all};
  const std::string y =
      f("batch_matmul", {f.Compared("eq", places, each), f("reshape", {f.Floats(x.node)}, {{"shape", rows}})});
  const std::vector<Size>& sizes = translator.SizesOf(name);
  return Bound(f, f.Kept([&] { return translator.Reshape(y, sizes, name); }), InOrder(sizes.size()));
}

absl::Status Index(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  const auto found = node.arguments.find("indices");
  const auto* const names = found == node.arguments.end() ? nullptr : std::get_if<TensorNames>(&found->second);
  if (names == nullptr || names->names.empty() || !translator.IsKnown(self) || !translator.IsKnown(name)) {
    return InvalidArgument("it has no indices");
  }
  if (names->names.size() == 1 && translator.ConstantOf(names->names[0]) == nullptr) {
    return RowsAt(translator, node, self, names->names[0]);
  }
  if (names->names.size() == 2 && translator.ConstantOf(names->names[1]) == nullptr) {
    if (CountsSamples(translator, self, names->names)) return OfEachSample(translator, self, names->names[1], name);
  }
  ASSIGN_OR_RETURN(const Indexing indexing, IndexingOf(translator, self, names->names));
  if (indexing.samples < 0 && indexing.place == 0 && indexing.indexed == InOrder(indexing.indexed.size()) &&
      IsFloat(translator.MetaOf(self).type)) {
    return RowsOf(translator, self, indexing, name);
  }
  // The operand with its samples first and the indexed dimensions, as one, last; the result likewise.
  Order before, after;
  if (indexing.samples >= 0) {
    before.push_back(indexing.samples);
    after.push_back(static_cast<int>(indexing.place) + indexing.samples_in_block);
  }
  const int block = static_cast<int>(indexing.block.size());
  for (size_t i = 0; i < indexing.kept.size(); ++i) {
    const int d = indexing.kept[i];
    before.push_back(d);
    after.push_back(static_cast<int>(i) + (i < indexing.place ? 0 : block));
  }
  const size_t leading = before.size();
  before.insert(before.end(), indexing.indexed.begin(), indexing.indexed.end());
  for (int k = 0; k < block; ++k) {
    if (k != indexing.samples_in_block) after.push_back(static_cast<int>(indexing.place) + k);
  }
  if (after.size() != translator.SizesOf(name).size() ||
      std::ranges::any_of(after, [&](int d) { return d >= static_cast<int>(after.size()); })) {
    return InvalidArgument("its result has {} dimensions; expected {}", translator.SizesOf(name).size(), after.size());
  }
  ASSIGN_OR_RETURN(Imported value, translator.Whole(self, name));
  const bool floats = IsFloating(translator.TypeOf(value.node));
  ASSIGN_OR_RETURN(value, translator.In(value, before, name));
  std::vector<Size> joined;
  int64_t all = 1;
  for (size_t j = 0; j < before.size(); ++j) {
    const Size& size = translator.SizeOf(self, static_cast<size_t>(before[j]));
    if (j < leading) {
      joined.push_back(size);
    } else {
      all *= size.value;
    }
  }
  joined.push_back({all});
  ASSIGN_OR_RETURN(value.node, translator.Reshape(value.node, joined, name + ".joined"));
  ASSIGN_OR_RETURN(value.node, translator.AsFloats(value.node, name));
  value.order = InOrder(joined.size());
  ASSIGN_OR_RETURN(value, Taken(translator, value, static_cast<int>(leading), indexing.indices, name + ".at"));
  if (!floats) {
    ASSIGN_OR_RETURN(value.node,
                     translator.Add(name + ".integers", "cast", {value.node}, {{"dtype", std::string("i32")}}));
  }
  std::vector<Size> ordered;
  for (const int d : after) ordered.push_back(translator.SizeOf(name, static_cast<size_t>(d)));
  ASSIGN_OR_RETURN(value.node, translator.Reshape(value.node, ordered, name));
  translator.Bind(name, {std::move(value.node), std::move(after)});
  return absl::OkStatus();
}

// The places of a constant index that takes the same ones of all rows along a dimension; empty: it is another index.
std::vector<int64_t> SameAlongOthers(Translator& translator, const std::string& self, const std::string& index,
                                     int dimension) {
  const Constant* const places = translator.ConstantOf(index);
  if (places == nullptr || places->counts_samples != 0) return {};
  for (size_t d = 0; d < places->shape.size(); ++d) {
    const Size &of = translator.SizeOf(self, d), &taken = translator.SizeOf(index, d);
    if (static_cast<int>(d) != dimension && (of.value != taken.value || of.symbol != taken.symbol)) return {};
  }
  const Constant rows = places->Permuted(WithLast(InOrder(places->shape.size()), dimension));
  const std::vector<double> values = rows.values();
  const auto taken = static_cast<size_t>(rows.shape.back());
  for (size_t i = taken; i < values.size(); ++i) {
    if (values[i] != values[i - taken]) return {};
  }
  std::vector<int64_t> indices;
  for (size_t i = 0; i < taken && i < values.size(); ++i) indices.push_back(AsInteger(values[i]));
  return indices;
}

// Along the last dimension: from a constant that is the same along the others, at places that an input names; or from
// data at constant places, which may differ from row to row.
absl::Status Gather(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string index, TensorOf(node, "index"));
  const std::vector<Size>& sizes = translator.SizesOf(self);
  const size_t rank = sizes.size();
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", 0), rank));
  if (rank == 1) return RowsAt(translator, node, self, index);
  const bool fixed = translator.ConstantOf(self) != nullptr || translator.ConstantOf(index) != nullptr;
  if (!fixed && dimension > 0) return PickedAt(translator, self, index, dimension, name);
  if (const std::vector<int64_t> indices = SameAlongOthers(translator, self, index, dimension); !indices.empty()) {
    ASSIGN_OR_RETURN(const Imported value, translator.Get(self));
    ASSIGN_OR_RETURN(Imported taken, Taken(translator, value, dimension, indices, name));
    translator.Bind(name, std::move(taken));
    return absl::OkStatus();
  }
  if (rank < 2 || dimension != static_cast<int>(rank) - 1)
    return InvalidArgument("it gathers along dimension {}", dimension);
  const auto same = [](const Constant& constant, size_t last) {  // along the dimensions before the last ones
    const std::vector<double> values = constant.values();
    size_t row = 1;
    for (size_t d = constant.shape.size() - last; d < constant.shape.size(); ++d)
      row *= static_cast<size_t>(constant.shape[d]);
    for (size_t i = row; i < values.size(); ++i) {
      if (values[i] != values[i - row]) return std::vector<double>();
    }
    return std::vector<double>(values.begin(), values.begin() + static_cast<int64_t>(std::min(row, values.size())));
  };
  const int64_t all = sizes.back().value;
  if (const Constant* const table = translator.ConstantOf(self); table != nullptr) {
    const std::vector<double> row = same(*table, 1);
    if (row.empty() || table->counts_samples) return InvalidArgument("it gathers from a constant whose rows differ");
    const bool floats = IsFloat(table->type);
    ASSIGN_OR_RETURN(const std::string rows, translator.Values(name + ".table", DType::kF32, Shape{all, 1}, row));
    ASSIGN_OR_RETURN(Imported ids, translator.Get(index));
    ASSIGN_OR_RETURN(ids, translator.In(ids, InOrder(ids.rank()), name));
    ASSIGN_OR_RETURN(std::string y, translator.Add(name + ".rows", "embedding", {rows, ids.node}));
    ASSIGN_OR_RETURN(y, translator.Reshape(y, translator.SizesOf(name), name));
    if (!floats) {
      ASSIGN_OR_RETURN(y, translator.Add(name + ".integers", "cast", {y}, {{"dtype", std::string("i32")}}));
    }
    translator.Bind(name, {std::move(y), InOrder(rank)});
    return absl::OkStatus();
  }
  const Constant* const places = translator.ConstantOf(index);
  if (places == nullptr) return InvalidArgument("its index depends on inputs");
  const std::vector<double> values = same(*places, 2);
  const int64_t rows = places->shape[rank - 2], taken = places->shape.back();
  if (values.empty() || rows != sizes[rank - 2].value || rows * all * taken > kMostSelected) {
    return InvalidArgument("it gathers at {} places of {} rows", taken, rows);
  }
  std::vector<double> ones(static_cast<size_t>(rows * all * taken), 0);
  for (int64_t i = 0; i < rows * taken; ++i) {
    const auto at = AsInteger(values[static_cast<size_t>(i)]);
    if (at < 0 || at >= all) return InvalidArgument("index {} of {} elements", at, all);
    ones[static_cast<size_t>((i / taken * all + at) * taken + i % taken)] = 1;
  }
  ASSIGN_OR_RETURN(const std::string matrices,
                   translator.Values(name + ".places", DType::kF32, Shape{rows, all, taken}, ones));
  ASSIGN_OR_RETURN(Imported x, translator.Whole(self, name));
  ASSIGN_OR_RETURN(x, translator.In(x, InOrder(rank), name));
  ASSIGN_OR_RETURN(std::string y,
                   translator.Add(name + ".of", "reshape", {x.node}, {{"shape", Shape{-1, rows, 1, all}}}));
  ASSIGN_OR_RETURN(y, translator.Add(name + ".taken", "batch_matmul", {y, matrices}));
  ASSIGN_OR_RETURN(y, translator.Reshape(y, translator.SizesOf(name), name));
  translator.Bind(name, {std::move(y), InOrder(rank)});
  return absl::OkStatus();
}

absl::Status IndexSelect(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string index, TensorOf(node, "index"));
  const Constant* const constant = translator.ConstantOf(index);
  if (constant == nullptr && IntegerOf(node, "dim", 0) == 0) return RowsAt(translator, node, self, index);
  if (constant == nullptr || constant->counts_samples != 0) {
    return InvalidArgument("its index depends on inputs, or on the batch");
  }
  ASSIGN_OR_RETURN(const Imported value, translator.Get(self));
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", 0), value.rank()));
  std::vector<int64_t> indices;
  for (const double one : constant->values()) indices.push_back(AsInteger(one));
  ASSIGN_OR_RETURN(Imported taken, Taken(translator, value, dimension, indices, node.outputs[0]));
  translator.Bind(node.outputs[0], std::move(taken));
  return absl::OkStatus();
}

// Rows of the identity.
absl::Status OneHot(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported ids, translator.Get(self));
  const int64_t classes = translator.SizeOf(name, ids.rank()).value;
  if (classes < 1 || classes > 4096) return InvalidArgument("{} classes; 1 to 4096 are read", classes);
  std::vector<double> ones(static_cast<size_t>(classes * classes), 0);
  for (int64_t i = 0; i < classes; ++i) ones[static_cast<size_t>(i * classes + i)] = 1;
  ASSIGN_OR_RETURN(const std::string rows, translator.Values(name + ".rows", DType::kF32, {classes, classes}, ones));
  ASSIGN_OR_RETURN(ids, translator.In(ids, InOrder(ids.rank()), name));
  const Shape shape = translator.ShapeOf(ids.node);
  if (shape.size() > 2) {
    ASSIGN_OR_RETURN(ids.node, translator.Add(name + ".ids", "reshape", {ids.node},
                                              {{"shape", Shape{-1, Elements(shape) / shape[0]}}}));
  }
  ASSIGN_OR_RETURN(std::string y, translator.Add(name + ".taken", "embedding", {rows, ids.node}));
  if (shape.size() > 2) {
    Shape whole = shape;
    whole[0] = -1;
    whole.push_back(classes);
    ASSIGN_OR_RETURN(y, translator.Add(name + ".whole", "reshape", {y}, {{"shape", whole}}));
  }
  ASSIGN_OR_RETURN(y, translator.Add(name, "cast", {y}, {{"dtype", std::string("i32")}}));
  translator.Bind(name, {std::move(y), InOrder(ids.rank() + 1)});
  return absl::OkStatus();
}

}  // namespace

void AddIndices(Translations& translations) {
  translations.insert({{"index", Index}, {"index_select", IndexSelect}, {"gather", Gather}, {"one_hot", OneHot}});
}

}  // namespace partita::torch_export
