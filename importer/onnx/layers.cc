// Layers: convolutions, products, attention, softmax and losses.
#include <algorithm>
#include <cmath>

#include "graph/value/shape.h"
#include "importer/onnx/lowering.h"
#include "importer/onnx/windows.h"
#include "importer/program/stored_elements.h"

namespace partita::onnx {
namespace {

Size AsSize(int64_t number) { return {number}; }

// The sizes of a kernel [out, in, ...] behind its channels.
IntList KernelOf(const Value& weight) {
  IntList kernel;
  for (size_t d = 2; d < weight.rank(); ++d) kernel.push_back(weight.sizes[d].value);
  return kernel;
}

absl::Status Convolution(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const Value weight, l.In(1));
  if (!IsFixed(weight.sizes)) return InvalidArgument("its weights vary with the batch");
  ASSIGN_OR_RETURN(const Windows windows, WindowsOf(l, x, KernelOf(weight)));
  const int64_t groups = l.Integer("group", 1);
  if (groups < 1 || weight.sizes[1].value * groups != x.sizes[1].value || weight.sizes[0].value % groups != 0) {
    return InvalidArgument("weights of {} for {} channels in {} groups", ToString(ShapeOf(weight.sizes)),
                           x.sizes[1].value, groups);
  }
  ASSIGN_OR_RETURN(const Sizes counts, WindowCounts(windows, x, false));
  Sizes sizes = {x.sizes[0], weight.sizes[0]};
  sizes.insert(sizes.end(), counts.begin(), counts.end());
  Arguments arguments = {{"input", NameOf(x)},
                         {"weight", NameOf(weight)},
                         {"stride", ListOf(windows.stride)},
                         {"padding", ListOf(windows.Around())},
                         {"dilation", ListOf(windows.dilation)},
                         {"groups", AsSize(groups)}};
  if (l.Has(2)) {
    ASSIGN_OR_RETURN(const Value bias, l.In(2));
    arguments["bias"] = NameOf(bias);
  }
  return l.Result(fmt::format("conv{}d", windows.sides()), std::move(arguments), x.type, std::move(sizes));
}

// `output_shape` or `auto_pad` say how much of the result is cut off.
absl::Status TransposedConvolution(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const Value weight, l.In(1));
  ASSIGN_OR_RETURN(Windows windows, WindowsOf(l, x, KernelOf(weight)));
  if (windows.sides() > 2) return InvalidArgument("a transposed convolution of volumes");
  const int64_t groups = l.Integer("group", 1);
  if (weight.sizes[0].value != x.sizes[1].value) return InvalidArgument("weights of other channels than its input has");
  IntList more = l.List("output_padding"), asked = l.List("output_shape");
  if (more.empty()) more = IntList(windows.sides(), 0);
  const std::string word = l.Text("auto_pad", "NOTSET");
  Sizes sizes = {x.sizes[0], AsSize(weight.sizes[1].value * groups)};
  if (asked.size() > windows.sides()) asked = IntList(asked.end() - windows.sides(), asked.end());
  if (more.size() != windows.sides() || (!asked.empty() && asked.size() != windows.sides())) {
    return InvalidArgument("output_padding or output_shape has other dimensions than its kernel");
  }
  IntList behind;  // how much more of it is kept behind than in front
  for (size_t d = 0; d < windows.sides(); ++d) {
    const int64_t size = x.sizes[2 + d].value;
    const int64_t whole = (size - 1) * windows.stride[d] + windows.Reach(d) + more[d];
    const bool same = word.starts_with("SAME");
    if (!asked.empty() || same) {
      const int64_t made = asked.empty() ? size * windows.stride[d] : asked[d],
                    cut = std::max<int64_t>(0, whole - made);
      windows.begin[d] = word == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
      windows.end[d] = cut - windows.begin[d];
    }
    const int64_t made = whole - windows.begin[d] - windows.end[d];
    if (made < 1 || (!asked.empty() && made != asked[d])) return InvalidArgument("its result has size {}", made);
    sizes.push_back({made});
    behind.push_back(windows.begin[d] - windows.end[d] + more[d]);
  }
  Arguments arguments = {{"input", NameOf(x)},
                         {"weight", NameOf(weight)},
                         {"stride", ListOf(windows.stride)},
                         {"padding", ListOf(windows.begin)},
                         {"output_padding", ListOf(behind)},
                         {"dilation", ListOf(windows.dilation)},
                         {"groups", AsSize(groups)}};
  if (l.Has(2)) {
    ASSIGN_OR_RETURN(const Value bias, l.In(2));
    arguments["bias"] = NameOf(bias);
  }
  return l.Result(fmt::format("conv_transpose{}d", windows.sides()), std::move(arguments), x.type, std::move(sizes));
}

