// The ONNX model of a graph while it is made: what each value of the graph is called there, in which orders it lies,
// and the nodes and initializers so far.
#ifndef PARTITA_EXPORTER_ONNX_EMITTER_H_
#define PARTITA_EXPORTER_ONNX_EMITTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "exporter/onnx/image_orders.h"
#include "exporter/onnx/schema.h"
#include "graph/ir/graph.h"

namespace partita::onnx_export {

// The elements of a state, row-major as the graph has it, little-endian in that type.
using ReadState = std::function<absl::StatusOr<std::string>(const std::string& name, const TensorType& type)>;

class Emitter {
 public:
  // `other`: the same graph of another batch, by which sizes that follow the batch are known; nullptr: the batch is
  // fixed. All must outlive it, `read` the model too.
  Emitter(const Graph& graph, const Graph* other, const ReadState& read);

  const Graph& graph() const { return graph_; }
  const Shape& shape(ValueId value) const { return graph_.type(value).shape; }
  DType dtype(ValueId value) const { return graph_.type(value).dtype; }
  // How the nodes lie that may give a value in any order.
  Order OrderOf(ValueId value) const { return orders_[value]; }
  // Whether a size follows the batch.
  bool Varies(ValueId value, size_t dimension) const;

  // What follows is of this node.
  void Begin(const Node& node) { node_name_ = graph_.value(node.outputs[0]).name; }

  // The name of a value in that order. It adds a transposition or an initializer where that is not there yet.
  std::string Get(ValueId value, Order order = Order::kGraph);
  // The name of a value that broadcasts to values of `rank` dimensions in that order.
  std::string Operand(ValueId value, size_t rank, Order order);
  bool Has(ValueId value, Order order) const { return forms_[value].contains(order); }

  // Adds a node with one output and returns its name.
  std::string Add(const std::string& op, std::vector<std::string> inputs, WrittenAttributes attributes = {});
  // The same for a node whose output is that value of the graph.
  void Give(ValueId value, Order order, const std::string& op, std::vector<std::string> inputs,
            WrittenAttributes attributes = {});
  // The value is what has that name.
  void Bind(ValueId value, Order order, const std::string& name) { forms_[value][order] = name; }
  // The value is another one of the graph.
  void BindTo(ValueId value, ValueId other);

  // Constants.
  std::string Integers(const IntList& numbers);   // int64 [n]
  std::string Number(double number, DType type);  // a scalar
  std::string Tensor(const std::string& what, ElementType type, IntList dims,
                     std::function<std::string()> elements);  // one for each `what`

  // The single node that reads a value, which is no result; nullptr: there is none, or several.
  const Node* OnlyReader(ValueId value) const;

  void DeclareInput(ValueId value, const std::string& name);
  // `value` becomes an output under its name.
  void DeclareOutput(ValueId value);

  // What was made. Nothing may be added afterwards.
  WrittenModel Finish() &&;

 private:
  // A state or a constant: dimension d of the initializer is dimension order[d] of it; -1: a new one of size 1.
  std::string AddStored(ValueId value, const IntList& order);
  std::string FreeName(const std::string& name);
  WrittenValue Described(ValueId value, Order order, const std::string& name) const;

  const Graph& graph_;
  const Graph* const other_;
  const ReadState& read_;
  const std::vector<Order> orders_;
  int64_t batch_ = 0;  // 0: no size follows it
  WrittenModel model_;
  std::string node_name_;
  std::vector<std::map<Order, std::string>> forms_;            // by value
  std::map<std::pair<ValueId, IntList>, std::string> stored_;  // initializers of states and constants
  std::map<std::string, std::string> constants_;               // by their contents
  std::set<std::string> names_;
  std::vector<std::vector<NodeId>> readers_;
  std::set<ValueId> results_;
};

absl::StatusOr<ElementType> ElementTypeOf(DType type);

}  // namespace partita::onnx_export

#endif  // PARTITA_EXPORTER_ONNX_EMITTER_H_
