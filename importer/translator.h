// Translates the nodes of an exported program, one after the other, into nodes of a graph.
//
// PyTorch's images are [n,c,h,w], ours [n,h,w,c]. A value therefore has an order: which of PyTorch's dimensions each of
// ours is. permute and transpose only change it; element-wise ops pass it on; an op whose kernels want another order
// asks for it (In), and only there is anything moved.
#ifndef PARTITA_IMPORTER_TRANSLATOR_H_
#define PARTITA_IMPORTER_TRANSLATOR_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/op_definition.h"
#include "graph/read/graph_assembler.h"
#include "importer/exported_program.h"

namespace partita::torch_export {

// Our dimension j is PyTorch's dimension order[j].
using Order = std::vector<int>;
Order InOrder(size_t rank);  // 0, 1, 2, ...
// [n,c,h,w] as [n,h,w,c].
inline const Order kChannelsLast = {0, 2, 3, 1};

struct Imported {
  std::string node;  // of the graph
  Order order;

  size_t rank() const { return order.size(); }
};

// What a parameter begins with where nothing is loaded: as the layers of torch.nn that have such a parameter.
enum class Beginning : uint8_t { kWeights, kOnes, kZeros, kTable };

// A parameter or a buffer of the graph: its name there is that in the module.
struct ImportedState {
  std::string name;
  Order order;  // of the graph's tensor
};

class Translator {
 public:
  // Both must outlive it.
  Translator(const ExportedProgram& program, const OpRegistry& registry);
  // User inputs that convolutions and pools read: their channels are last.
  void SetImages(std::set<std::string> names) { images_ = std::move(names); }

  // The values that nodes read: of user inputs, parameters and earlier nodes. kInvalidArgument: it has no translation.
  absl::StatusOr<Imported> Get(const std::string& name);
  absl::StatusOr<Imported> GetParameter(const std::string& name, const Order& order, Beginning beginning);
  absl::StatusOr<Imported> GetState(const std::string& name, double begin);
  // What later nodes read under that name of PyTorch.
  void Bind(const std::string& name, Imported value);

  // Adds a node under that name, or one like it. kInvalidArgument: the op refuses its inputs.
  absl::StatusOr<std::string> Add(const std::string& name, const std::string& op,
                                  const std::vector<std::string>& inputs, Attributes attributes = {});
  bool Has(const std::string& op) const { return registry_.Find(op) != nullptr; }
  bool TakesAttribute(const std::string& op, const std::string& attribute) const;

  // The value with its dimensions in that order; moved only if any but those of size 1 change places.
  absl::StatusOr<Imported> In(const Imported& value, const Order& order, const std::string& name);
  // Reshapes it to these sizes, of which one at most may vary with the batch.
  absl::StatusOr<std::string> Reshape(const std::string& node, const std::vector<Size>& sizes, const std::string& name);

  // Zeros [n,1,...] of the graph's batch, whatever it is.
  absl::StatusOr<std::string> BatchOfZeros(size_t rank, const std::string& name);

  // The sizes of PyTorch's value; those of a value in its order.
  const std::vector<Size>& SizesOf(const std::string& name) const { return program_.tensors.at(name).sizes; }
  Shape ShapeOf(const std::string& node) const;
  bool IsKnown(const std::string& name) const { return program_.tensors.contains(name); }
  const TensorMeta& MetaOf(const std::string& name) const { return program_.tensors.at(name); }

  const std::vector<ImportedState>& states() const { return states_; }
  GraphAssembler& assembler() { return assembler_; }

 private:
  absl::StatusOr<Imported> Exchanged(const Imported& value, const Order& order, const Shape& moved,
                                     const std::string& name);
  absl::StatusOr<Imported> AddInput(const Input& input);
  absl::StatusOr<Imported> AddState(const Input& input, const std::string& op, const Order& order,
                                    Attributes attributes);

  const ExportedProgram& program_;
  const OpRegistry& registry_;
  GraphAssembler assembler_;
  std::map<std::string, Imported> values_;
  std::map<std::string, const Input*> inputs_;  // by name
  std::vector<ImportedState> states_;
  std::set<std::string> images_;
  std::string batch_symbol_;  // the first size of the first user input, if it varies
  std::string batched_;       // a node whose first dimension is the batch, of a floating type
};

// What translates the nodes of a target, "conv2d" of torch.ops.aten.conv2d.default. nullptr: nothing does.
using Translate = absl::Status (*)(Translator& translator, const Node& node);
Translate FindTranslation(const std::string& target);

// torch.ops.aten.relu_.default -> relu_
std::string OpOf(const std::string& target);
// Whether the op writes into its first argument.
bool IsInPlace(const std::string& target);

// The translations of each family, by name.
using Translations = std::map<std::string, Translate>;
void AddElementwise(Translations& translations);  // translate_elementwise.cc
void AddShapes(Translations& translations);       // translate_shapes.cc
void AddLayers(Translations& translations);       // translate_layers.cc
void AddReductions(Translations& translations);   // translate_reductions.cc

// Arguments of a node. Those that it lacks are the defaults.
absl::StatusOr<std::string> TensorOf(const Node& node, const std::string& name);  // kInvalidArgument: no tensor
std::string OptionalTensorOf(const Node& node, const std::string& name);          // "": none
bool IsNumber(const Node& node, const std::string& name);
double NumberOf(const Node& node, const std::string& name, double otherwise);
int64_t IntegerOf(const Node& node, const std::string& name, int64_t otherwise);
bool SwitchOf(const Node& node, const std::string& name, bool otherwise);
IntList IntegersOf(const Node& node, const std::string& name, const IntList& otherwise);
// A list of one stands for `count` equal ones.
IntList RepeatedOf(const Node& node, const std::string& name, const IntList& otherwise, size_t count);
// From the end where it is below 0. kInvalidArgument: there is no such dimension.
absl::StatusOr<int> DimensionOf(int64_t dimension, size_t rank);

}  // namespace partita::torch_export

#endif  // PARTITA_IMPORTER_TRANSLATOR_H_
