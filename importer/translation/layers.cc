// Layers: products, convolutions, pools, attention and tables.
#include <algorithm>
#include <cmath>

#include "importer/translation/arithmetic.h"
#include "importer/translation/moves.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

absl::StatusOr<std::string> Biased(Translator& translator, const std::string& node, const std::string& bias,
                                   const std::string& name) {
  if (bias.empty()) return node;
  ASSIGN_OR_RETURN(const Imported b, translator.GetParameter(bias, {0}, Beginning::kZeros));
  return translator.Add(name, "bias", {node, b.node});
}

// x [..., k] times a matrix, over 2 or 3 dimensions.
absl::StatusOr<Imported> TimesMatrix(Translator& translator, const Imported& value, const std::string& matrix,
                                     bool transposed, const std::string& bias, const std::string& name) {
  ASSIGN_OR_RETURN(Imported x, translator.In(value, WithLast(value.order, static_cast<int>(value.rank()) - 1), name));
  ASSIGN_OR_RETURN(Imported w, translator.Get(matrix));
  if (w.order == Order{1, 0}) {  // a transposed matrix, as of a table that classifies
    transposed = !transposed;
  } else {
    ASSIGN_OR_RETURN(w, translator.In(w, InOrder(2), name));
  }
  const Shape shape = translator.ShapeOf(x.node);
  std::string node = x.node;
  const bool joined = shape.size() > 3;
  if (joined) {
    ASSIGN_OR_RETURN(node,
                     translator.Add(name + ".rows", "reshape", {node},
                                    {{"shape", Shape{-1, Elements(shape) / shape[0] / shape.back(), shape.back()}}}));
  }
  const std::string last = joined ? name + ".product" : name;
  ASSIGN_OR_RETURN(node, translator.Add(bias.empty() ? last : name + ".matmul", "matmul", {node, w.node},
                                        {{"transpose_w", transposed}}));
  ASSIGN_OR_RETURN(node, Biased(translator, node, bias, last));
  if (joined) {
    Shape whole = shape;
    whole[0] = -1;
    whole[whole.size() - 1] = translator.ShapeOf(node).back();
    ASSIGN_OR_RETURN(node, translator.Add(name, "reshape", {node}, {{"shape", whole}}));
  }
  return Imported{std::move(node), x.order};
}

absl::Status Linear(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string input, TensorOf(node, "input"));
  ASSIGN_OR_RETURN(const std::string weight, TensorOf(node, "weight"));
  ASSIGN_OR_RETURN(const Imported x, translator.Get(input));
  ASSIGN_OR_RETURN(Imported y,
                   TimesMatrix(translator, x, weight, true, OptionalTensorOf(node, "bias"), node.outputs[0]));
  translator.Bind(node.outputs[0], std::move(y));
  return absl::OkStatus();
}

// beta self + alpha mat1 mat2.
absl::Status AddedProduct(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  const double beta = NumberOf(node, "beta", 1), alpha = NumberOf(node, "alpha", 1);
  ASSIGN_OR_RETURN(const std::string bias, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string left, TensorOf(node, "mat1"));
  ASSIGN_OR_RETURN(const std::string right, TensorOf(node, "mat2"));
  const bool biased = beta == 1 && alpha == 1 && translator.SizesOf(bias).size() == 1;
  ASSIGN_OR_RETURN(const Imported x, translator.Get(left));
  ASSIGN_OR_RETURN(Imported y, TimesMatrix(translator, x, right, false, biased ? bias : "", name));
  if (!biased) {
    Formula f(translator, name);
    y.node = f.Times(y.node, alpha);
    if (beta != 0) {
      const Imported added = f.Kept([&] { return translator.Get(bias); });
      y.node = f("add", {y.node, f.Times(f.Lifted(added, y.order), beta)});
    }
    RETURN_IF_ERROR(f.status());
  }
  translator.Bind(name, std::move(y));
  return absl::OkStatus();
}