absl::Status CheckInner(const Size& x, const Size& y) {
  if (SameSize(x, y)) return absl::OkStatus();
  return InvalidArgument("a product over {} and {} elements", x.value, y.value);
}

absl::StatusOr<Value> Product(Lowering& l, const Value& x, const Value& y) {
  if (x.rank() < 2 || y.rank() < 2) return InvalidArgument("a product of {} and {} dimensions", x.rank(), y.rank());
  RETURN_IF_ERROR(CheckInner(x.sizes.back(), y.sizes[y.rank() - 2]));
  ASSIGN_OR_RETURN(Sizes sizes,
                   Broadcast(Sizes(x.sizes.begin(), x.sizes.end() - 2), Sizes(y.sizes.begin(), y.sizes.end() - 2)));
  sizes.push_back(x.sizes[x.rank() - 2]);
  sizes.push_back(y.sizes.back());
  return l.Add("matmul", {{"self", NameOf(x)}, {"other", NameOf(y)}}, x.type, std::move(sizes));
}

absl::Status MatMul(Lowering& l) {
  ASSIGN_OR_RETURN(Value x, l.In(0));
  ASSIGN_OR_RETURN(Value y, l.In(1));
  const bool row = x.rank() == 1, column = y.rank() == 1;
  if (row) x = l.Reshaped(x, {{1}, x.sizes[0]});
  if (column) y = l.Reshaped(y, {y.sizes[0], {1}});
  ASSIGN_OR_RETURN(Value product, Product(l, x, y));
  Sizes sizes = product.sizes;
  if (column) sizes.pop_back();
  if (row) sizes.erase(sizes.end() - (column ? 1 : 2));
  return l.Pass(l.Reshaped(product, sizes));
}

absl::Status Gemm(Lowering& l) {
  ASSIGN_OR_RETURN(Value a, l.In(0));
  ASSIGN_OR_RETURN(Value b, l.In(1));
  if (a.rank() != 2 || b.rank() != 2) return InvalidArgument("matrices of {} and {} dimensions", a.rank(), b.rank());
  const double alpha = l.Float("alpha", 1), beta = l.Float("beta", 1);
  const bool by_rows = l.Integer("transB", 0) != 0;
  if (l.Integer("transA", 0) != 0) a = l.Permuted(a, {1, 0});
  const Size& columns = b.sizes[by_rows ? 0 : 1];
  RETURN_IF_ERROR(CheckInner(a.sizes[1], b.sizes[by_rows ? 1 : 0]));
  const Sizes sizes = {a.sizes[0], columns};
  Value bias;
  const bool adds = l.Has(2) && beta != 0;
  if (adds) {
    ASSIGN_OR_RETURN(bias, l.In(2));
    ASSIGN_OR_RETURN(const Sizes whole, Broadcast(sizes, bias.sizes));
    if (!std::ranges::equal(whole, sizes, SameSize))
      return InvalidArgument("a bias of {}", ToString(ShapeOf(bias.sizes)));
  }
  const bool vector = adds && bias.rank() == 1 && SameSize(bias.sizes[0], columns) && alpha == 1 && beta == 1;
  Arguments linear = {{"input", NameOf(a)}, {"weight", NameOf(b)}};
  if (by_rows && (vector || !adds)) {
    if (vector) linear["bias"] = NameOf(bias);
    if (alpha == 1) return l.Result("linear", std::move(linear), a.type, sizes);
    return l.Pass(l.Times(l.Add("linear", std::move(linear), a.type, sizes), alpha));
  }
  if (vector) {
    return l.Result("addmm", {{"self", NameOf(bias)}, {"mat1", NameOf(a)}, {"mat2", NameOf(b)}}, a.type, sizes);
  }
  Value product = by_rows ? l.Add("linear", std::move(linear), a.type, sizes)
                          : l.Add("matmul", {{"self", NameOf(a)}, {"other", NameOf(b)}}, a.type, sizes);
  product = l.Times(product, alpha);
  if (!adds) return l.Pass(product);
  return l.Result("add", {{"self", NameOf(product)}, {"other", NameOf(l.Times(bias, beta))}}, a.type, sizes);
}

