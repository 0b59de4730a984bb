// Arithmetic that the translations of several families of ops need. Nodes are those of the graph.
#ifndef PARTITA_IMPORTER_TRANSLATION_ARITHMETIC_H_
#define PARTITA_IMPORTER_TRANSLATION_ARITHMETIC_H_

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "importer/program/node_arguments.h"
#include "importer/translation/translator.h"
#include "runtime/base/status.h"

namespace partita::torch_export {

inline bool IsWhole(double number) { return number == std::trunc(number); }

// Adds the nodes of a formula one after the other, each named after the result and its op ("loss.exp"). The first error
// stays, and nothing is added behind it: looking at status() once is enough.
class Formula {
 public:
  Formula(Translator& translator, std::string name) : translator_(translator), name_(std::move(name)) {}

  std::string operator()(const std::string& op, const std::vector<std::string>& inputs, Attributes attributes = {});
  // The last node, which has the name of the result.
  std::string Result(const std::string& op, const std::vector<std::string>& inputs, Attributes attributes = {});

  // A number as an operand beside that node, whose shape it does not change.
  std::string Number(double number, const std::string& beside);
  // x factor, x + number, -x, 1 - x, |x|; the same node where nothing changes.
  std::string Times(const std::string& x, double factor);
  std::string Plus(const std::string& x, double number);
  std::string Negative(const std::string& x) { return Times(x, -1); }
  std::string Without(const std::string& x) { return Plus(Negative(x), 1); }
  std::string Magnitude(const std::string& x) { return (*this)("maximum", {x, Negative(x)}); }
  // min(max(x, least), most), without a gradient at a bound; infinite bounds are none.
  std::string Clamped(std::string x, double least, double most);
  // The whole number nearest to x towards 0.
  std::string Truncated(const std::string& x);
  // sqrt(x), whose gradient where x is 0 is 0, as PyTorch has it for norms and deviations.
  std::string Root(const std::string& x);
  // x to that power, of x above 0: exp(exponent log(x)); above 1 it is 0 at 0, with the gradient 0.
  std::string Raised(const std::string& x, double exponent);
  // log(1 + exp(x)), which does not overflow.
  std::string Softplus(const std::string& x);
  // 1 where x is not 0, or where `op` (eq, ne, lt, le, gt, ge) holds of x and y, else 0.
  std::string Truth(const std::string& x);
  std::string Compared(const std::string& op, const std::string& x, const std::string& y);
  // x where the condition is 1, and y where it is 0, whatever the other one is there.
  std::string Chosen(const std::string& condition, const std::string& x, const std::string& y);
  // How many samples a batch has, a scalar.
  std::string Samples();
  // A number among the arguments of a node as an operand beside that node, also where it is a multiple of the batch.
  std::string Argument(const Node& node, const std::string& argument, const std::string& beside);
  // 0, 1, 2, ... along one of `rank` dimensions of that size, of the others 1.
  std::string Numbers(const Size& size, size_t rank, size_t dimension) {
    return Kept([&] { return translator_.NumbersAlong(size, rank, dimension, name_); });
  }

  std::string Floats(const std::string& x) {
    return Kept([&] { return translator_.AsFloats(x, name_); });
  }
  // The value with as many dimensions as the order has, in this order: sizes of 1 in front of its own.
  std::string Lifted(const Imported& value, const Order& order);

  // What a function makes that may fail; "" behind an error.
  template <typename Make>
  auto Kept(Make make) -> typename decltype(make())::value_type {
    if (!status_.ok()) return {};
    auto made = make();
    if (made.ok()) return *std::move(made);
    status_ = made.status();
    return {};
  }

  Translator& translator() { return translator_; }
  const std::string& name() const { return name_; }
  const absl::Status& status() const { return status_; }

 private:
  Translator& translator_;
  std::string name_;
  absl::Status status_;
};

// The value with as many dimensions as the order has, in this order: sizes of 1 in front of its own.
absl::StatusOr<Imported> Lifted(Translator& translator, const Imported& value, const Order& order,
                                const std::string& name);
// Whether an argument is a number that varies with the batch.
bool IsOfBatch(const Node& node, const std::string& argument);
// Integers are computed as f32, which holds those up to 2^24 exactly, and become integers again.
absl::StatusOr<std::string> AsType(Translator& translator, const std::string& node, DType type,
                                   const std::string& name);

// Both operands, as floats, in one order.
struct Pair {
  Imported x, y;
  Order order;
  bool integers = false;  // both
};
absl::StatusOr<Pair> PairOf(Translator& translator, const std::string& self, const std::string& other,
                            const std::string& name);

// Binds the formula's last node as the result of that name, in this order, if there was no error.
absl::Status Bound(Formula& formula, const std::string& node, Order order);

// Binds what a formula makes of the node's operand, `make(formula, x)`, in the order of that; both as floats, and if
// the result is of integers in the file as such again.
template <typename Make>
absl::Status Made(Translator& translator, const Node& node, Make make) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, node.arguments.contains("self") ? "self" : "input"));
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  Formula formula(translator, node.outputs[0]);
  const std::string made = make(formula, formula.Floats(value.node));
  return Bound(formula, made, std::move(value.order));
}

}  // namespace partita::torch_export

#endif  // PARTITA_IMPORTER_TRANSLATION_ARITHMETIC_H_
