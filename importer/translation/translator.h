// Translates the nodes of an exported program, one after the other, into nodes of a graph.
//
// PyTorch's images are [n,c,h,w], ours [n,h,w,c]. A value therefore has an order: which of PyTorch's dimensions each of
// ours is. permute and transpose only change it; element-wise ops pass it on; an op whose kernels want another order
// asks for it (In), and only there is anything moved.
#ifndef PARTITA_IMPORTER_TRANSLATION_TRANSLATOR_H_
#define PARTITA_IMPORTER_TRANSLATION_TRANSLATOR_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/op_definition.h"
#include "graph/read/graph_assembler.h"
#include "importer/constants/constants.h"
#include "importer/program/exported_program.h"

namespace partita::torch_export {

// [n,c,h,w] as [n,h,w,c].
inline const Order kChannelsLast = {0, 2, 3, 1};
// The order with that dimension of PyTorch last, and the others as they were.
Order WithLast(const Order& order, int dimension);

struct Imported {
  std::string node;  // of the graph
  Order order;

  size_t rank() const { return order.size(); }
};

// What a parameter begins with where nothing is loaded: as the layers of torch.nn that have such a parameter.
enum class Beginning : uint8_t { kWeights, kOnes, kZeros, kTable };

// A parameter or a buffer of the graph: its name there is that in the module. Or a constant, with a name of its own.
struct ImportedState {
  std::string name;
  Order order;                 // of the graph's tensor
  std::vector<double> values;  // of a constant, in this order; else empty
};

class Translator {
 public:
  // Both must outlive it. `needed`: the nodes that will be translated.
  Translator(const ExportedProgram& program, const OpRegistry& registry, const std::vector<bool>& needed);
  // User inputs that convolutions and pools read: their channels are last.
  void SetImages(std::set<std::string> names) { images_ = std::move(names); }
  // Batch norms of a module in evaluation are read, as they compute.
  void AllowFrozenStatistics() { frozen_statistics_ = true; }
  bool AllowsFrozenStatistics() const { return frozen_statistics_; }

  // The values that nodes read: of user inputs, parameters and earlier nodes. kInvalidArgument: it has no translation.
  absl::StatusOr<Imported> Get(const std::string& name);
  absl::StatusOr<Imported> GetParameter(const std::string& name, const Order& order, Beginning beginning);
  absl::StatusOr<Imported> GetState(const std::string& name, double begin);
  // nullptr: the value depends on inputs or parameters.
  const Constant* ConstantOf(const std::string& name) { return constants_.Find(name); }
  Constants& constants() { return constants_; }
  // Elements that no input changes, as a state that begins with them and that nothing updates, or, where all are equal,
  // as a constant. Equal ones are one node. kInvalidArgument: infinities or numbers that an i32 does not hold.
  absl::StatusOr<std::string> Values(const std::string& name, DType type, const Shape& shape,
                                     const std::vector<double>& values);
  // What later nodes read under that name of PyTorch.
  void Bind(const std::string& name, Imported value);

  // Adds a node under that name, or one like it. kInvalidArgument: the op refuses its inputs.
  absl::StatusOr<std::string> Add(const std::string& name, const std::string& op,
                                  const std::vector<std::string>& inputs, Attributes attributes = {});

  // The value with its dimensions in that order; moved only if any but those of size 1 change places.
  absl::StatusOr<Imported> In(const Imported& value, const Order& order, const std::string& name);
  // Reshapes it to these sizes, of which one at most may vary with the batch.
  absl::StatusOr<std::string> Reshape(const std::string& node, const std::vector<Size>& sizes, const std::string& name);

  // Zeros [n,1,...] of the graph's batch, whatever it is.
  absl::StatusOr<std::string> BatchOfZeros(size_t rank, const std::string& name);
  // Zeros, or 0, 1, 2, ..., along one of `rank` dimensions, whose size varies with the batch; the others have size 1.
  absl::StatusOr<std::string> ZerosAlong(const Size& size, size_t rank, size_t dimension, const std::string& name);
  absl::StatusOr<std::string> NumbersAlong(const Size& size, size_t rank, size_t dimension, const std::string& name);
  // The value of that name of PyTorch with all that varies with the batch, also where it is the same for all samples.
  absl::StatusOr<Imported> Whole(const std::string& value, const std::string& name);
  // As floats; 0 and 1 if it is logical.
  absl::StatusOr<std::string> AsFloats(const std::string& node, const std::string& name);

