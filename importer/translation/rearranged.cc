// Ops that turn, shift, repeat and pad the elements of a dimension, and windows that slide over it: unfold and fold.
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
  if (const Size& all = translator.SizeOf(self, static_cast<size_t>(dimension)); !all.symbol.empty()) {
    ASSIGN_OR_RETURN(Imported each, translator.Whole(self, name));
    ASSIGN_OR_RETURN(each, translator.In(each, InOrder(each.rank()), name));
    ASSIGN_OR_RETURN(each.node, translator.Add(name + ".each", "expand", {each.node},
                                               {{"axes", IntList{dimension + 1}}, {"sizes", IntList{repeats}}}));
    ASSIGN_OR_RETURN(each.node, translator.Reshape(each.node, translator.SizesOf(name), name));
    translator.Bind(name, std::move(each));
    return absl::OkStatus();
  }
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
  ASSIGN_OR_RETURN(const std::string zeros, translator.ZerosAlong(translator.SizeOf(self, 0), shape.size(), 0, name));
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

// Of a dimension, the windows that begin every `step` elements; their elements are a new last dimension.
absl::Status Unfold(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  const int rank = static_cast<int>(value.rank());
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dimension", 0), value.rank()));
  const int64_t length = IntegerOf(node, "size", 1), step = IntegerOf(node, "step", 1);
  const Size &all = translator.SizeOf(self, static_cast<size_t>(dimension)),
             &windows = translator.SizeOf(name, static_cast<size_t>(dimension));
  if (!all.symbol.empty()) return InvalidArgument("windows of samples");
  if (length < 1 || step < 1 || windows.value < 1 || (windows.value - 1) * step + length > all.value) {
    return InvalidArgument("{} windows of {} elements in steps of {}, of {}", windows.value, length, step, all.value);
  }
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < windows.value; ++i) {
    for (int64_t k = 0; k < length; ++k) indices.push_back(i * step + k);
  }
  ASSIGN_OR_RETURN(value, Taken(translator, value, dimension, indices, name + ".taken"));
  Order order;
  std::vector<Size> sizes;
  for (const int d : value.order) {
    order.push_back(d);
    sizes.push_back(translator.SizeOf(name, static_cast<size_t>(d)));
    if (d != dimension) continue;
    order.push_back(rank);
    sizes.push_back({length});
  }
  ASSIGN_OR_RETURN(std::string made, translator.Reshape(value.node, sizes, name));
  translator.Bind(name, {std::move(made), std::move(order)});
  return absl::OkStatus();
}

// How windows lie on rows and columns.
struct Sliding {
  IntList kernel, stride, padding, dilation;

  // A matrix [all, windows] of that side: 1 where element k of a window is.
  std::vector<double> Places(size_t side, int64_t k, int64_t all, int64_t windows) const {
    std::vector<double> places(static_cast<size_t>(all * windows), 0);
    for (int64_t i = 0; i < windows; ++i) {
      const int64_t at = i * stride[side] + k * dilation[side] - padding[side];
      if (at >= 0 && at < all) places[static_cast<size_t>(at * windows + i)] = 1;
    }
    return places;
  }
  int64_t Windows(size_t side, int64_t all) const {
    return (all + 2 * padding[side] - dilation[side] * (kernel[side] - 1) - 1) / stride[side] + 1;
  }
};

absl::StatusOr<Sliding> SlidingOf(const Node& node) {
  Sliding sliding{RepeatedOf(node, "kernel_size", {}, 2), RepeatedOf(node, "stride", {1}, 2),
                  RepeatedOf(node, "padding", {0}, 2), RepeatedOf(node, "dilation", {1}, 2)};
  for (const IntList* const sizes : {&sliding.kernel, &sliding.stride, &sliding.padding, &sliding.dilation}) {
    if (sizes->size() != 2 || (*sizes)[0] < 0 || (*sizes)[1] < 0) return InvalidArgument("its windows have no size");
  }
  constexpr int64_t kMost = 1024;  // elements of a window
  const int64_t elements = sliding.kernel[0] * sliding.kernel[1];
  if (elements < 1 || elements > kMost || sliding.stride[0] < 1 || sliding.stride[1] < 1) {
    return InvalidArgument("its windows have {} elements; 1 to {} are read", elements, kMost);
  }
  return sliding;
}

