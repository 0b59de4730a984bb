// Recurrent layers. Weights of a layer are [directions, gates * units, ...], with the gates in another order than
// PyTorch's.
#include <algorithm>

#include "graph/value/shape.h"
#include "importer/onnx/lowering.h"

namespace partita::onnx {
namespace {

Size AsSize(int64_t number) { return {number}; }

// The gates of ours in the order of PyTorch's: of an LSTM input, output, forget, cell; of a GRU update, reset, hidden.
std::vector<int64_t> GatesOf(const std::string& op) {
  if (op == "LSTM") return {0, 2, 3, 1};
  if (op == "GRU") return {1, 0, 2};
  return {0};
}

Value Selected(Lowering& l, const Value& x, int64_t direction) {
  return l.Add("select", {{"self", NameOf(x)}, {"dim", AsSize(0)}, {"index", AsSize(direction)}}, x.type,
               Sizes(x.sizes.begin() + 1, x.sizes.end()));
}

Value Sliced(Lowering& l, const Value& x, int64_t begin, int64_t count) {
  Sizes sizes = x.sizes;
  sizes[0] = {count};
  if (SameSize(sizes[0], x.sizes[0])) return x;
  return l.Add("slice",
               {{"self", NameOf(x)}, {"dim", AsSize(0)}, {"start", AsSize(begin)}, {"end", AsSize(begin + count)}},
               x.type, sizes);
}

// The rows of x, gate by gate, in PyTorch's order.
Value Ordered(Lowering& l, const Value& x, int64_t units) {
  const std::vector<int64_t> gates = GatesOf(l.op());
  if (gates.size() == 1) return x;
  torch_export::TensorNames parts;
  for (const int64_t gate : gates) parts.names.push_back(Sliced(l, x, gate * units, units).name);
  return l.Add("cat", {{"tensors", parts}, {"dim", AsSize(0)}}, x.type, x.sizes);
}

absl::Status CheckKind(Lowering& l, int64_t directions, std::string& op) {
  if (l.Integer("layout", 0) != 0) return InvalidArgument("a layout with the batch first");
  if (l.HasAttribute("clip")) return InvalidArgument("a recurrence that clips");
  if (l.op() == "LSTM" && (l.Has(7) || l.Integer("input_forget", 0) != 0)) {
    return InvalidArgument("an LSTM with peepholes or coupled gates");
  }
  if (l.op() == "GRU" && l.Integer("linear_before_reset", 0) == 0) {
    return InvalidArgument("a GRU that resets before the product; PyTorch's resets behind it (linear_before_reset)");
  }
  const Attribute* const found = l.Find("activations");
  const std::vector<std::string> given = found == nullptr ? std::vector<std::string>() : found->texts;
  op = l.op() == "LSTM" ? "lstm" : l.op() == "GRU" ? "gru" : "rnn_tanh";
  if (given.empty()) return absl::OkStatus();
  std::vector<std::string> usual = l.op() == "LSTM"  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                                   : l.op() == "GRU" ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                     : std::vector<std::string>{given[0]};
  if (l.op() == "RNN" && given[0] == "Relu")
    op = "rnn_relu";
  else if (l.op() == "RNN" && given[0] != "Tanh")
    return InvalidArgument("activation {}", given[0]);
  for (size_t i = 0; i < given.size(); ++i) {
    if (given.size() != usual.size() * static_cast<size_t>(directions) || given[i] != usual[i % usual.size()]) {
      return InvalidArgument("other activations than PyTorch's");
    }
  }
  return absl::OkStatus();
}

absl::Status Recurrent(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const Value input, l.In(1));
  ASSIGN_OR_RETURN(const Value hidden, l.In(2));
  const std::string direction = l.Text("direction", "forward");
  if (direction == "reverse") return InvalidArgument("a recurrence in reverse alone");
  if (x.rank() != 3 || input.rank() != 3 || hidden.rank() != 3) {
    return InvalidArgument("its input has {} dimensions; expected 3", x.rank());
  }
  const int64_t directions = direction == "bidirectional" ? 2 : 1, units = hidden.sizes[2].value;
  const auto gates = static_cast<int64_t>(GatesOf(l.op()).size());
  std::string op;
  RETURN_IF_ERROR(CheckKind(l, directions, op));
  if (l.Has(4)) {  // as long as the sequence, of all samples
    const std::optional<Known> lengths = l.values().Elements(l.node().inputs[4]);
    const auto whole = [&](const Number& n) { return n.value == static_cast<double>(x.sizes[0].value); };
    if (!lengths || !std::ranges::all_of(lengths->numbers, whole))
      return InvalidArgument("sequences of several lengths");
  }
  const bool biased = l.Has(3);
  Value bias;
  if (biased) {
    ASSIGN_OR_RETURN(bias, l.In(3));
  }
  const bool fits = input.sizes[0].value == directions && hidden.sizes[0].value == directions &&
                    input.sizes[1].value == gates * units && hidden.sizes[1].value == gates * units &&
                    (!biased || (bias.rank() == 2 && bias.sizes[1].value == 2 * gates * units));
  if (!fits) return InvalidArgument("weights of other sizes than its units ask for");
  torch_export::TensorNames params;
  for (int64_t d = 0; d < directions; ++d) {
    params.names.push_back(Ordered(l, Selected(l, input, d), units).name);
    params.names.push_back(Ordered(l, Selected(l, hidden, d), units).name);
    if (!biased) continue;
    const Value both = Selected(l, bias, d);
    params.names.push_back(Ordered(l, Sliced(l, both, 0, gates * units), units).name);
    params.names.push_back(Ordered(l, Sliced(l, both, gates * units, gates * units), units).name);
  }
  const Sizes states = {{directions}, x.sizes[1], {units}};
  std::vector<std::string> begins;
  for (const size_t i : {size_t{5}, size_t{6}}) {
    if (i == 6 && l.op() != "LSTM") break;
    if (l.Has(i)) {
      ASSIGN_OR_RETURN(const Value state, l.In(i));
      begins.push_back(state.name);
    } else {
      begins.push_back(l.Add("full", {{"fill_value", 0.0}}, x.type, states).name);
    }
  }
  Arguments arguments = {{"input", NameOf(x)},
                         {"params", params},
                         {"has_biases", biased},
                         {"num_layers", AsSize(1)},
                         {"bidirectional", directions == 2},
                         {"batch_first", false}};
  if (l.op() == "LSTM")
    arguments["hx"] = torch_export::TensorNames{begins};
  else
    arguments["hx"] = torch_export::TensorName{begins[0]};
  if (l.Gives(2)) return InvalidArgument("the last cells are read");
  const Sizes rows = {x.sizes[0], x.sizes[1], {directions * units}};
  const Value y = l.Add(op, std::move(arguments), x.type, rows);
  if (l.Gives(1)) {
    const std::string& name = l.node().outputs[1];
    const Value last{l.values().FreeName(name), x.type, states};
    torch_export::ExportedProgram& program = l.values().program();
    program.nodes.back().outputs.push_back(last.name);
    program.tensors[last.name].type = x.type;
    program.tensors[last.name].sizes = states;
    RETURN_IF_ERROR(l.Pass(last, 1));
  }
  if (!l.Gives(0)) return absl::OkStatus();
  const Value split = l.Reshaped(y, {x.sizes[0], x.sizes[1], {directions}, {units}});
  return l.Pass(l.Permuted(split, {0, 2, 1, 3}));
}

}  // namespace

void AddRecurrent(Lowerings& lowerings) {
  lowerings.insert({{"LSTM", Recurrent}, {"GRU", Recurrent}, {"RNN", Recurrent}});
}

}  // namespace partita::onnx
