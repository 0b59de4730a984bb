// Ops that change the shape of a value, and the order, the sizes or the contents of its dimensions.
#include <algorithm>
#include <vector>

#include "importer/translation/arithmetic.h"
#include "importer/translation/moves.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

// Dimensions of the operand and of the result that have the same elements, without a smaller part that does.
struct Run {
  std::vector<int> from, to;
};

// Empty: there are no elements, or not as many.
std::vector<Run> RunsOf(const Shape& from, const Shape& to) {
  std::vector<Run> runs;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    int64_t a = from[i], b = to[j];
    Run run{{static_cast<int>(i++)}, {static_cast<int>(j++)}};
    while (a != b) {
      if (a < b) {
        if (i == from.size()) return {};
        run.from.push_back(static_cast<int>(i));
        a *= from[i++];
      } else {
        if (j == to.size()) return {};
        run.to.push_back(static_cast<int>(j));
        b *= to[j++];
      }
    }
    if (a == 0) return {};
    runs.push_back(std::move(run));
  }
  if (runs.empty()) return {};
  for (; i < from.size(); ++i) runs.back().from.push_back(static_cast<int>(i));  // of size 1
  for (; j < to.size(); ++j) runs.back().to.push_back(static_cast<int>(j));
  return runs;
}

// The order of the result where each run of the operand lies together in its order; empty: one does not.
Order OrderOfRuns(std::vector<Run> runs, const Order& order) {
  const auto place = [&order](int d) { return std::ranges::find(order, d) - order.begin(); };
  for (const Run& run : runs) {
    for (size_t k = 1; k < run.from.size(); ++k) {
      if (place(run.from[k]) != place(run.from[k - 1]) + 1) return {};
    }
  }
  std::ranges::sort(runs, {}, [&](const Run& run) { return place(run.from[0]); });
  Order result;
  for (const Run& run : runs) result.insert(result.end(), run.to.begin(), run.to.end());
  return result;
}

// The order of a result that has the operand's dimensions in turn, but for those of size 1, wherever these lie; those
// of the result go last. Empty: it has others.
Order OrderWithoutOnes(const std::vector<Size>& from, const std::vector<Size>& to, const Order& order) {
  const auto others = [](const std::vector<Size>& sizes) {
    std::vector<int> dimensions;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d].value != 1 || !sizes[d].symbol.empty()) dimensions.push_back(static_cast<int>(d));
    }
    return dimensions;
  };
  const std::vector<int> before = others(from), after = others(to);
  const auto size_of = [](const std::vector<Size>& sizes, int d) { return sizes[static_cast<size_t>(d)].value; };
  if (!std::ranges::equal(
          before, after, {}, [&](int d) { return size_of(from, d); }, [&](int d) { return size_of(to, d); })) {
    return {};
  }
  Order result;
  for (const int d : order) {
    const auto found = std::ranges::find(before, d);
    if (found != before.end()) result.push_back(after[static_cast<size_t>(found - before.begin())]);
  }
  for (int d = 0; d < static_cast<int>(to.size()); ++d) {
    if (std::ranges::find(after, d) == after.end()) result.push_back(d);
  }
  return result;
}

// view, flatten, unsqueeze, ...: whatever they are called, the result has the elements in PyTorch's order. Where what
// is joined or split lies together here too, nothing moves.
absl::Status Reshaped(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported value,
                   translator.ConstantOf(self) == nullptr ? translator.Get(self) : translator.Whole(self, name));
  if (!translator.IsKnown(name)) return InvalidArgument("its result has no sizes");
  const std::vector<Size>& sizes = translator.SizesOf(name);
  Order order;
  if (translator.IsKnown(self)) {
    order = OrderOfRuns(RunsOf(translator.MetaOf(self).shape(), translator.MetaOf(name).shape()), value.order);
    if (order.size() != sizes.size()) order = OrderWithoutOnes(translator.SizesOf(self), sizes, value.order);
  }
  if (order.size() != sizes.size()) {
    order = InOrder(sizes.size());
    ASSIGN_OR_RETURN(value, translator.In(value, InOrder(value.rank()), name));
  }
  std::vector<Size> ordered;
  for (const int d : order) ordered.push_back(sizes[static_cast<size_t>(d)]);
  ASSIGN_OR_RETURN(value.node, translator.Reshape(value.node, ordered, name));
  translator.Bind(name, {std::move(value.node), std::move(order)});
  return absl::OkStatus();
}

