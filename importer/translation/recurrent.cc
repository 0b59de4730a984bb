// Recurrent layers. PyTorch's rows of weights are gate by gate, ours unit by unit.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "importer/translation/arithmetic.h"
#include "importer/translation/moves.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

constexpr int64_t kGates = 4;

// The tensors of a layer and direction: weights of the input [4 u, in] and of the units [4 u, u], two biases, and the
// weights of a projection [p, u], with which the units' weights are [4 u, p].
struct Weights {
  std::string input, units;
  std::string input_bias, units_bias, projection;  // "": none
};

const TensorNames* ListOf(const Node& node, const std::string& argument) {
  const auto found = node.arguments.find(argument);
  return found == node.arguments.end() ? nullptr : std::get_if<TensorNames>(&found->second);
}

// What a layer and direction begins with, [n,u]; "": zeros.
struct Begins {
  std::string h, c;
};

// Row `row` of a state [layers, n, u]; "": it is zeros.
absl::StatusOr<std::string> BeginningOf(Translator& translator, const std::string& state, int64_t row,
                                        const std::string& name) {
  if (state.empty()) return std::string();
  if (const Constant* const constant = translator.ConstantOf(state); constant != nullptr) {
    const std::vector<double> values = constant->values();
    if (std::ranges::all_of(values, [](double value) { return value == 0; })) return std::string();
  }
  ASSIGN_OR_RETURN(Imported value, translator.Whole(state, name));
  if (value.rank() != 3) return InvalidArgument("a state of {} dimensions; expected 3", value.rank());
  ASSIGN_OR_RETURN(value, translator.In(value, {1, 0, 2}, name));
  ASSIGN_OR_RETURN(value, Cut(translator, value, 0, row, 1, name + ".beginning"));
  return translator.Add(name + ".begins", "reshape", {value.node},
                        {{"shape", Shape{-1, translator.ShapeOf(value.node).back()}}});
}

// What torch.nn's recurrent layers have in common: layers and directions, one behind the other.
class Recurrence {
 public:
  virtual ~Recurrence() = default;
  // h [n,t,u] of x [n,t,in].
  virtual absl::StatusOr<std::string> Layer(const std::string& x, const Weights& weights, const Begins& begins,
                                            bool reverse) = 0;
  // The cells [n,u] behind the last place of the layer before; "": they are not known.
  virtual std::string cells() const { return ""; }

 protected:
  Recurrence(Translator& translator, const std::string& name) : translator_(translator), name_(name) {}

  absl::StatusOr<std::string> Add(const std::string& part, const std::string& op,
                                  const std::vector<std::string>& inputs, Attributes attributes = {}) {
    return translator_.Add(name_ + "." + part, op, inputs, std::move(attributes));
  }
  absl::StatusOr<std::string> Biased(std::string node, const std::string& bias) {
    if (bias.empty()) return node;
    ASSIGN_OR_RETURN(const Imported b, translator_.GetParameter(bias, {0}, Beginning::kZeros));
    return Add("bias", "bias", {node, b.node});
  }

  Translator& translator_;
  const std::string name_;
};

class Lstm : public Recurrence {
 public:
  Lstm(Translator& translator, const std::string& name) : Recurrence(translator, name) {}

  absl::StatusOr<std::string> Layer(const std::string& x, const Weights& weights, const Begins& begins,
                                    bool reverse) override {
    ASSIGN_OR_RETURN(const Imported input, translator_.GetParameter(weights.input, {0, 1}, Beginning::kWeights));
    ASSIGN_OR_RETURN(const Imported units, translator_.GetParameter(weights.units, {0, 1}, Beginning::kWeights));
    const int64_t rows = translator_.ShapeOf(input.node)[0], inputs = translator_.ShapeOf(input.node)[1];
    const int64_t outputs = translator_.ShapeOf(units.node)[1];
    const int64_t size = rows / kGates;
    std::string projection;
    if (!weights.projection.empty()) {
      ASSIGN_OR_RETURN(const Imported w, translator_.GetParameter(weights.projection, {1, 0}, Beginning::kWeights));
      projection = w.node;
    }
    ASSIGN_OR_RETURN(std::string w_x, ByUnits(input.node, {kGates, size, inputs}, {1, 0, 2}, {rows, inputs}));
    ASSIGN_OR_RETURN(const std::string w_h, ByUnits(units.node, {kGates, size, outputs}, {2, 1, 0}, {outputs, rows}));
    ASSIGN_OR_RETURN(std::string g, translator_.Add(name_ + ".gates", "matmul", {x, w_x}, {{"transpose_w", true}}));
    for (const std::string& bias : {weights.input_bias, weights.units_bias}) {
      if (bias.empty()) continue;
      ASSIGN_OR_RETURN(const Imported b, translator_.GetParameter(bias, {0}, Beginning::kZeros));
      ASSIGN_OR_RETURN(const std::string ordered, ByUnits(b.node, {kGates, size}, {1, 0}, {rows}));
      ASSIGN_OR_RETURN(g, translator_.Add(name_ + ".bias", "bias", {g, ordered}));
    }
    return translator_.Add(name_ + ".layer", "lstm", {g, w_h, projection, begins.h, begins.c}, {{"reverse", reverse}});
  }