// beta self + alpha batch1 batch2.
absl::Status AddedBatchProduct(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  std::vector<std::string> nodes;
  for (const char* const argument : {"self", "batch1", "batch2"}) {
    ASSIGN_OR_RETURN(const std::string tensor, TensorOf(node, argument));
    ASSIGN_OR_RETURN(Imported value, translator.Get(tensor));
    ASSIGN_OR_RETURN(value, translator.In(value, InOrder(value.rank()), name));
    nodes.push_back(std::move(value.node));
  }
  ASSIGN_OR_RETURN(std::string product, translator.Add(name + ".product", "batch_matmul", {nodes[1], nodes[2]}));
  ASSIGN_OR_RETURN(product,
                   translator.Add(name + ".scaled", "scale", {product}, {{"factor", NumberOf(node, "alpha", 1)}}));
  if (const double beta = NumberOf(node, "beta", 1); beta != 0) {
    ASSIGN_OR_RETURN(const std::string self, translator.Add(name + ".self", "scale", {nodes[0]}, {{"factor", beta}}));
    ASSIGN_OR_RETURN(product, translator.Add(name, "add", {product, self}));
  }
  translator.Bind(name, {std::move(product), InOrder(3)});
  return absl::OkStatus();
}

// matmul, bmm, mm: of two activations, or of one and a matrix.
absl::Status Product(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string left, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const std::string right, TensorOf(node, node.arguments.contains("other") ? "other"
                                                           : node.arguments.contains("vec") ? "vec"
                                                                                            : "mat2"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(left));
  ASSIGN_OR_RETURN(Imported y, translator.Get(right));
  if (y.rank() == 2 && x.rank() >= 2) {
    ASSIGN_OR_RETURN(Imported product, TimesMatrix(translator, x, right, false, "", name));
    translator.Bind(name, std::move(product));
    return absl::OkStatus();
  }
  if (y.rank() == 1 && x.rank() >= 2) {  // a matrix of one column
    const std::string column = name + ".column";
    ASSIGN_OR_RETURN(y.node, translator.Add(column, "reshape", {y.node}, {{"shape", Shape{-1, 1}}}));
    translator.Bind(column, {y.node, InOrder(2)});
    ASSIGN_OR_RETURN(Imported product, TimesMatrix(translator, x, column, false, "", name + ".product"));
    ASSIGN_OR_RETURN(product, translator.In(product, InOrder(product.rank()), name));
    Shape rows = translator.ShapeOf(product.node);
    rows.pop_back();
    rows[0] = -1;
    ASSIGN_OR_RETURN(product.node, translator.Add(name, "reshape", {product.node}, {{"shape", rows}}));
    translator.Bind(name, {std::move(product.node), InOrder(rows.size())});
    return absl::OkStatus();
  }
  if (x.rank() < 2 || y.rank() < 2) return InvalidArgument("a product of {} and {} dimensions", x.rank(), y.rank());
  // The last two dimensions may be exchanged in memory: then the product reads them so.
  const auto settled = [&](const Imported& value, bool& exchanged) {
    Order plain = InOrder(value.rank()), other = plain;
    std::swap(other[other.size() - 2], other[other.size() - 1]);
    exchanged = value.order == other;
    return translator.In(value, exchanged ? other : plain, name);
  };
  bool x_exchanged = false, y_exchanged = false;
  ASSIGN_OR_RETURN(x, settled(x, x_exchanged));
  ASSIGN_OR_RETURN(y, settled(y, y_exchanged));
  ASSIGN_OR_RETURN(std::string product, translator.Add(name, "batch_matmul", {x.node, y.node},
                                                       {{"transpose_x", x_exchanged}, {"transpose_y", y_exchanged}}));
  translator.Bind(name, {std::move(product), InOrder(std::max(x.rank(), y.rank()))});
  return absl::OkStatus();
}