// PyTorch's dimension k of the result is dimension permutation[k] of the operand: nothing moves.
absl::Status Renamed(Translator& translator, const Node& node, const std::vector<int>& permutation) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  if (permutation.size() != value.rank())
    return InvalidArgument("it permutes {} dimensions of {}", permutation.size(), value.rank());
  std::vector<int> name_of(permutation.size(), -1);
  for (size_t k = 0; k < permutation.size(); ++k) name_of[permutation[k]] = static_cast<int>(k);
  if (std::ranges::find(name_of, -1) != name_of.end()) return InvalidArgument("a dimension is named twice");
  for (int& d : value.order) d = name_of[d];
  translator.Bind(node.outputs[0], std::move(value));
  return absl::OkStatus();
}

absl::StatusOr<size_t> RankOf(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const Imported value, translator.Get(self));
  return value.rank();
}

absl::Status Permute(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const size_t rank, RankOf(translator, node));
  std::vector<int> permutation;
  for (const int64_t d : IntegersOf(node, "dims", {})) {
    ASSIGN_OR_RETURN(const int dimension, DimensionOf(d, rank));
    permutation.push_back(dimension);
  }
  return Renamed(translator, node, permutation);
}

absl::Status Exchange(Translator& translator, const Node& node, int64_t a, int64_t b) {
  ASSIGN_OR_RETURN(const size_t rank, RankOf(translator, node));
  ASSIGN_OR_RETURN(const int first, DimensionOf(a, rank));
  ASSIGN_OR_RETURN(const int second, DimensionOf(b, rank));
  Order permutation = InOrder(rank);
  std::swap(permutation[first], permutation[second]);
  return Renamed(translator, node, permutation);
}
absl::Status Transpose(Translator& translator, const Node& node) {
  return Exchange(translator, node, IntegerOf(node, "dim0", 0), IntegerOf(node, "dim1", 1));
}
absl::Status SwapAxes(Translator& translator, const Node& node) {
  return Exchange(translator, node, IntegerOf(node, "axis0", 0), IntegerOf(node, "axis1", 1));
}
// All dimensions, the last first.
absl::Status Reverse(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const size_t rank, RankOf(translator, node));
  Order permutation = InOrder(rank);
  std::ranges::reverse(permutation);
  return Renamed(translator, node, permutation);
}
// The last two dimensions.
absl::Status TransposeMatrices(Translator& translator, const Node& node) { return Exchange(translator, node, -2, -1); }
absl::Status MoveDimensions(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const size_t rank, RankOf(translator, node));
  const auto list = [&](const char* argument) {
    return IsNumber(node, argument) ? IntList{IntegerOf(node, argument, 0)} : IntegersOf(node, argument, {});
  };
  const IntList source = list("source"), destination = list("destination");
  if (source.size() != destination.size())
    return InvalidArgument("it moves {} dimensions to {}", source.size(), destination.size());
  std::vector<int> permutation(rank, -1);
  std::vector<bool> moved(rank, false);
  for (size_t i = 0; i < source.size(); ++i) {
    ASSIGN_OR_RETURN(const int from, DimensionOf(source[i], rank));
    ASSIGN_OR_RETURN(const int to, DimensionOf(destination[i], rank));
    permutation[static_cast<size_t>(to)] = from;
    moved[static_cast<size_t>(from)] = true;
  }
  int next = 0;
  for (int& dimension : permutation) {
    if (dimension >= 0) continue;
    while (next < static_cast<int>(rank) && moved[static_cast<size_t>(next)]) ++next;
    if (next == static_cast<int>(rank)) return InvalidArgument("a dimension is named twice");
    dimension = next++;
  }
  return Renamed(translator, node, permutation);
}
absl::Status TransposeMatrix(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const size_t rank, RankOf(translator, node));
  if (rank < 2) return Renamed(translator, node, InOrder(rank));
  return Exchange(translator, node, 0, 1);
}

