// Turns the nodes of an ONNX graph, one after the other, into those of PyTorch's ops that compute the same.
#ifndef PARTITA_IMPORTER_ONNX_LOWERING_H_
#define PARTITA_IMPORTER_ONNX_LOWERING_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "importer/onnx/model.h"
#include "importer/onnx/values.h"
#include "runtime/base/status.h"

namespace partita::onnx {

using torch_export::Argument;
using Arguments = std::map<std::string, Argument>;

// A node that becomes others: what it reads, its attributes, and the nodes that are added for it. What a method takes
// by `i` is the input of that place.
class Lowering {
 public:
  // All must outlive it.
  Lowering(const OnnxNode& node, int64_t opset, Values& values) : node_(node), opset_(opset), values_(values) {}

  const OnnxNode& node() const { return node_; }
  const std::string& op() const { return node_.op; }
  int64_t opset() const { return opset_; }
  Values& values() { return values_; }

  bool Has(size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  // Whether something reads that output.
  bool Gives(size_t i) const { return i < node_.outputs.size() && values_.IsRead(node_.outputs[i]); }
  absl::StatusOr<Value> In(size_t i);
  // Elements that are known while the file is read. kInvalidArgument: they depend on inputs or weights.
  absl::StatusOr<std::vector<Number>> Numbers(size_t i);
  absl::StatusOr<IntList> Integers(size_t i);  // none of them of the batch
  absl::StatusOr<double> Scalar(size_t i);

  const Attribute* Find(const std::string& name) const;  // nullptr: the node has none of that name
  bool HasAttribute(const std::string& name) const { return Find(name) != nullptr; }
  int64_t Integer(const std::string& name, int64_t otherwise) const;
  double Float(const std::string& name, double otherwise) const;
  std::string Text(const std::string& name, const std::string& otherwise) const;
  IntList List(const std::string& name) const;
  // Axes of the attribute, or of the input that replaced it; counted from the front. Empty: there are none.
  absl::StatusOr<std::vector<size_t>> Axes(size_t i, size_t rank);
  absl::StatusOr<size_t> Axis(const std::string& name, int64_t otherwise, size_t rank) const;

  // kInvalidArgument: the node has an attribute that nothing asked for, so that it may mean something else.
  absl::Status CheckAsked() const;

  // Adds a node; `op` is that of torch.ops.aten. Its result is a value between, or the node's output of that place.
  Value Add(const std::string& op, Arguments arguments, ScalarType type, Sizes sizes);
  absl::Status Result(const std::string& op, Arguments arguments, ScalarType type, Sizes sizes, size_t output = 0);
  // The output is that value, of which nothing more is computed.
  absl::Status Pass(const Value& value, size_t output = 0);

  // Parts that several ops need.
  Value Reshaped(const Value& x, const Sizes& sizes);
  Value Permuted(const Value& x, const std::vector<size_t>& order);
  Value Times(const Value& x, double factor);
  Value Plus(const Value& x, double number);
  absl::StatusOr<Value> Two(const std::string& op, const Value& x, const Value& y);

 private:
  Value AddNamed(const std::string& name, const std::string& op, Arguments arguments, ScalarType type, Sizes sizes);

  const OnnxNode& node_;
  int64_t opset_;
  Values& values_;
  mutable std::set<std::string> asked_;  // attributes
};

// The sizes of what two operands make element by element. kInvalidArgument: they do not broadcast.
absl::StatusOr<Sizes> Broadcast(const Sizes& x, const Sizes& y);
bool SameSize(const Size& x, const Size& y);
IntList ShapeOf(const Sizes& sizes);
bool IsFixed(const Sizes& sizes);

torch_export::TensorName NameOf(const Value& value);
torch_export::Integers ListOf(const std::vector<size_t>& numbers);
torch_export::Integers ListOf(const IntList& numbers);

// What lowers the nodes of an op. nullptr: nothing does.
using Lower = absl::Status (*)(Lowering& lowering);
Lower FindLowering(const std::string& op);
std::vector<std::string> LoweredOps();

using Lowerings = std::map<std::string, Lower>;
void AddElementwise(Lowerings& lowerings);  // elementwise.cc
void AddShapes(Lowerings& lowerings);       // shapes.cc
void AddIndices(Lowerings& lowerings);      // indices.cc
void AddLayers(Lowerings& lowerings);       // layers.cc
void AddImages(Lowerings& lowerings);       // images.cc
void AddNorms(Lowerings& lowerings);        // norms.cc
void AddReductions(Lowerings& lowerings);   // reductions.cc
void AddRecurrent(Lowerings& lowerings);    // recurrent.cc

// Computes a node whose inputs are known numbers, as shapes are: true if it did.
absl::StatusOr<bool> Fold(Lowering& lowering);

}  // namespace partita::onnx

#endif  // PARTITA_IMPORTER_ONNX_LOWERING_H_