absl::Status Einsum(Lowering& l) {
  std::string equation = l.Text("equation", "");
  std::erase(equation, ' ');
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  torch_export::TensorNames names;
  std::map<char, Size> sizes;
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos) return InvalidArgument("an einsum of '{}', which names no result", equation);
  size_t at = 0;
  for (size_t i = 0; i < l.node().inputs.size(); ++i) {
    ASSIGN_OR_RETURN(const Value operand, l.In(i));
    for (const Size& size : operand.sizes) {
      if (at >= arrow || std::isalpha(static_cast<unsigned char>(equation[at])) == 0) {
        return InvalidArgument("an einsum of '{}' with {} dimensions", equation, operand.rank());
      }
      const auto [found, first] = sizes.emplace(equation[at++], size);
      if (!first) RETURN_IF_ERROR(CheckInner(found->second, size));
    }
    if (at < arrow && equation[at] == ',') ++at;
    names.names.push_back(operand.name);
  }
  Sizes result;
  for (const char label : equation.substr(arrow + 2)) {
    if (!sizes.contains(label)) return InvalidArgument("an einsum of '{}'", equation);
    result.push_back(sizes[label]);
  }
  return l.Result("einsum", {{"equation", equation}, {"tensors", names}}, x.type, std::move(result));
}

// Before opset 13 the dimensions from the axis on were one.
absl::Status Softmax(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  const bool coerced = l.opset() < 13;
  ASSIGN_OR_RETURN(const size_t axis, l.Axis("axis", coerced ? 1 : -1, x.rank()));
  const std::string op = l.op() == "Softmax" ? "softmax" : "log_softmax";
  if (!coerced || axis + 1 == x.rank()) {
    return l.Result(op, {{"self", NameOf(x)}, {"dim", AsSize(static_cast<int64_t>(axis))}}, x.type, x.sizes);
  }
  Sizes rows(x.sizes.begin(), x.sizes.begin() + static_cast<int64_t>(axis));
  int64_t elements = 1;
  for (size_t d = axis; d < x.rank(); ++d) {
    if (!x.sizes[d].symbol.empty()) return InvalidArgument("a softmax over the batch");
    elements *= x.sizes[d].value;
  }
  rows.push_back({elements});
  const Value joined = l.Reshaped(x, rows);
  const Value y = l.Add(op, {{"self", NameOf(joined)}, {"dim", AsSize(static_cast<int64_t>(axis))}}, x.type, rows);
  return l.Pass(l.Reshaped(y, x.sizes));
}

// [n, t, heads * d] as [n, heads, t, d].
absl::StatusOr<Value> Headed(Lowering& l, const Value& x, int64_t heads) {
  if (x.rank() == 4) return x;
  if (x.rank() != 3 || heads < 1 || x.sizes[2].value % heads != 0) {
    return InvalidArgument("{} heads of {}", heads, ToString(ShapeOf(x.sizes)));
  }
  return l.Permuted(l.Reshaped(x, {x.sizes[0], x.sizes[1], {heads}, {x.sizes[2].value / heads}}), {0, 2, 1, 3});
}