// Along a new dimension.
absl::Status Stack(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  const auto found = node.arguments.find("tensors");
  const auto* const tensors = found == node.arguments.end() ? nullptr : std::get_if<TensorNames>(&found->second);
  if (tensors == nullptr || tensors->names.empty() || !translator.IsKnown(name))
    return InvalidArgument("it has no tensors");
  std::vector<Size> sizes = translator.SizesOf(name);
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", 0), sizes.size()));
  sizes[static_cast<size_t>(dimension)] = {1};
  std::vector<std::string> nodes;
  for (const std::string& tensor : tensors->names) {
    ASSIGN_OR_RETURN(Imported value, translator.Whole(tensor, name));
    ASSIGN_OR_RETURN(value, translator.In(value, InOrder(value.rank()), name));
    ASSIGN_OR_RETURN(std::string part, translator.Reshape(value.node, sizes, name + ".part"));
    nodes.push_back(std::move(part));
  }
  if (nodes.size() > 1) {
    ASSIGN_OR_RETURN(nodes[0], translator.Add(name, "concat", nodes, {{"axis", int64_t{dimension}}}));
  }
  translator.Bind(name, {nodes[0], InOrder(sizes.size())});
  return absl::OkStatus();
}

absl::Status Concatenate(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  const auto found = node.arguments.find("tensors");
  const auto* const tensors = found == node.arguments.end() ? nullptr : std::get_if<TensorNames>(&found->second);
  if (tensors == nullptr || tensors->names.empty()) return InvalidArgument("it has no tensors");
  std::vector<std::string> nodes, names = tensors->names;
  Order order;
  std::erase_if(names, [&translator](const std::string& tensor) { return translator.MetaOf(tensor).empty(); });
  for (const std::string& tensor : names) {  // constants lie as the first of the others does
    if (!order.empty() || translator.ConstantOf(tensor) != nullptr) continue;
    ASSIGN_OR_RETURN(const Imported value, translator.Get(tensor));
    order = value.order;
  }
  if (order.empty()) order = InOrder(translator.SizesOf(name).size());
  for (const std::string& tensor : names) {
    ASSIGN_OR_RETURN(Imported value, translator.Whole(tensor, name));
    ASSIGN_OR_RETURN(value, translator.In(value, order, name));
    nodes.push_back(value.node);
  }
  if (nodes.empty()) return InvalidArgument("it joins no elements");
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", 0), order.size()));
  if (nodes.size() == 1) {
    translator.Bind(name, {nodes[0], order});
    return absl::OkStatus();
  }
  const int64_t axis = std::ranges::find(order, dimension) - order.begin();
  ASSIGN_OR_RETURN(std::string node_name, translator.Add(name, "concat", nodes, {{"axis", axis}}));
  translator.Bind(name, {std::move(node_name), order});
  return absl::OkStatus();
}

// A value in PyTorch's order as often as `sizes` say where a dimension has size 1. Along the batch the elements are
// added to zeros that have it, so that the graph fits every batch.
absl::StatusOr<Imported> Expanded(Translator& translator, Imported value, const std::vector<Size>& sizes,
                                  const std::string& name) {
  if (sizes.size() < value.rank()) return InvalidArgument("its result has fewer dimensions");
  Shape shape(sizes.size() - value.rank(), 1);
  const Shape own = translator.ShapeOf(value.node);
  for (const int64_t size : own) shape.push_back(size);
  const DType type = translator.TypeOf(value.node);
  IntList axes, counts;
  Shape kept;
  std::vector<size_t> along_batch;
  bool batched = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (shape[d] == sizes[d].value) {
      batched |= d == 0 && !sizes[d].symbol.empty();
      kept.push_back(shape[d]);
      continue;
    }
    if (!sizes[d].symbol.empty()) {
      along_batch.push_back(d);
      kept.push_back(1);
      continue;
    }
    axes.push_back(static_cast<int64_t>(d));
    counts.push_back(sizes[d].value);
  }
  if (kept != own) {
    if (batched) kept[0] = -1;
    ASSIGN_OR_RETURN(value.node, translator.Add(name + ".kept", "reshape", {value.node}, {{"shape", kept}}));
  }
  if (!axes.empty() || !along_batch.empty()) {
    ASSIGN_OR_RETURN(value.node, translator.AsFloats(value.node, name));
  }
  if (!axes.empty()) {
    ASSIGN_OR_RETURN(value.node,
                     translator.Add(name + ".expanded", "expand", {value.node}, {{"axes", axes}, {"sizes", counts}}));
  }
  for (const size_t d : along_batch) {
    ASSIGN_OR_RETURN(const std::string zeros, translator.ZerosAlong(sizes[d], sizes.size(), d, name));
    ASSIGN_OR_RETURN(value.node, translator.Add(name, "add", {value.node, zeros}));
  }
  ASSIGN_OR_RETURN(value.node, AsType(translator, value.node, type, name + ".integers"));
  return Imported{std::move(value.node), InOrder(sizes.size())};
}