// im2col: [n,c,h,w] to [n, c kernel, windows], by a depthwise convolution whose kernels take one element each.
absl::Status UnfoldImages(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(self));
  ASSIGN_OR_RETURN(const Sliding sliding, SlidingOf(node));
  if (x.rank() != 4) return InvalidArgument("its input has {} dimensions; expected 4, a batch of images", x.rank());
  ASSIGN_OR_RETURN(x, translator.In(x, kChannelsLast, name));
  const int64_t channels = translator.SizeOf(self, 1).value, rows = sliding.kernel[0], columns = sliding.kernel[1],
                taken = rows * columns;
  if (channels * taken * taken > kMostSelected) {
    return InvalidArgument("windows of {} elements of {} channels", taken, channels);
  }
  std::vector<double> ones(static_cast<size_t>(channels * taken * taken), 0);
  for (int64_t i = 0; i < channels * taken; ++i) ones[static_cast<size_t>(i * taken + i % taken)] = 1;
  ASSIGN_OR_RETURN(const std::string kernels,
                   translator.Values(name + ".kernels", DType::kF32, {channels * taken, rows, columns, 1}, ones));
  const IntList& padding = sliding.padding;
  ASSIGN_OR_RETURN(std::string y, translator.Add(name + ".windows", "conv2d", {x.node, kernels},
                                                 {{"stride", sliding.stride},
                                                  {"padding", IntList{padding[0], padding[0], padding[1], padding[1]}},
                                                  {"dilation", sliding.dilation},
                                                  {"groups", channels}}));
  const Shape shape = translator.ShapeOf(y);
  ASSIGN_OR_RETURN(y,
                   translator.Add(name, "reshape", {y}, {{"shape", Shape{-1, shape[1] * shape[2], channels * taken}}}));
  translator.Bind(name, {std::move(y), {0, 2, 1}});
  return absl::OkStatus();
}

// col2im: [n, c kernel, windows] to [n,c,h,w], the sum of what the windows have at each place.
absl::Status FoldImages(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(self));
  ASSIGN_OR_RETURN(const Sliding sliding, SlidingOf(node));
  const std::vector<Size>& result = translator.SizesOf(name);
  if (x.rank() != 3 || result.size() != 4) {
    return InvalidArgument("its input has {} dimensions; expected 3, a batch of windows", x.rank());
  }
  const int64_t rows = result[2].value, columns = result[3].value, high = sliding.Windows(0, rows),
                wide = sliding.Windows(1, columns);
  const std::vector<Size> apart = {result[0], result[1], {sliding.kernel[0]}, {sliding.kernel[1]}, {high}, {wide}};
  ASSIGN_OR_RETURN(x, translator.In(x, InOrder(3), name));
  ASSIGN_OR_RETURN(x.node, translator.Reshape(x.node, apart, name + ".apart"));
  x.order = InOrder(6);
  std::string sum;
  for (int64_t i = 0; i < sliding.kernel[0]; ++i) {
    ASSIGN_OR_RETURN(const Imported row, Cut(translator, x, 2, i, 1, name + ".row"));
    for (int64_t j = 0; j < sliding.kernel[1]; ++j) {
      ASSIGN_OR_RETURN(Imported part, Cut(translator, row, 3, j, 1, name + ".part"));
      ASSIGN_OR_RETURN(part.node,
                       translator.Reshape(part.node, {result[0], result[1], {high}, {wide}}, name + ".part"));
      part.order = InOrder(4);
      ASSIGN_OR_RETURN(part, Mixed(translator, part, 2, sliding.Places(0, i, rows, high), name + ".rows"));
      ASSIGN_OR_RETURN(part, Mixed(translator, part, 3, sliding.Places(1, j, columns, wide), name + ".columns"));
      if (!sum.empty()) {
        ASSIGN_OR_RETURN(part.node, translator.Add(name + ".sum", "add", {sum, part.node}));
      }
      sum = std::move(part.node);
    }
  }
  translator.Bind(name, {std::move(sum), InOrder(4)});
  return absl::OkStatus();
}

}  // namespace

void AddRearranged(Translations& translations) {
  translations.insert({{"repeat_interleave", RepeatInterleaved},
                       {"flip", Flip},
                       {"roll", Roll},
                       {"pad", Pad},
                       {"constant_pad_nd", Pad},
                       {"unfold", Unfold},
                       {"im2col", UnfoldImages},
                       {"col2im", FoldImages}});
}

}  // namespace partita::torch_export