  // The sizes of PyTorch's value; those of a value in its order.
  const std::vector<Size>& SizesOf(const std::string& name) const { return MetaOf(name).sizes; }
  Size SizeOf(const std::string& name, size_t dimension) const {  // 0: there is no such dimension
    const std::vector<Size>& sizes = SizesOf(name);
    return dimension < sizes.size() ? sizes[dimension] : Size{0};
  }
  Shape ShapeOf(const std::string& node) const;
  const std::string& OpAt(const std::string& node) const;
  // Whether the node depends on the batch, and not on parameters and constants alone.
  bool ReadsInputs(const std::string& node) const;
  // Whether that dimension of the node has another size in another batch.
  bool Varies(const std::string& node, size_t dimension) const;
  // kInvalidArgument: the value of that name of PyTorch would have other sizes in another batch than it shall.
  absl::Status CheckSizes(const std::string& name) const;
  // Whether an earlier node has read or made that value.
  bool IsMade(const std::string& name) const { return values_.contains(name); }
  // Whether a node that will be translated, or the caller, reads that value.
  bool IsRead(const std::string& name) const { return read_.contains(name); }
  DType TypeOf(const std::string& node) const;
  // How many times the batch a number is, if it is the batch's size or a multiple of that, which may be below 0.
  std::optional<double> MultipleOf(const Size& number) const;
  // A number that is `each` times the batch's size, plus `more`.
  struct BatchNumber {
    double each = 1, more = 0;
  };
  std::optional<BatchNumber> NumberOfBatch(const Size& number) const;
  // That many times the batch.
  Size OfSamples(int64_t each) const;
  // How many of it there are for each sample, if the size is the batch's or a multiple of that.
  std::optional<double> PerSample(const Size& size) const {
    const std::optional<double> each = MultipleOf(size);
    return each && *each >= 1 ? each : std::nullopt;
  }
  bool IsUserInput(const std::string& name) const {
    const auto input = inputs_.find(name);
    return input != inputs_.end() && input->second->kind == InputKind::kUser;
  }
  bool IsKnown(const std::string& name) const { return program_.tensors.contains(name); }
  // Of a value that the program does not know: f32 without dimensions.
  const TensorMeta& MetaOf(const std::string& name) const {
    static const auto& unknown = *new TensorMeta;
    const auto meta = program_.tensors.find(name);
    return meta == program_.tensors.end() ? unknown : meta->second;
  }

  const std::vector<ImportedState>& states() const { return states_; }
  GraphAssembler& assembler() { return assembler_; }

 private:
  // A constant with its dimensions in that order.
  absl::StatusOr<Imported> Placed(const Constant& constant, const Order& order, const std::string& name);
  // One that counts samples.
  absl::StatusOr<Imported> Counted(const Constant& constant, const Order& order, const std::string& name);
  // Where more than one size of the shape varies: sizes of 1 are dropped and added. "": it has others.
  absl::StatusOr<std::string> WithOtherOnes(const std::string& node, const Shape& shape, const std::string& name);
  absl::StatusOr<Imported> Exchanged(const Imported& value, const Order& order, const Shape& moved,
                                     const std::string& name);
  absl::StatusOr<Imported> AddInput(const Input& input);
  // Adds the node to the graph of another batch.
  void Probe(const NodeDescription& node);
  absl::StatusOr<Imported> AddState(const Input& input, const std::string& op, const Order& order,
                                    Attributes attributes);

  const ExportedProgram& program_;
  GraphAssembler assembler_;
  // The same graph for another batch, without the values of states: which sizes vary. None where no size does, or where
  // a node refuses that batch.
  std::optional<GraphAssembler> probe_;
  int64_t batch_ = 0, probed_batch_ = 0;
  std::map<std::string, Imported> values_;
  std::map<std::string, const Input*> inputs_;  // by name
  std::vector<ImportedState> states_;
  std::set<std::string> images_, read_;
  bool frozen_statistics_ = false;
  Constants constants_;
  std::map<std::string, std::string> made_;         // the nodes of constants, by type, shape and values
  std::map<std::string, Constant> constant_nodes_;  // what these nodes are
  std::string batch_symbol_;                        // the first size of the first user input, if it varies
};

}  // namespace partita::torch_export

#endif  // PARTITA_IMPORTER_TRANSLATION_TRANSLATOR_H_