// [n,c,l] as an image of one row.
absl::Status Convolution1d(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string input, TensorOf(node, "input"));
  ASSIGN_OR_RETURN(const std::string weight, TensorOf(node, "weight"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(input));
  if (x.rank() != 3) return InvalidArgument("its input has {} dimensions; expected 3", x.rank());
  ASSIGN_OR_RETURN(x, translator.In(x, {0, 2, 1}, name));
  ASSIGN_OR_RETURN(const Imported w, translator.GetParameter(weight, {0, 2, 1}, Beginning::kWeights));
  const Shape image = translator.ShapeOf(x.node), kernel = translator.ShapeOf(w.node);
  ASSIGN_OR_RETURN(std::string row,
                   translator.Add(name + ".row", "reshape", {x.node}, {{"shape", Shape{-1, 1, image[1], image[2]}}}));
  ASSIGN_OR_RETURN(const std::string kernels, translator.Add(name + ".kernel", "reshape", {w.node},
                                                             {{"shape", Shape{kernel[0], 1, kernel[1], kernel[2]}}}));
  const int64_t stride = RepeatedOf(node, "stride", {1}, 1)[0], dilation = RepeatedOf(node, "dilation", {1}, 1)[0];
  IntList padding = PaddingAround(node, 1);
  if (const auto found = node.arguments.find("padding"); found != node.arguments.end()) {
    const auto* const word = std::get_if<std::string>(&found->second);
    if (word != nullptr && *word != "valid" && *word != "same") return InvalidArgument("padding is {}", *word);
    if (word != nullptr && *word == "same") {
      const int64_t whole = dilation * (kernel[1] - 1);
      padding = IntList{whole / 2, whole - whole / 2};
    }
  }
  ASSIGN_OR_RETURN(row, translator.Add(name + ".conv2d", "conv2d", {row, kernels},
                                       {{"stride", IntList{1, stride}},
                                        {"padding", IntList{0, 0, padding[0], padding[1]}},
                                        {"dilation", IntList{1, dilation}},
                                        {"groups", IntegerOf(node, "groups", 1)}}));
  const Shape made = translator.ShapeOf(row);
  const std::string bias = OptionalTensorOf(node, "bias");
  ASSIGN_OR_RETURN(row, translator.Add(bias.empty() ? name : name + ".rows", "reshape", {row},
                                       {{"shape", Shape{-1, made[2], made[3]}}}));
  ASSIGN_OR_RETURN(row, Biased(translator, row, bias, name));
  translator.Bind(name, {std::move(row), {0, 2, 1}});
  return absl::OkStatus();
}

absl::Status Convolution(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string input, TensorOf(node, "input"));
  ASSIGN_OR_RETURN(const std::string weight, TensorOf(node, "weight"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(input));
  if (x.rank() != 4) return InvalidArgument("its input has {} dimensions; expected 4, a batch of images", x.rank());
  ASSIGN_OR_RETURN(x, translator.In(x, kChannelsLast, name));
  ASSIGN_OR_RETURN(const Imported w, translator.GetParameter(weight, kChannelsLast, Beginning::kWeights));
  const IntList stride = RepeatedOf(node, "stride", {1, 1}, 2), dilation = RepeatedOf(node, "dilation", {1, 1}, 2);
  IntList padding = PaddingAround(node, 2);
  if (const auto found = node.arguments.find("padding"); found != node.arguments.end()) {
    const auto* const word = std::get_if<std::string>(&found->second);
    if (word != nullptr && *word == "same") {
      const Shape kernel = translator.ShapeOf(w.node);
      for (int d = 0; d < 2; ++d) {
        const int64_t whole = dilation[d] * (kernel[1 + d] - 1);
        padding[2 * d] = whole / 2;
        padding[2 * d + 1] = whole - whole / 2;
      }
    } else if (word != nullptr && *word != "valid") {
      return InvalidArgument("padding is {}", *word);
    }
  }
  const std::string bias = OptionalTensorOf(node, "bias");
  ASSIGN_OR_RETURN(std::string y, translator.Add(bias.empty() ? name : name + ".conv2d", "conv2d", {x.node, w.node},
                                                 {{"stride", stride},
                                                  {"padding", padding},
                                                  {"dilation", dilation},
                                                  {"groups", IntegerOf(node, "groups", 1)}}));
  ASSIGN_OR_RETURN(y, Biased(translator, y, bias, name));
  translator.Bind(name, {std::move(y), kChannelsLast});
  return absl::OkStatus();
}

// The padding in front, and that behind by which the windows make as many rows and columns as the result has: with
// ceil_mode that is more than the module says.
IntList PaddingOf(const IntList& padding, const IntList& kernel, const IntList& stride, const Shape& before,
                  const std::vector<Size>& result) {
  IntList around;
  for (int d = 0; d < 2; ++d) {
    const int64_t needed = (result[2 + d].value - 1) * stride[d] + kernel[d] - before[1 + d] - padding[d];
    around.push_back(padding[d]);
    around.push_back(std::max<int64_t>(needed, 0));
  }
  return around;
}

