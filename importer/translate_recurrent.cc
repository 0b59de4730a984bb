// Recurrent layers. PyTorch's rows of weights are gate by gate, ours unit by unit.
#include <vector>

#include "importer/moves.h"
#include "importer/translator.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

constexpr int64_t kGates = 4;

// The four tensors of a layer and direction: weights of the input [4 u, in] and of the units [4 u, u], two biases.
struct Weights {
  std::string input, units;
  std::string input_bias, units_bias;  // "": none
};

class Lstm {
 public:
  Lstm(Translator& translator, const std::string& name) : translator_(translator), name_(name) {}

  // h [n,t,u] of x [n,t,in].
  absl::StatusOr<std::string> Layer(const std::string& x, const Weights& weights, bool reverse) {
    ASSIGN_OR_RETURN(const Imported input, translator_.GetParameter(weights.input, {0, 1}, Beginning::kWeights));
    ASSIGN_OR_RETURN(const Imported units, translator_.GetParameter(weights.units, {0, 1}, Beginning::kWeights));
    const int64_t rows = translator_.ShapeOf(input.node)[0], inputs = translator_.ShapeOf(input.node)[1];
    const int64_t outputs = translator_.ShapeOf(units.node)[1];
    if (outputs * kGates != rows) return InvalidArgument("an LSTM with a projection");
    ASSIGN_OR_RETURN(std::string w_x, ByUnits(input.node, {kGates, outputs, inputs}, {1, 0, 2}, {rows, inputs}));
    ASSIGN_OR_RETURN(const std::string w_h,
                     ByUnits(units.node, {kGates, outputs, outputs}, {2, 1, 0}, {outputs, rows}));
    ASSIGN_OR_RETURN(std::string g, translator_.Add(name_ + ".gates", "matmul", {x, w_x}, {{"transpose_w", true}}));
    for (const std::string& bias : {weights.input_bias, weights.units_bias}) {
      if (bias.empty()) continue;
      ASSIGN_OR_RETURN(const Imported b, translator_.GetParameter(bias, {0}, Beginning::kZeros));
      ASSIGN_OR_RETURN(const std::string ordered, ByUnits(b.node, {kGates, outputs}, {1, 0}, {rows}));
      ASSIGN_OR_RETURN(g, translator_.Add(name_ + ".bias", "bias", {g, ordered}));
    }
    return translator_.Add(name_ + ".layer", "lstm", {g, w_h}, {{"reverse", reverse}});
  }

 private:
  absl::StatusOr<std::string> ByUnits(const std::string& node, const Shape& gates, const IntList& permutation,
                                      const Shape& result) {
    ASSIGN_OR_RETURN(std::string y, translator_.Add(name_ + ".rows", "reshape", {node}, {{"shape", gates}}));
    ASSIGN_OR_RETURN(y, translator_.Add(name_ + ".units", "transpose", {y}, {{"permutation", permutation}}));
    return translator_.Add(name_ + ".weights", "reshape", {y}, {{"shape", result}});
  }

  Translator& translator_;
  const std::string& name_;
};

const TensorNames* ListOf(const Node& node, const std::string& argument) {
  const auto found = node.arguments.find(argument);
  return found == node.arguments.end() ? nullptr : std::get_if<TensorNames>(&found->second);
}

// The beginning of the sequences, which must be zeros.
absl::Status CheckZeros(Translator& translator, const TensorNames& states) {
  for (const std::string& state : states.names) {
    const Constant* const constant = translator.ConstantOf(state);
    if (constant == nullptr) return InvalidArgument("a recurrence that begins with a state of its own; zeros are read");
    for (const double value : constant->values()) {
      if (value != 0) return InvalidArgument("a recurrence that begins with {}; zeros are read", value);
    }
  }
  return absl::OkStatus();
}

absl::Status LongShortTermMemory(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string input, TensorOf(node, "input"));
  const TensorNames* const states = ListOf(node, "hx");
  const TensorNames* const params = ListOf(node, "params");
  const int64_t layers = IntegerOf(node, "num_layers", 1);
  const bool biases = SwitchOf(node, "has_biases", true), both = SwitchOf(node, "bidirectional", false);
  const size_t each = biases ? 4 : 2, directions = both ? 2 : 1;
  if (states == nullptr || params == nullptr ||
      params->names.size() != each * directions * static_cast<size_t>(layers)) {
    return InvalidArgument("an LSTM of another kind than torch.nn.LSTM");
  }
  RETURN_IF_ERROR(CheckZeros(translator, *states));
  ASSIGN_OR_RETURN(Imported x, translator.Whole(input, name));
  if (x.rank() != 3) return InvalidArgument("its input has {} dimensions; expected 3", x.rank());
  const Order order = SwitchOf(node, "batch_first", false) ? InOrder(3) : Order{1, 0, 2};
  ASSIGN_OR_RETURN(x, translator.In(x, order, name));
  const double dropout = SwitchOf(node, "train", true) ? NumberOf(node, "dropout", 0) : 0;
  Lstm lstm(translator, name);
  size_t next = 0;
  std::vector<std::string> last;  // h of the last position of each layer and direction, [n,1,u]
  for (int64_t layer = 0; layer < layers; ++layer) {
    if (layer > 0 && dropout > 0) {
      ASSIGN_OR_RETURN(x.node, translator.Add(name + ".dropout", "dropout", {x.node}, {{"rate", dropout}}));
    }
    std::vector<std::string> made;
    for (size_t direction = 0; direction < directions; ++direction, next += each) {
      const auto at = [&](size_t i) { return i < each ? params->names[next + i] : std::string(); };
      ASSIGN_OR_RETURN(std::string h, lstm.Layer(x.node, {at(0), at(1), at(2), at(3)}, direction == 1));
      const int64_t places = translator.ShapeOf(h)[1];
      ASSIGN_OR_RETURN(Imported end,
                       Cut(translator, {h, InOrder(3)}, 1, direction == 1 ? 0 : places - 1, 1, name + ".last"));
      last.push_back(std::move(end.node));
      made.push_back(std::move(h));
    }
    x.node = made[0];
    if (both) {
      ASSIGN_OR_RETURN(x.node, translator.Add(name + ".both", "concat", made, {{"axis", int64_t{2}}}));
    }
  }
  translator.Bind(name, {x.node, order});
  if (node.outputs.size() > 1) {  // [layers, n, u]
    if (last.size() > 1) {
      ASSIGN_OR_RETURN(last[0], translator.Add(name + ".states", "concat", last, {{"axis", int64_t{1}}}));
    }
    translator.Bind(node.outputs[1], {last[0], {1, 0, 2}});
  }
  return absl::OkStatus();
}

}  // namespace

void AddRecurrent(Translations& translations) { translations["lstm"] = LongShortTermMemory; }

}  // namespace partita::torch_export