 private:
  absl::StatusOr<std::string> ByUnits(const std::string& node, const Shape& gates, const IntList& permutation,
                                      const Shape& result) {
    ASSIGN_OR_RETURN(std::string y, translator_.Add(name_ + ".rows", "reshape", {node}, {{"shape", gates}}));
    ASSIGN_OR_RETURN(y, translator_.Add(name_ + ".units", "transpose", {y}, {{"permutation", permutation}}));
    return translator_.Add(name_ + ".weights", "reshape", {y}, {{"shape", result}});
  }
};

constexpr int64_t kMostPlaces = 512;  // of recurrences that are computed step by step

absl::Status CheckPlaces(int64_t places) {
  if (places <= kMostPlaces) return absl::OkStatus();
  return InvalidArgument("a recurrence of {} steps; up to {} are read", places, kMostPlaces);
}

// An LSTM whose cells behind the last place are read: a step for each place.
class LstmWithCells : public Recurrence {
 public:
  LstmWithCells(Translator& translator, const std::string& name) : Recurrence(translator, name) {}
  std::string cells() const override { return cells_; }

  absl::StatusOr<std::string> Layer(const std::string& x, const Weights& weights, const Begins& begins,
                                    bool reverse) override {
    Formula f(translator_, name_);
    const auto matrix = [&](const std::string& of) {
      return f.Kept([&] { return translator_.GetParameter(of, {0, 1}, Beginning::kWeights); }).node;
    };
    const auto product = [&f](const std::string& of, const std::string& by) {
      return f("matmul", {of, by}, {{"transpose_w", true}});
    };
    const std::string input = matrix(weights.input), units = matrix(weights.units);
    const std::string projection = weights.projection.empty() ? "" : matrix(weights.projection);
    std::string sums = product(x, input);
    for (const std::string& bias : {weights.input_bias, weights.units_bias}) {
      sums = f.Kept([&] { return Biased(sums, bias); });
    }
    RETURN_IF_ERROR(f.status());
    const int64_t places = translator_.ShapeOf(x)[1], rows = translator_.ShapeOf(input)[0], size = rows / kGates;
    const int64_t outputs = translator_.ShapeOf(units)[1];
    RETURN_IF_ERROR(CheckPlaces(places));
    const auto columns = [&f](const std::string& of, int64_t begin, int64_t count) {
      return f("slice", {of}, {{"begin", IntList{0, begin}}, {"size", IntList{-1, count}}});
    };
    std::string h = begins.h, c = begins.c;
    std::vector<std::string> made(static_cast<size_t>(places));
    for (int64_t i = 0; i < places; ++i) {
      const int64_t at = reverse ? places - 1 - i : i;
      const std::string place = f("slice", {sums}, {{"begin", IntList{0, at, 0}}, {"size", IntList{-1, 1, -1}}});
      std::string gates = f("reshape", {place}, {{"shape", Shape{-1, rows}}});
      const auto zeros = [&](int64_t count) { return f("stop_gradient", {f.Times(columns(gates, 0, count), 0)}); };
      if (h.empty()) h = zeros(outputs);
      if (c.empty()) c = zeros(size);
      gates = f("add", {gates, product(h, units)});
      const auto opened = [&](int64_t gate) { return f("sigmoid", {columns(gates, gate * size, size)}); };
      const std::string written = f("mul", {opened(0), f("tanh", {columns(gates, 2 * size, size)})});
      c = f("add", {f("mul", {opened(1), c}), written});
      h = f("mul", {opened(3), f("tanh", {c})});
      if (!projection.empty()) h = product(h, projection);
      made[static_cast<size_t>(at)] = f("reshape", {h}, {{"shape", Shape{-1, 1, outputs}}});
    }
    cells_ = c;
    const std::string layer = places == 1 ? made[0] : f("concat", made, {{"axis", int64_t{1}}});
    RETURN_IF_ERROR(f.status());
    return layer;
  }