// The mean of each window of a dimension, as weights of its elements. Padding counts as far as the padded image goes.
std::vector<double> WindowMeans(int64_t size, int64_t windows, int64_t kernel, int64_t stride, int64_t padding,
                                bool count_padding) {
  std::vector<double> means(static_cast<size_t>(windows * size), 0);
  for (int64_t i = 0; i < windows; ++i) {
    const int64_t begin = i * stride - padding, end = std::min(begin + kernel, size + padding);
    const int64_t first = std::max<int64_t>(begin, 0), behind = std::min(end, size);
    for (int64_t k = first; k < behind; ++k) {
      means[static_cast<size_t>(i * size + k)] = 1 / static_cast<double>(count_padding ? end - begin : behind - first);
    }
  }
  return means;
}

// Images, and rows of one dimension as images of one row.
absl::Status Pool(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  const bool largest = OpOf(node.target).starts_with("max_pool");
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(self));
  const bool row = x.rank() == 3 && OpOf(node.target).ends_with("1d");
  if ((x.rank() != 4 && !row) || !translator.IsKnown(name))
    return InvalidArgument("its input has {} dimensions; expected 4", x.rank());
  ASSIGN_OR_RETURN(x, translator.In(x, row ? Order{0, 2, 1} : kChannelsLast, name));
  const Shape lying = translator.ShapeOf(x.node);
  if (row) {
    ASSIGN_OR_RETURN(x.node,
                     translator.Add(name + ".row", "reshape", {x.node}, {{"shape", Shape{-1, 1, lying[1], lying[2]}}}));
    x.order = kChannelsLast;
  }
  std::vector<Size> result = translator.SizesOf(name);
  if (result.size() != lying.size()) return InvalidArgument("its result has {} dimensions", result.size());
  if (row) result.insert(result.begin() + 2, Size{1});
  const auto sides = [&](const char* argument, const IntList& otherwise, int64_t none) {
    IntList both = RepeatedOf(node, argument, otherwise, row ? 1 : 2);
    if (row && both.size() == 1) both = IntList{none, both[0]};
    return both;
  };
  const IntList kernel = sides("kernel_size", {}, 1);
  if (kernel.size() != 2) return InvalidArgument("its kernel has {} sizes", kernel.size());
  IntList stride = sides("stride", {}, 1);
  if (stride.size() != 2) stride = kernel;
  const IntList padding = sides("padding", {0}, 0);
  for (const int64_t dilation : sides("dilation", {1}, 1)) {
    if (dilation != 1) return InvalidArgument("a pool with dilation {}", dilation);
  }
  if (!largest && node.arguments.contains("divisor_override") && IsNumber(node, "divisor_override")) {
    return InvalidArgument("an average pool with a divisor of its own");
  }
  const IntList around = PaddingOf(padding, kernel, stride, translator.ShapeOf(x.node), result);
  if (!largest && (around[1] > padding[0] || around[3] > padding[1])) {  // ceil_mode, with windows that are not whole
    for (int d = 0; d < 2; ++d) {
      const std::vector<double> means = WindowMeans(translator.ShapeOf(x.node)[1 + d], result[2 + d].value, kernel[d],
                                                    stride[d], padding[d], SwitchOf(node, "count_include_pad", true));
      ASSIGN_OR_RETURN(x, Mixed(translator, x, 2 + d, means, name));
    }
  } else {
    Attributes attributes = {{"kernel", kernel}, {"stride", stride}, {"padding", around}};
    if (!largest) attributes.Set("count_padding", SwitchOf(node, "count_include_pad", true));
    ASSIGN_OR_RETURN(x.node, translator.Add(row ? name + ".pool" : name, largest ? "max_pool" : "average_pool",
                                            {x.node}, std::move(attributes)));
  }
  if (row) {
    const Shape made = translator.ShapeOf(x.node);
    ASSIGN_OR_RETURN(x.node, translator.Add(name, "reshape", {x.node}, {{"shape", Shape{-1, made[2], made[3]}}}));
    x.order = {0, 2, 1};
  }
  translator.Bind(name, std::move(x));
  return absl::OkStatus();
}

