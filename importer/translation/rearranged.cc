// Ops that turn, shift, repeat and pad the elements of a dimension.
#include <algorithm>
#include <numeric>
#include <optional>

#include "importer/translation/arithmetic.h"
#include "importer/translation/moves.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

// Each element so many times in a row.
absl::Status RepeatInterleaved(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const Imported value, translator.Get(self));
  if (!IsNumber(node, "repeats") || !IsNumber(node, "dim"))
    return InvalidArgument("it repeats by a tensor, or all dimensions as one");
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", 0), value.rank()));
  const int64_t repeats = IntegerOf(node, "repeats", 1),
                size = translator.SizeOf(self, static_cast<size_t>(dimension)).value;
  if (repeats < 1 || repeats > kMostSelected / std::max<int64_t>(1, size))
    return InvalidArgument("it repeats {} times", repeats);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < size * repeats; ++i) indices.push_back(i / repeats);
  ASSIGN_OR_RETURN(Imported taken, Taken(translator, value, dimension, indices, name));
  translator.Bind(name, std::move(taken));
  return absl::OkStatus();
}

// What stands at the place of each sample, by a matrix of places that says which one that is.
absl::StatusOr<Imported> Exchanged(Formula& f, const Imported& value, int dimension, const std::string& matrix) {
  RETURN_IF_ERROR(f.status());
  return MixedBy(f.translator(), value, dimension, matrix, f.name());
}

absl::Status Flip(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  for (const int64_t d : IntegersOf(node, "dims", {})) {
    ASSIGN_OR_RETURN(const int dimension, DimensionOf(d, value.rank()));
    const Size& all = translator.SizeOf(self, static_cast<size_t>(dimension));
    if (!all.symbol.empty()) {  // i + j = n - 1
      Formula f(translator, name);
      const std::string sum = f("add", {f.Numbers(all, 2, 0), f.Numbers(all, 2, 1)});
      const std::string last = f.Plus(f.Times(f.Samples(), translator.PerSample(all).value_or(1)), -1);
      ASSIGN_OR_RETURN(value, Exchanged(f, value, dimension, f.Compared("eq", sum, last)));
      continue;
    }
    std::vector<int64_t> indices(static_cast<size_t>(translator.SizeOf(self, static_cast<size_t>(dimension)).value));
    std::iota(indices.rbegin(), indices.rend(), 0);
    ASSIGN_OR_RETURN(value, Taken(translator, value, dimension, indices, name));
  }
  translator.Bind(name, std::move(value));
  return absl::OkStatus();
}

absl::Status Roll(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  const IntList shifts = IntegersOf(node, "shifts", {}), dims = IntegersOf(node, "dims", {});
  if (shifts.size() != dims.size()) return InvalidArgument("it rolls all dimensions as one");
  for (size_t i = 0; i < dims.size(); ++i) {
    ASSIGN_OR_RETURN(const int dimension, DimensionOf(dims[i], value.rank()));
    const Size& all = translator.SizeOf(self, static_cast<size_t>(dimension));
    const Size& by = std::get<Integers>(node.arguments.at("shifts")).sizes[i];
    if (!all.symbol.empty()) {  // (i - j - shift) is a multiple of n
      Formula f(translator, name);
      const std::string samples = f.Times(f.Samples(), translator.PerSample(all).value_or(1));
      const std::optional<double> each = translator.MultipleOf(by);
      if (!by.symbol.empty() && !each) return InvalidArgument("it rolls by {}, which varies with the batch", by.symbol);
      const std::string rows = f.Numbers(all, 2, 0), columns = f.Numbers(all, 2, 1);
      const std::string shift =
          by.symbol.empty() ? f.Number(static_cast<double>(by.value), rows) : f.Times(f.Samples(), *each);
      const std::string apart = f("sub", {f("sub", {rows, columns}), shift});
      const std::string whole = f("mul", {f("floor", {f("over", {apart, samples})}), samples});
      ASSIGN_OR_RETURN(value, Exchanged(f, value, dimension, f.Compared("eq", apart, whole)));
      continue;
    }
    if (!by.symbol.empty()) return InvalidArgument("it rolls by {}, which varies with the batch", by.symbol);
    const auto at = std::ranges::find(value.order, dimension) - value.order.begin();
    const int64_t size = translator.ShapeOf(value.node)[static_cast<size_t>(at)];
    const int64_t shift = (shifts[i] % size + size) % size;
    if (shift == 0) continue;
    ASSIGN_OR_RETURN(const Imported end, Cut(translator, value, dimension, size - shift, shift, name + ".end"));
    ASSIGN_OR_RETURN(const Imported begin, Cut(translator, value, dimension, 0, size - shift, name + ".begin"));
    ASSIGN_OR_RETURN(value.node, translator.Add(name, "concat", {end.node, begin.node}, {{"axis", int64_t{at}}}));
  }
  translator.Bind(name, std::move(value));
  return absl::OkStatus();
}