 private:
  std::string cells_;
};

// A step for each position: of PyTorch's gated recurrent units, or of units with one activation.
class Stepwise : public Recurrence {
 public:
  Stepwise(Translator& translator, const std::string& name, std::string activation)
      : Recurrence(translator, name), activation_(std::move(activation)) {}

  absl::StatusOr<std::string> Layer(const std::string& x, const Weights& weights, const Begins& begins,
                                    bool reverse) override {
    ASSIGN_OR_RETURN(const Imported input, translator_.GetParameter(weights.input, {0, 1}, Beginning::kWeights));
    ASSIGN_OR_RETURN(const Imported units, translator_.GetParameter(weights.units, {0, 1}, Beginning::kWeights));
    const int64_t places = translator_.ShapeOf(x)[1], rows = translator_.ShapeOf(input.node)[0];
    units_ = translator_.ShapeOf(units.node)[1];
    RETURN_IF_ERROR(CheckPlaces(places));
    ASSIGN_OR_RETURN(std::string sums, Add("input", "matmul", {x, input.node}, {{"transpose_w", true}}));
    ASSIGN_OR_RETURN(sums, Biased(sums, weights.input_bias));
    std::string h = begins.h;
    std::vector<std::string> made(static_cast<size_t>(places));
    for (int64_t i = 0; i < places; ++i) {
      const int64_t at = reverse ? places - 1 - i : i;
      ASSIGN_OR_RETURN(std::string sum,
                       Add("place", "slice", {sums}, {{"begin", IntList{0, at, 0}}, {"size", IntList{-1, 1, -1}}}));
      ASSIGN_OR_RETURN(sum, Add("sum", "reshape", {sum}, {{"shape", Shape{-1, rows}}}));
      if (h.empty()) {
        ASSIGN_OR_RETURN(h, Add("column", "slice", {sum}, {{"begin", IntList{0, 0}}, {"size", IntList{-1, units_}}}));
        ASSIGN_OR_RETURN(h, Add("zeros", "scale", {h}, {{"factor", 0.0}}));
        ASSIGN_OR_RETURN(h, Add("begin", "stop_gradient", {h}));
      }
      ASSIGN_OR_RETURN(std::string product, Add("units", "matmul", {h, units.node}, {{"transpose_w", true}}));
      ASSIGN_OR_RETURN(product, Biased(product, weights.units_bias));
      if (activation_.empty()) {
        ASSIGN_OR_RETURN(h, Gated(sum, product, h));
      } else {
        ASSIGN_OR_RETURN(sum, Add("both", "add", {sum, product}));
        ASSIGN_OR_RETURN(h, Add("h", activation_, {sum}));
      }
      ASSIGN_OR_RETURN(made[static_cast<size_t>(at)], Add("row", "reshape", {h}, {{"shape", Shape{-1, 1, units_}}}));
    }
    return places == 1 ? made[0] : Add("layer", "concat", made, {{"axis", int64_t{1}}});
  }

 private:
  // Rows of reset, update and candidate. h' = n + z (h - n) with n = tanh(x_n + r h_n).
  absl::StatusOr<std::string> Gated(const std::string& x, const std::string& h_products, const std::string& h) {
    const auto part = [&](const std::string& of, int64_t gate) {
      return Add("gate", "slice", {of}, {{"begin", IntList{0, gate * units_}}, {"size", IntList{-1, units_}}});
    };
    std::string gates[2];
    for (int64_t gate = 0; gate < 2; ++gate) {
      ASSIGN_OR_RETURN(const std::string of_x, part(x, gate));
      ASSIGN_OR_RETURN(const std::string of_h, part(h_products, gate));
      ASSIGN_OR_RETURN(gates[gate], Add("sums", "add", {of_x, of_h}));
      ASSIGN_OR_RETURN(gates[gate], Add("opened", "sigmoid", {gates[gate]}));
    }
    ASSIGN_OR_RETURN(const std::string of_x, part(x, 2));
    ASSIGN_OR_RETURN(std::string candidate, part(h_products, 2));
    ASSIGN_OR_RETURN(candidate, Add("reset", "mul", {gates[0], candidate}));
    ASSIGN_OR_RETURN(candidate, Add("candidate", "add", {of_x, candidate}));
    ASSIGN_OR_RETURN(candidate, Add("new", "tanh", {candidate}));
    ASSIGN_OR_RETURN(std::string kept, Add("difference", "sub", {h, candidate}));
    ASSIGN_OR_RETURN(kept, Add("kept", "mul", {gates[1], kept}));
    return Add("h", "add", {candidate, kept});
  }