absl::Status Softmax(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(Imported x, translator.Get(self));
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", -1), x.rank()));
  ASSIGN_OR_RETURN(x, translator.In(x, WithLast(x.order, dimension), name));
  const std::string op = OpOf(node.target).find("log") == std::string::npos ? "softmax" : "log_softmax";
  const Shape shape = translator.ShapeOf(x.node);
  const bool joined = shape.size() > 4;
  if (joined) {
    const Shape rows = {-1, Elements(shape) / shape[0] / shape.back(), shape.back()};
    ASSIGN_OR_RETURN(x.node, translator.Add(name + ".rows", "reshape", {x.node}, {{"shape", rows}}));
  }
  ASSIGN_OR_RETURN(x.node, translator.Add(joined ? name + ".softmax" : name, op, {x.node}));
  if (joined) {
    Shape whole = shape;
    whole[0] = -1;
    ASSIGN_OR_RETURN(x.node, translator.Add(name, "reshape", {x.node}, {{"shape", whole}}));
  }
  translator.Bind(name, std::move(x));
  return absl::OkStatus();
}

// What attention does with a mask: nothing, `causal`, or a bias that is added to the scores. Of a logical mask that is
// its logarithm, -infinity where nothing is to be seen.
struct Mask {
  bool causal = false;
  std::string bias;
};
absl::StatusOr<Mask> MaskOf(Translator& translator, const Node& node, const Shape& query, const Shape& keys) {
  Mask mask{SwitchOf(node, "is_causal", false), ""};
  const std::string& name = node.outputs[0];
  const std::string tensor = OptionalTensorOf(node, "attn_mask");
  if (tensor.empty()) return mask;
  if (mask.causal) return InvalidArgument("an attention that is causal and has a mask");
  const Constant* const constant = translator.ConstantOf(tensor);
  const bool logical = translator.MetaOf(tensor).type == ScalarType::kBool;
  if (constant != nullptr && logical) {
    const std::vector<double> values = constant->values();
    if (std::ranges::find(values, 0.0) == values.end()) return mask;
    const int64_t rows = query[1], columns = keys[1];
    bool triangle = constant->shape.size() >= 2 && constant->shape[constant->shape.size() - 2] == rows &&
                    constant->shape.back() == columns && rows == columns;
    for (size_t i = 0; triangle && i < values.size(); ++i) {
      const auto at = static_cast<int64_t>(i) % (rows * columns);
      triangle = (values[i] != 0) == (at % columns <= at / columns);
    }
    if (triangle) return Mask{true, ""};
  }
  ASSIGN_OR_RETURN(Imported value, translator.Get(tensor));
  ASSIGN_OR_RETURN(value, translator.In(value, InOrder(value.rank()), name + ".mask"));
  mask.bias = value.node;
  if (logical) {
    ASSIGN_OR_RETURN(mask.bias, translator.Add(name + ".bias", "log", {value.node}));
  }
  return mask;
}

absl::Status Attention(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  // Heads, if there are any, are the last dimension before the positions. What lies before them are samples.
  Order order;
  std::vector<std::string> inputs;
  Shape shape;  // of the query, in that order
  for (const char* const argument : {"query", "key", "value"}) {
    ASSIGN_OR_RETURN(const std::string tensor, TensorOf(node, argument));
    ASSIGN_OR_RETURN(Imported value, translator.Whole(tensor, name));
    const size_t rank = value.rank();
    if (rank < 3 || (rank > 4 && !OptionalTensorOf(node, "attn_mask").empty())) {
      return InvalidArgument("{} has {} dimensions; expected 3 or 4", argument, rank);
    }
    order = InOrder(rank);
    if (rank > 3) std::swap(order[rank - 3], order[rank - 2]);
    ASSIGN_OR_RETURN(value, translator.In(value, order, name));
    const Shape own = translator.ShapeOf(value.node);
    if (shape.empty()) shape = own;
    if (rank != 4) {
      const int64_t heads = rank == 3 ? 1 : own[rank - 2];
      ASSIGN_OR_RETURN(value.node,
                       translator.Add(name + "." + argument, "reshape", {value.node},
                                      {{"shape", Shape{-1, own[rank == 3 ? 1 : rank - 3], heads, own.back()}}}));
    }
    inputs.push_back(value.node);
  }
  ASSIGN_OR_RETURN(Mask mask, MaskOf(translator, node, translator.ShapeOf(inputs[0]), translator.ShapeOf(inputs[1])));
  if (!mask.bias.empty()) {
    if (const Shape own = translator.ShapeOf(mask.bias); shape.size() == 3 && own.size() == 3) {  // of the one head
      ASSIGN_OR_RETURN(
          mask.bias, translator.Add(name + ".bias", "reshape", {mask.bias}, {{"shape", Shape{-1, 1, own[1], own[2]}}}));
    }
    inputs.emplace_back();  // no lengths
    inputs.push_back(mask.bias);
  }
  const bool joined = shape.size() != 4;
  ASSIGN_OR_RETURN(std::string y,
                   translator.Add(joined ? name + ".joined" : name, "scaled_dot_product_attention", inputs,
                                  {{"scale", NumberOf(node, "scale", 0)},
                                   {"causal", mask.causal},
                                   {"dropout_rate", NumberOf(node, "dropout_p", 0)}}));
  if (joined) {
    shape[shape.size() - 1] = translator.ShapeOf(y).back();
    shape[0] = -1;
    ASSIGN_OR_RETURN(y, translator.Add(name, "reshape", {y}, {{"shape", shape}}));
  }
  translator.Bind(name, {std::move(y), std::move(order)});
  return absl::OkStatus();
}