// Elements of one value [.., size, ..] beside those of x, for all of its samples.
absl::StatusOr<std::string> Margin(Translator& translator, const std::string& self, const Imported& x, size_t at,
                                   int64_t size, double value, const std::string& name) {
  Shape shape = translator.ShapeOf(x.node);
  shape[at] = size;
  const bool varies = !translator.SizeOf(self, 0).symbol.empty() && x.order[0] == 0;
  if (varies) shape[0] = 1;
  const DType type = translator.TypeOf(x.node);
  ASSIGN_OR_RETURN(std::string node,
                   translator.Values(name + ".margin", type, shape,
                                     std::vector<double>(static_cast<size_t>(Elements(shape)), value)));
  if (!varies) return node;
  ASSIGN_OR_RETURN(const std::string zeros, translator.BatchOfZeros(shape.size(), name));
  ASSIGN_OR_RETURN(node, translator.AsFloats(node, name));
  ASSIGN_OR_RETURN(node, translator.Add(name + ".margins", "add", {node, zeros}));
  if (IsFloating(type)) return node;
  return translator.Add(name + ".integers", "cast", {node}, {{"dtype", std::string(Name(type))}});
}

// The index of each element of a dimension that is padded by its mirror image, or by its ends.
std::vector<int64_t> PaddedBy(const std::string& mode, int64_t size, int64_t before, int64_t behind) {
  std::vector<int64_t> indices;
  for (int64_t i = -before; i < size + behind; ++i) {
    int64_t at = i;
    if (mode == "circular") {
      at = ((i % size) + size) % size;
    } else if (mode == "replicate") {
      at = std::clamp<int64_t>(i, 0, size - 1);
    } else if (i < 0) {
      at = -i;
    } else if (i >= size) {
      at = 2 * size - 2 - i;
    }
    indices.push_back(at);
  }
  return indices;
}

absl::Status Pad(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported value, translator.Whole(self, name));
  const auto found = node.arguments.find("mode");
  const auto* const word = found == node.arguments.end() ? nullptr : std::get_if<std::string>(&found->second);
  const std::string mode = word == nullptr ? "constant" : *word;
  const double filled = NumberOf(node, "value", 0);
  const IntList pad = IntegersOf(node, "pad", {});
  if (pad.size() % 2 != 0 || pad.size() / 2 > value.rank())
    return InvalidArgument("it has {} sizes of padding", pad.size());
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int64_t before = pad[2 * i], behind = pad[2 * i + 1];
    const int dimension = static_cast<int>(value.rank() - 1 - i);
    const auto at = static_cast<size_t>(std::ranges::find(value.order, dimension) - value.order.begin());
    const int64_t size = translator.ShapeOf(value.node)[at];
    if (mode != "constant") {
      if (before == 0 && behind == 0) continue;
      ASSIGN_OR_RETURN(value, Taken(translator, value, dimension, PaddedBy(mode, size, before, behind), name));
      continue;
    }
    if (before < 0 || behind < 0) {
      const int64_t left = std::max<int64_t>(0, -before), right = std::max<int64_t>(0, -behind);
      ASSIGN_OR_RETURN(value, Cut(translator, value, dimension, left, size - left - right, name + ".cut"));
    }
    std::vector<std::string> parts;
    if (before > 0) {
      ASSIGN_OR_RETURN(std::string margin, Margin(translator, self, value, at, before, filled, name));
      parts.push_back(std::move(margin));
    }
    parts.push_back(value.node);
    if (behind > 0) {
      ASSIGN_OR_RETURN(std::string margin, Margin(translator, self, value, at, behind, filled, name));
      parts.push_back(std::move(margin));
    }
    if (parts.size() == 1) continue;
    ASSIGN_OR_RETURN(value.node, translator.Add(name, "concat", parts, {{"axis", static_cast<int64_t>(at)}}));
  }
  translator.Bind(name, std::move(value));
  return absl::OkStatus();
}

}  // namespace

void AddRearranged(Translations& translations) {
  translations.insert({{"repeat_interleave", RepeatInterleaved},
                       {"flip", Flip},
                       {"roll", Roll},
                       {"pad", Pad},
                       {"constant_pad_nd", Pad}});
}

}  // namespace partita::torch_export