absl::Status Expand(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  ASSIGN_OR_RETURN(value, translator.In(value, InOrder(value.rank()), name));
  ASSIGN_OR_RETURN(value, Expanded(translator, std::move(value), translator.SizesOf(name), name));
  translator.Bind(name, std::move(value));
  return absl::OkStatus();
}

// A value in PyTorch's order with copies of dimension d one behind the other, as many for each sample as `to` says.
absl::StatusOr<Imported> CopiedForSamples(Translator& translator, Imported value, size_t d, const Size& to,
                                          const std::string& name) {
  Shape shape = translator.ShapeOf(value.node);
  const auto each = static_cast<int64_t>(translator.PerSample(to).value_or(0));
  if (each == 0 || each % shape[d] != 0) {
    return InvalidArgument("it repeats {} elements to {}, which is no multiple of them for each sample", shape[d],
                           to.symbol);
  }
  const DType type = translator.TypeOf(value.node);
  shape.insert(shape.begin() + static_cast<int64_t>(d), 1);
  ASSIGN_OR_RETURN(value.node, translator.AsFloats(value.node, name));
  ASSIGN_OR_RETURN(value.node, translator.Add(name + ".apart", "reshape", {value.node}, {{"shape", shape}}));
  ASSIGN_OR_RETURN(const std::string zeros,
                   translator.ZerosAlong(translator.OfSamples(each / shape[d + 1]), shape.size(), d, name));
  ASSIGN_OR_RETURN(value.node, translator.Add(name + ".copies", "add", {value.node, zeros}));
  shape.erase(shape.begin() + static_cast<int64_t>(d));
  shape[d] = -1;
  ASSIGN_OR_RETURN(value.node, translator.Add(name, "reshape", {value.node}, {{"shape", shape}}));
  ASSIGN_OR_RETURN(value.node, AsType(translator, value.node, type, name + ".integers"));
  return value;
}

// Copies one behind the other where a dimension has more than one element.
absl::Status Repeat(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  ASSIGN_OR_RETURN(value, translator.In(value, InOrder(value.rank()), name));
  const std::vector<Size>& sizes = translator.SizesOf(name);
  if (sizes.size() < value.rank()) return InvalidArgument("its result has fewer dimensions");
  const size_t more = sizes.size() - value.rank();
  for (size_t d = 0; d < value.rank(); ++d) {
    const int64_t size = translator.ShapeOf(value.node)[d], copies = sizes[more + d].value / std::max<int64_t>(1, size);
    if (size == 1 || copies == 1) continue;
    if (const Size& to = sizes[more + d]; !to.symbol.empty() && translator.SizeOf(self, d).symbol.empty()) {
      ASSIGN_OR_RETURN(value, CopiedForSamples(translator, std::move(value), d, to, name));
      continue;
    }
    if (copies < 1 || copies > 64) return InvalidArgument("it repeats {} elements {} times", size, copies);
    const std::vector<std::string> parts(static_cast<size_t>(copies), value.node);
    ASSIGN_OR_RETURN(value.node,
                     translator.Add(name + ".copies", "concat", parts, {{"axis", static_cast<int64_t>(d)}}));
  }
  ASSIGN_OR_RETURN(value, Expanded(translator, std::move(value), sizes, name));
  translator.Bind(name, std::move(value));
  return absl::OkStatus();
}

// What reads the results broadcasts them itself.
absl::Status BroadcastTensors(Translator& translator, const Node& node) {
  const auto found = node.arguments.find("tensors");
  const auto* const tensors = found == node.arguments.end() ? nullptr : std::get_if<TensorNames>(&found->second);
  if (tensors == nullptr || tensors->names.size() != node.outputs.size()) return InvalidArgument("it has no tensors");
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    ASSIGN_OR_RETURN(Imported value, translator.Get(tensors->names[i]));
    const size_t rank = translator.SizesOf(node.outputs[i]).size();
    if (value.rank() < rank) {
      ASSIGN_OR_RETURN(value, translator.In(value, InOrder(value.rank()), node.outputs[i]));
      Shape shape(rank - value.rank(), 1);
      for (const int64_t size : translator.ShapeOf(value.node)) shape.push_back(size);
      ASSIGN_OR_RETURN(value.node, translator.Add(node.outputs[i], "reshape", {value.node}, {{"shape", shape}}));
      value.order = InOrder(rank);
    }
    translator.Bind(node.outputs[i], std::move(value));
  }
  return absl::OkStatus();
}