  std::string activation_;  // "": gated
  int64_t units_ = 0;
};

absl::Status Recurrent(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string input, TensorOf(node, "input"));
  const std::string op = OpOf(node.target), state = OptionalTensorOf(node, "hx");
  const TensorNames* const states = ListOf(node, "hx");
  const TensorNames* const params = ListOf(node, "params");
  const int64_t layers = IntegerOf(node, "num_layers", 1);
  const bool biases = SwitchOf(node, "has_biases", true), both = SwitchOf(node, "bidirectional", false);
  const size_t own = biases ? 4 : 2, directions = both ? 2 : 1;
  const size_t all = directions * static_cast<size_t>(std::max<int64_t>(layers, 1));
  const bool projected = op == "lstm" && params != nullptr && params->names.size() == (own + 1) * all;
  const size_t each = projected ? own + 1 : own;
  if ((states == nullptr && state.empty()) || params == nullptr || params->names.size() != each * all) {
    return InvalidArgument("a recurrence of another kind than those of torch.nn");
  }
  ASSIGN_OR_RETURN(Imported x, translator.Whole(input, name));
  if (x.rank() != 3) return InvalidArgument("its input has {} dimensions; expected 3", x.rank());
  const Order order = SwitchOf(node, "batch_first", false) ? InOrder(3) : Order{1, 0, 2};
  ASSIGN_OR_RETURN(x, translator.In(x, order, name));
  const double dropout = SwitchOf(node, "train", true) ? NumberOf(node, "dropout", 0) : 0;
  std::unique_ptr<Recurrence> recurrence;
  const bool cells = op == "lstm" && node.outputs.size() > 2 && translator.IsRead(node.outputs[2]);
  if (cells) {
    recurrence = std::make_unique<LstmWithCells>(translator, name);
  } else if (op == "lstm") {
    recurrence = std::make_unique<Lstm>(translator, name);
  } else {
    recurrence = std::make_unique<Stepwise>(translator, name, op == "gru" ? "" : op == "rnn_tanh" ? "tanh" : "relu");
  }
  size_t next = 0;
  std::vector<std::string> last, last_cells;  // of the last position of each layer and direction, [n,1,u]
  for (int64_t layer = 0; layer < layers; ++layer) {
    if (layer > 0 && dropout > 0) {
      ASSIGN_OR_RETURN(x.node, translator.Add(name + ".dropout", "dropout", {x.node}, {{"rate", dropout}}));
    }
    std::vector<std::string> made;
    for (size_t direction = 0; direction < directions; ++direction, next += each) {
      const auto at = [&](size_t i) { return i < own ? params->names[next + i] : std::string(); };
      const std::string projection = projected ? params->names[next + own] : std::string();
      const auto begins_with = [&](size_t i) -> absl::StatusOr<std::string> {
        const std::string of = states == nullptr          ? (i == 0 ? state : "")
                               : i < states->names.size() ? states->names[i]
                                                          : "";
        return BeginningOf(translator, of, static_cast<int64_t>(next / each), name);
      };
      Begins begins;
      ASSIGN_OR_RETURN(begins.h, begins_with(0));
      ASSIGN_OR_RETURN(begins.c, begins_with(1));
      ASSIGN_OR_RETURN(std::string h,
                       recurrence->Layer(x.node, {at(0), at(1), at(2), at(3), projection}, begins, direction == 1));
      const int64_t places = translator.ShapeOf(h)[1];
      ASSIGN_OR_RETURN(Imported end,
                       Cut(translator, {h, InOrder(3)}, 1, direction == 1 ? 0 : places - 1, 1, name + ".last"));
      last.push_back(std::move(end.node));
      if (cells) {
        const std::string c = recurrence->cells();
        ASSIGN_OR_RETURN(std::string row, translator.Add(name + ".cells", "reshape", {c},
                                                         {{"shape", Shape{-1, 1, translator.ShapeOf(c).back()}}}));
        last_cells.push_back(std::move(row));
      }
      made.push_back(std::move(h));
    }
    x.node = made[0];
    if (both) {
      ASSIGN_OR_RETURN(x.node, translator.Add(name + ".both", "concat", made, {{"axis", int64_t{2}}}));
    }
  }
  translator.Bind(name, {x.node, order});
  for (size_t i = 1; i < node.outputs.size() && i <= 2; ++i) {  // [layers, n, u]
    const std::vector<std::string>& states_of = i == 1 ? last : last_cells;
    if (states_of.empty()) continue;
    std::string joined = states_of[0];
    if (states_of.size() > 1) {
      ASSIGN_OR_RETURN(joined, translator.Add(name + ".states", "concat", states_of, {{"axis", int64_t{1}}}));
    }
    translator.Bind(node.outputs[i], {std::move(joined), {1, 0, 2}});
  }
  return absl::OkStatus();
}