absl::Status Embedding(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string weight, TensorOf(node, "weight"));
  ASSIGN_OR_RETURN(const std::string indices, TensorOf(node, "indices"));
  if (SwitchOf(node, "scale_grad_by_freq", false)) return InvalidArgument("gradients that are scaled by frequency");
  ASSIGN_OR_RETURN(const Imported table, translator.GetParameter(weight, InOrder(2), Beginning::kTable));
  const Constant* const constant = translator.ConstantOf(indices);
  if (constant != nullptr && constant->counts_samples == 0) {
    std::vector<int64_t> places;
    for (const double place : constant->values()) places.push_back(AsInteger(place));
    const int64_t padding = IntegerOf(node, "padding_idx", -1);
    bool row = !places.empty() && (padding < 0 || std::ranges::find(places, padding) == places.end());
    for (size_t i = 0; i < places.size(); ++i) row &= places[i] == places[0] + static_cast<int64_t>(i);
    if (row) {  // of positions, say
      ASSIGN_OR_RETURN(Imported rows, Cut(translator, table, 0, places[0], static_cast<int64_t>(places.size()), name));
      Shape shape = constant->shape;
      shape.push_back(translator.ShapeOf(table.node)[1]);
      if (shape.size() != 2) {
        ASSIGN_OR_RETURN(rows.node, translator.Add(name + ".rows", "reshape", {rows.node}, {{"shape", shape}}));
      }
      translator.Bind(name, {std::move(rows.node), InOrder(shape.size())});
      return absl::OkStatus();
    }
  }
  ASSIGN_OR_RETURN(Imported ids, translator.Get(indices));
  ASSIGN_OR_RETURN(ids, translator.In(ids, InOrder(ids.rank()), name));
  Shape whole = translator.ShapeOf(ids.node);
  const bool joined = whole.size() > 2;  // the op takes a sequence for each sample
  if (joined) {
    const Shape sequences = {-1, Elements(whole) / whole[0]};
    ASSIGN_OR_RETURN(ids.node, translator.Add(name + ".ids", "reshape", {ids.node}, {{"shape", sequences}}));
  }
  const auto bind = [&](std::string rows) -> absl::Status {
    if (joined) {
      whole[0] = -1;
      whole.push_back(translator.ShapeOf(table.node)[1]);
      ASSIGN_OR_RETURN(rows, translator.Add(name + ".whole", "reshape", {rows}, {{"shape", whole}}));
    }
    translator.Bind(name, {std::move(rows), InOrder(ids.rank() + 1)});
    return absl::OkStatus();
  };
  const int64_t padding = IntegerOf(node, "padding_idx", -1);
  if (padding < 0) {
    ASSIGN_OR_RETURN(std::string rows, translator.Add(name, "embedding", {table.node, ids.node}));
    return bind(std::move(rows));
  }
  // PyTorch reads the row of padding_idx as any other, and drops its gradient: here that row is zeros, to which it is
  // added where it was read.
  const Shape shape = translator.ShapeOf(table.node);
  if (padding >= shape[0]) return InvalidArgument("padding_idx {} of {} rows", padding, shape[0]);
  ASSIGN_OR_RETURN(std::string rows,
                   translator.Add(name + ".others", "embedding", {table.node, ids.node}, {{"padding_row", padding}}));
  ASSIGN_OR_RETURN(std::string row, translator.Add(name + ".fixed", "stop_gradient", {table.node}));
  ASSIGN_OR_RETURN(row, translator.Add(name + ".padding", "slice", {row},
                                       {{"begin", IntList{padding, 0}}, {"size", IntList{1, -1}}}));
  std::vector<double> ones(static_cast<size_t>(shape[0]), 0);
  ones[static_cast<size_t>(padding)] = 1;
  ASSIGN_OR_RETURN(std::string pads, translator.Values(name + ".is_padding", DType::kF32, Shape{shape[0], 1}, ones));
  ASSIGN_OR_RETURN(pads, translator.Add(name + ".padded", "embedding", {pads, ids.node}));
  ASSIGN_OR_RETURN(row, translator.Add(name + ".at_padding", "mul", {pads, row}));
  ASSIGN_OR_RETURN(rows, translator.Add(name, "add", {rows, row}));
  return bind(std::move(rows));
}

