// Scaled dot-product attention as products, masks and a softmax.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "exporter/onnx/lowering.h"
#include "graph/ir/op_definition.h"

namespace partita::onnx_export {
namespace {

enum Input : size_t { kQuery, kKeys, kValues, kLengths, kBias };

bool Has(const Node& node, size_t input) { return input < node.inputs.size() && node.inputs[input] != kNoValue; }

class Attention {
 public:
  Attention(const Node& node, Emitter& emitter)
      : node_(node),
        emitter_(emitter),
        type_(emitter.dtype(node.inputs[kQuery])),
        heads_(emitter.shape(node.inputs[kQuery])[2]) {}

  // query [n,q,h,d], keys [n,k,g,d], values [n,k,g,c]; heads come second in the products.
  absl::Status Lower() {
    const std::string query = emitter_.Add("Transpose", {emitter_.Get(node_.inputs[kQuery])}, Turn({0, 2, 1, 3}));
    const std::string keys = OfHeads(kKeys, {0, 2, 3, 1}), values = OfHeads(kValues, {0, 2, 1, 3});
    std::string scores = emitter_.Add("MatMul", {query, keys});
    scores = emitter_.Add("Mul", {scores, emitter_.Number(Scale(), type_)});
    if (Has(node_, kBias)) scores = emitter_.Add("Add", {scores, emitter_.Get(node_.inputs[kBias])});
    if (node_.attributes.Bool("causal")) scores = emitter_.Add("Add", {scores, Triangle()});
    if (Has(node_, kLengths)) scores = WithinLengths(scores);
    const std::string context = emitter_.Add("MatMul", {Probabilities(scores), values});
    emitter_.Give(node_.outputs[0], Order::kGraph, "Transpose", {context}, Turn({0, 2, 1, 3}));
    return absl::OkStatus();
  }

 private:
  static WrittenAttributes Turn(IntList order) { return {{"perm", std::move(order)}}; }

  double Scale() const {
    const double scale = node_.attributes.Float("scale");
    return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(emitter_.shape(node_.inputs[kQuery])[3]));
  }

  // Keys or values with the heads second, those of a group repeated for each of its heads.
  std::string OfHeads(size_t input, const IntList& order) {
    const Shape& shape = emitter_.shape(node_.inputs[input]);
    const std::string turned = emitter_.Add("Transpose", {emitter_.Get(node_.inputs[input])}, Turn(order));
    const int64_t groups = shape[2];
    if (groups == heads_ || groups == 1) return turned;  // one group broadcasts
    const std::string wide = emitter_.Add("Unsqueeze", {turned, emitter_.Integers({2})});
    const std::string all = emitter_.Add("Expand", {wide, emitter_.Integers({1, 1, heads_ / groups, 1, 1})});
    const IntList sizes = {0, heads_, shape[static_cast<size_t>(order[2])], shape[static_cast<size_t>(order[3])]};
    return emitter_.Add("Reshape", {all, emitter_.Integers(sizes)});
  }

  // Minus infinity where a key follows its query, else 0: [q,k].
  std::string Triangle() {
    const int64_t queries = emitter_.shape(node_.inputs[kQuery])[1], keys = emitter_.shape(node_.inputs[kKeys])[1];
    const auto elements = [queries, keys]<typename T>(T) {
      std::vector<T> mask(static_cast<size_t>(queries * keys), T(0));
      for (int64_t q = 0; q < queries; ++q) {
        std::fill_n(mask.begin() + q * keys + q + 1, keys - q - 1, -std::numeric_limits<T>::infinity());
      }
      return std::string(reinterpret_cast<const char*>(mask.data()), mask.size() * sizeof(T));
    };
    const bool doubles = type_ == DType::kF64;
    return emitter_.Tensor(fmt::format("triangle {}x{} {}", queries, keys, doubles), doubles ? kDouble : kFloat,
                           {queries, keys}, [=] { return doubles ? elements(0.0) : elements(0.0F); });
  }

  std::string MinusInfinity() { return emitter_.Number(-std::numeric_limits<double>::infinity(), type_); }

  // The scores of keys behind a sample's length are minus infinity.
  std::string WithinLengths(const std::string& scores) {
    const auto keys = static_cast<int32_t>(emitter_.shape(node_.inputs[kKeys])[1]);
    const std::string places = emitter_.Tensor(fmt::format("places {}", keys), kInt32, {keys}, [keys] {
      std::string bytes;
      for (int32_t k = 0; k < keys; ++k) bytes.append(reinterpret_cast<const char*>(&k), sizeof(k));
      return bytes;
    });
    const std::string lengths =
        emitter_.Add("Unsqueeze", {emitter_.Get(node_.inputs[kLengths]), emitter_.Integers({1, 2, 3})});
    return emitter_.Add("Where", {emitter_.Add("Less", {places, lengths}), scores, MinusInfinity()});
  }

  // Of a query that sees no key all are 0. A parameter hides no key.
  std::string Probabilities(const std::string& scores) {
    const std::string softmax = emitter_.Add("Softmax", {scores}, {{"axis", int64_t{-1}}});
    const Graph& graph = emitter_.graph();
    const bool may_hide_all =
        Has(node_, kLengths) ||
        (Has(node_, kBias) && graph.node(graph.value(node_.inputs[kBias]).producer).op->role != Role::kParameter);
    if (!may_hide_all) return softmax;
    const std::string largest =
        emitter_.Add("ReduceMax", {scores, emitter_.Integers({-1})}, {{"keepdims", int64_t{1}}});
    const std::string sees_none = emitter_.Add("Equal", {largest, MinusInfinity()});
    return emitter_.Add("Where", {sees_none, emitter_.Number(0, type_), softmax});
  }

  const Node& node_;
  Emitter& emitter_;
  const DType type_;
  const int64_t heads_;
};

absl::Status DotProductAttention(const Node& node, Emitter& emitter) { return Attention(node, emitter).Lower(); }

}  // namespace

void AddAttention(Lowerings& lowerings) { lowerings["scaled_dot_product_attention"] = {DotProductAttention}; }

}  // namespace partita::onnx_export