// x times the transposed matrix, plus a bias if there is one.
std::string Product(Formula& f, const Imported& x, const std::string& weight, const std::string& bias) {
  Translator& translator = f.translator();
  const Imported rows = f.Kept([&] { return translator.In(x, InOrder(2), f.name()); });
  const Imported w = f.Kept([&] { return translator.GetParameter(weight, InOrder(2), Beginning::kWeights); });
  const std::string product = f("matmul", {rows.node, w.node}, {{"transpose_w", true}});
  if (bias.empty()) return product;
  const Imported b = f.Kept([&] { return translator.GetParameter(bias, {0}, Beginning::kZeros); });
  return f("bias", {product, b.node});
}

// One step of a recurrent layer, [n,k] and [n,h], whose gates lie one behind the other.
absl::Status Cell(Translator& translator, const Node& node) {
  const std::string &name = node.outputs[0], op = OpOf(node.target);
  Formula f(translator, name);
  ASSIGN_OR_RETURN(const std::string input, TensorOf(node, "input"));
  std::vector<std::string> before = {OptionalTensorOf(node, "hx")};  // h, and c of an LSTM
  if (const auto states = node.arguments.find("hx"); states != node.arguments.end() && before[0].empty()) {
    if (const auto* const both = std::get_if<TensorNames>(&states->second)) before = both->names;
  }
  if (before.size() != (op == "lstm_cell" ? 2U : 1U) || before[0].empty()) return InvalidArgument("it has no state");
  ASSIGN_OR_RETURN(const Imported x, translator.Get(input));
  ASSIGN_OR_RETURN(Imported h, translator.Whole(before[0], name));
  ASSIGN_OR_RETURN(h, translator.In(h, InOrder(2), name));
  ASSIGN_OR_RETURN(const std::string of_input, TensorOf(node, "w_ih"));
  ASSIGN_OR_RETURN(const std::string of_state, TensorOf(node, "w_hh"));
  const std::string given = Product(f, x, of_input, OptionalTensorOf(node, "b_ih")),
                    kept = Product(f, h, of_state, OptionalTensorOf(node, "b_hh"));
  RETURN_IF_ERROR(f.status());
  const int64_t size = translator.ShapeOf(h.node)[1];
  const auto gate = [&](const std::string& gates, int64_t i) {
    return f("slice", {gates}, {{"begin", IntList{0, i * size}}, {"size", IntList{-1, size}}});
  };
  if (op == "gru_cell") {  // n = tanh(Wx + r Uh); (1 - z) n + z h
    const std::string r = f("sigmoid", {f("add", {gate(given, 0), gate(kept, 0)})}),
                      z = f("sigmoid", {f("add", {gate(given, 1), gate(kept, 1)})});
    const std::string fresh = f("tanh", {f("add", {gate(given, 2), f("mul", {r, gate(kept, 2)})})});
    return Bound(f, f.Result("add", {fresh, f("mul", {z, f("sub", {h.node, fresh})})}), InOrder(2));
  }
  const std::string gates = f("add", {given, kept});
  if (op != "lstm_cell") return Bound(f, f.Result(op == "rnn_relu_cell" ? "relu" : "tanh", {gates}), InOrder(2));
  ASSIGN_OR_RETURN(Imported c, translator.Whole(before[1], name));
  ASSIGN_OR_RETURN(c, translator.In(c, InOrder(2), name));
  const std::string written = f("mul", {f("sigmoid", {gate(gates, 0)}), f("tanh", {gate(gates, 2)})}),
                    held = f("mul", {f("sigmoid", {gate(gates, 1)}), c.node});
  const std::string state = f("add", {held, written});
  const std::string result = f.Result("mul", {f("sigmoid", {gate(gates, 3)}), f("tanh", {state})});
  if (node.outputs.size() > 1 && !node.outputs[1].empty()) translator.Bind(node.outputs[1], {state, InOrder(2)});
  return Bound(f, result, InOrder(2));
}

}  // namespace

void AddRecurrent(Translations& translations) {
  for (const char* const name : {"lstm", "gru", "rnn_tanh", "rnn_relu"}) translations[name] = Recurrent;
  for (const char* const name : {"lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"}) translations[name] = Cell;
}

}  // namespace partita::torch_export