absl::Status Attention(Lowering& l) {
  ASSIGN_OR_RETURN(const Value query, l.In(0));
  ASSIGN_OR_RETURN(const Value key, l.In(1));
  ASSIGN_OR_RETURN(const Value value, l.In(2));
  if (l.Has(4) || l.Has(5) || l.Has(6) || l.Gives(1) || l.Gives(2) || l.Gives(3)) {
    return InvalidArgument("an attention with keys and values of earlier calls");
  }
  if (l.Float("softcap", 0) != 0) return InvalidArgument("an attention with a soft cap");
  ASSIGN_OR_RETURN(const Value q, Headed(l, query, l.Integer("q_num_heads", 0)));
  ASSIGN_OR_RETURN(Value k, Headed(l, key, l.Integer("kv_num_heads", 0)));
  ASSIGN_OR_RETURN(Value v, Headed(l, value, l.Integer("kv_num_heads", 0)));
  const int64_t heads = q.sizes[1].value, groups = k.sizes[1].value;
  if (groups < 1 || heads % groups != 0) return InvalidArgument("{} heads of queries and {} of keys", heads, groups);
  if (heads != groups) {  // each head of keys serves several of queries
    for (Value* const x : {&k, &v}) {
      const Sizes& s = x->sizes;
      const Sizes repeated = {s[0], s[1], {heads / groups}, s[2], s[3]};
      const Value one = l.Reshaped(*x, {s[0], s[1], {1}, s[2], s[3]});
      const Value all = l.Add("expand", {{"self", NameOf(one)}}, x->type, repeated);
      *x = l.Reshaped(all, {s[0], {heads}, s[2], s[3]});
    }
  }
  Arguments arguments = {
      {"query", NameOf(q)}, {"key", NameOf(k)}, {"value", NameOf(v)}, {"is_causal", l.Integer("is_causal", 0) != 0}};
  if (l.HasAttribute("scale")) arguments["scale"] = l.Float("scale", 1);
  if (l.Has(3)) {
    ASSIGN_OR_RETURN(const Value mask, l.In(3));
    arguments["attn_mask"] = NameOf(mask);
  }
  const Sizes sizes = {q.sizes[0], q.sizes[1], q.sizes[2], v.sizes[3]};
  if (query.rank() == 4) return l.Result("scaled_dot_product_attention", std::move(arguments), q.type, sizes);
  const Value y = l.Permuted(l.Add("scaled_dot_product_attention", std::move(arguments), q.type, sizes), {0, 2, 1, 3});
  return l.Pass(l.Reshaped(y, {sizes[0], sizes[2], {heads * sizes[3].value}}));
}

absl::Status Loss(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const Value labels, l.In(1));
  if (l.Gives(1)) return InvalidArgument("its logarithms are read");
  const std::string reduction = l.Text("reduction", "mean");
  Arguments arguments = {{"self", NameOf(x)},
                         {"target", NameOf(labels)},
                         {"reduction", AsSize(reduction == "mean"  ? 1
                                              : reduction == "sum" ? 2
                                                                   : 0)},
                         {"ignore_index", AsSize(l.Integer("ignore_index", -100))}};
  if (l.Has(2)) {
    ASSIGN_OR_RETURN(const Value weight, l.In(2));
    arguments["weight"] = NameOf(weight);
  }
  const std::string op = l.op() == "NegativeLogLikelihoodLoss" ? "nll_loss_nd" : "cross_entropy_loss";
  return l.Result(op, std::move(arguments), x.type, reduction == "none" ? labels.sizes : Sizes());
}

}  // namespace

void AddLayers(Lowerings& lowerings) {
  lowerings.insert({{"Conv", Convolution},
                    {"ConvTranspose", TransposedConvolution},
                    {"MatMul", MatMul},
                    {"Gemm", Gemm},
                    {"Einsum", Einsum},
                    {"Softmax", Softmax},
                    {"LogSoftmax", Softmax},
                    {"Attention", Attention},
                    {"SoftmaxCrossEntropyLoss", Loss},
                    {"NegativeLogLikelihoodLoss", Loss}});
}

}  // namespace partita::onnx