// Sums or means of rows, of bags that are equally long: bag i begins at i times their length.
absl::Status EmbeddingBag(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string weight, TensorOf(node, "weight"));
  ASSIGN_OR_RETURN(const std::string indices, TensorOf(node, "indices"));
  ASSIGN_OR_RETURN(const std::string offsets, TensorOf(node, "offsets"));
  const int64_t mode = IntegerOf(node, "mode", 0);
  if (mode != 0 && mode != 1) return InvalidArgument("the largest elements of bags");
  if (SwitchOf(node, "scale_grad_by_freq", false)) return InvalidArgument("gradients that are scaled by frequency");
  if (!OptionalTensorOf(node, "per_sample_weights").empty() || IntegerOf(node, "padding_idx", -1) >= 0) {
    return InvalidArgument("bags with weights or padding");
  }
  const Constant* const begins = translator.ConstantOf(offsets);
  const int64_t bags = translator.SizeOf(offsets, 0).value, all = translator.SizeOf(indices, 0).value;
  int64_t length = begins == nullptr ? 0 : begins->counts_samples;
  if (begins != nullptr && length == 0 && bags > 0) {  // a batch of one size
    length = all / bags;
    const std::vector<double> values = begins->values();
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] != static_cast<double>(static_cast<int64_t>(i) * length)) length = 0;
    }
  }
  if (length < 1 || bags * length != all) return InvalidArgument("bags that are not equally long");
  ASSIGN_OR_RETURN(const Imported table, translator.GetParameter(weight, InOrder(2), Beginning::kTable));
  ASSIGN_OR_RETURN(const Imported ids, translator.Get(indices));
  ASSIGN_OR_RETURN(std::string rows,
                   translator.Add(name + ".bags", "reshape", {ids.node}, {{"shape", Shape{-1, length}}}));
  ASSIGN_OR_RETURN(rows, translator.Add(name + ".rows", "embedding", {table.node, rows}));
  ASSIGN_OR_RETURN(rows, translator.Add(name, mode == 0 ? "sum" : "mean", {rows}, {{"axes", IntList{1}}}));
  translator.Bind(name, {std::move(rows), InOrder(2)});
  return absl::OkStatus();
}

}  // namespace

void AddLayers(Translations& translations) {
  translations.insert({{"linear", Linear},
                       {"addmm", AddedProduct},
                       {"matmul", Product},
                       {"bmm", Product},
                       {"mm", Product},
                       {"mv", Product},
                       {"baddbmm", AddedBatchProduct},
                       {"conv1d", Convolution1d},
                       {"conv2d", Convolution},
                       {"max_pool1d", Pool},
                       {"max_pool2d", Pool},
                       {"avg_pool1d", Pool},
                       {"avg_pool2d", Pool},
                       {"softmax", Softmax},
                       {"_softmax", Softmax},
                       {"log_softmax", Softmax},
                       {"scaled_dot_product_attention", Attention},
                       {"embedding", Embedding},
                       {"embedding_bag", EmbeddingBag}});
}

}  // namespace partita::torch_export
