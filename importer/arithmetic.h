// Arithmetic that the translations of several families of ops need. Nodes are those of the graph.
#ifndef PARTITA_IMPORTER_ARITHMETIC_H_
#define PARTITA_IMPORTER_ARITHMETIC_H_

#include <cmath>
#include <string>

#include "absl/status/statusor.h"
#include "importer/translator.h"
#include "runtime/base/status.h"

namespace partita::torch_export {

inline bool IsWhole(double number) { return number == std::trunc(number); }

// The value with as many dimensions as the order has, in this order: sizes of 1 in front of its own.
absl::StatusOr<Imported> Lifted(Translator& translator, const Imported& value, const Order& order,
                                const std::string& name);
// A number as an operand beside that node, whose shape it does not change.
absl::StatusOr<std::string> NumberBeside(Translator& translator, const std::string& node, double number,
                                         const std::string& name);
// x * factor, x + number, min(max(x, least), most) for every element; infinite bounds are none.
absl::StatusOr<std::string> Scaled(Translator& translator, const std::string& node, double factor,
                                   const std::string& name);
absl::StatusOr<std::string> Shifted(Translator& translator, const std::string& node, double number,
                                    const std::string& name);
absl::StatusOr<std::string> Clamped(Translator& translator, std::string node, double least, double most,
                                    const std::string& name);
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

// What is made of the operand by a function of its node and the result's name.
template <typename Make>
absl::Status Made(Translator& translator, const Node& node, Make make) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, node.arguments.contains("self") ? "self" : "input"));
  ASSIGN_OR_RETURN(Imported value, translator.Get(self));
  absl::StatusOr<std::string> made = make(value.node, node.outputs[0]);
  RETURN_IF_ERROR(made.status());
  value.node = *std::move(made);
  translator.Bind(node.outputs[0], std::move(value));
  return absl::OkStatus();
}

}  // namespace partita::torch_export

#endif  // PARTITA_IMPORTER_ARITHMETIC_H_