// Channels become rows and columns: [n,c,r,s,h,w] to [n,c,h,r,w,s], and back.
absl::Status PixelShuffle(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(self));
  const bool back = OpOf(node.target) == "pixel_unshuffle";
  const int64_t factor = IntegerOf(node, back ? "downscale_factor" : "upscale_factor", 1);
  if (x.rank() != 4 || translator.SizesOf(self).size() != 4 || translator.SizesOf(name).size() != 4) {
    return InvalidArgument("its input has {} dimensions; expected 4", x.rank());
  }
  const std::vector<Size>&from = translator.SizesOf(self), &to = translator.SizesOf(name);
  const std::vector<Size> split = back ? std::vector<Size>{from[0], from[1], to[2], {factor}, to[3], {factor}}
                                       : std::vector<Size>{from[0], to[1], {factor}, {factor}, from[2], from[3]};
  const Order moved = back ? Order{0, 1, 3, 5, 2, 4} : Order{0, 1, 4, 2, 5, 3};
  ASSIGN_OR_RETURN(x, translator.In(x, InOrder(4), name));
  ASSIGN_OR_RETURN(x.node, translator.Reshape(x.node, split, name + ".split"));
  x.order = InOrder(6);
  ASSIGN_OR_RETURN(x, translator.In(x, moved, name));
  ASSIGN_OR_RETURN(x.node, translator.Reshape(x.node, to, name));
  translator.Bind(name, {std::move(x.node), InOrder(4)});
  return absl::OkStatus();
}

// What is written into a value: a tensor or a number, as large as the value.
absl::Status Overwrite(Translator& translator, const Node& node) {
  const std::string &name = node.outputs[0], op = OpOf(node.target);
  const std::vector<Size>& sizes = translator.SizesOf(name);
  const bool floats = IsFloat(translator.MetaOf(name).type);
  Imported value;
  const std::string source = OptionalTensorOf(node, op == "copy" ? "src" : "value");
  if (!source.empty()) {
    ASSIGN_OR_RETURN(value, translator.Whole(source, name));
  } else {
    ASSIGN_OR_RETURN(value.node,
                     translator.Values(name + ".number", floats ? DType::kF32 : DType::kI32, Shape(sizes.size(), 1),
                                       {op == "zero" ? 0 : NumberOf(node, "value", 0)}));
    value.order = InOrder(sizes.size());
  }
  if (IsFloating(translator.TypeOf(value.node)) != floats) {
    ASSIGN_OR_RETURN(value.node, translator.Add(name + ".cast", "cast", {value.node},
                                                {{"dtype", std::string(floats ? "f32" : "i32")}}));
  }
  ASSIGN_OR_RETURN(value, translator.In(value, InOrder(value.rank()), name));
  ASSIGN_OR_RETURN(value, Expanded(translator, std::move(value), sizes, name));
  translator.Bind(name, std::move(value));
  return absl::OkStatus();
}

}  // namespace

void AddShapes(Translations& translations) {
  for (const char* const name :
       {"view", "reshape", "_unsafe_view", "view_as", "reshape_as", "flatten", "unflatten", "squeeze", "unsqueeze"}) {
    translations[name] = Reshaped;
  }
  translations.insert({{"permute", Permute},
                       {"transpose", Transpose},
                       {"t", TransposeMatrix},
                       {"swapaxes", SwapAxes},
                       {"swapdims", Transpose},
                       {"mT", TransposeMatrices},
                       {"matrix_H", TransposeMatrices},
                       {"mH", TransposeMatrices},
                       {"adjoint", TransposeMatrices},
                       {"numpy_T", Reverse},
                       {"movedim", MoveDimensions},
                       {"moveaxis", MoveDimensions},
                       {"cat", Concatenate},
                       {"concat", Concatenate},
                       {"concatenate", Concatenate},
                       {"stack", Stack},
                       {"expand", Expand},
                       {"expand_as", Expand},
                       {"repeat", Repeat},
                       {"tile", Repeat},
                       {"broadcast_tensors", BroadcastTensors},
                       {"pixel_shuffle", PixelShuffle},
                       {"pixel_unshuffle", PixelShuffle},
                       {"copy", Overwrite},
                       {"fill", Overwrite},
                       {"zero", Overwrite}});
}

}  // namespace partita::torch_export
