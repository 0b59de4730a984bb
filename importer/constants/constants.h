// The tensors of a program that no input and no parameter reaches: positions, masks, tables of sines, indices. They are
// computed once, while the program is read, with PyTorch's semantics: views share their storage, so that what is
// written into one is seen by the others.
#ifndef PARTITA_IMPORTER_CONSTANTS_CONSTANTS_H_
#define PARTITA_IMPORTER_CONSTANTS_CONSTANTS_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/shape.h"
#include "importer/program/exported_program.h"
#include "importer/program/stored_elements.h"

namespace partita::torch_export {

constexpr int64_t kMostElements = int64_t{1} << 24;  // of a constant

// Our dimension j is PyTorch's dimension order[j].
using Order = std::vector<int>;
Order InOrder(size_t rank);  // 0, 1, 2, ...

// A strided view. Along a dimension that varies with the batch all elements are equal, and it has size 1; unless
// `counts_samples` is not 0: the element of sample i is i times that.
struct Constant {
  ScalarType type = ScalarType::kF32;
  Shape shape;
  std::vector<int64_t> strides;
  int64_t offset = 0;
  std::vector<bool> varies;  // by dimension
  int64_t counts_samples = 0;
  std::shared_ptr<std::vector<double>> storage;

  // Where the elements lie in the storage, row-major.
  std::vector<int64_t> places() const;
  Constant Permuted(const Order& order) const;
  std::vector<double> values() const;
};

// Strides of dense elements, row-major.
std::vector<int64_t> RowMajor(const Shape& shape);
std::vector<int64_t> PlacesOf(const Shape& shape, const std::vector<int64_t>& strides, int64_t offset);
bool IsContiguous(const Constant& constant);
// 0 for what is no integer of 53 bits.
int64_t AsInteger(double value);
// A value as a tensor of that type holds it; f16 as f32.
double Held(double value, ScalarType type);
// A tensor of that size and type, whose elements are given; where it varies with the batch it has size 1.
Constant Dense(const TensorMeta& meta, std::vector<double> values);
// The elements that an operand has as a tensor of that shape. kInvalidArgument: it does not broadcast to it.
absl::StatusOr<std::vector<double>> Broadcast(const Constant& constant, const Shape& shape);

// The elements of a stored tensor, row-major with its dimensions in that order. kInvalidArgument: an element type that
// is not read; a damaged archive.
absl::StatusOr<std::vector<double>> StoredValues(const ExportedProgram& program, const std::string& name,
                                                 const Order& order);

class Constants {
 public:
  // `program` must outlive it. Its buffers that no node of `needed` writes, or reads as running statistics, are
  // constants.
  Constants(const ExportedProgram& program, const std::vector<bool>& needed);

  // nullptr: the value is none, or one that cannot be read.
  const Constant* Find(const std::string& name);
  // Whether the node's result is one: all that it reads are, and its op is one that is computed here.
  bool Folds(const Node& node);
  // The value, and all that share its memory, are constants no more: something else is written there.
  void Forget(const std::string& name);
  // Computes it. kInvalidArgument: what it asks for has no answer, or varies with the batch.
  absl::Status Fold(const Node& node);

 private:
  const ExportedProgram& program_;
  std::map<std::string, Constant> values_;
  std::map<std::string, std::string> buffers_;  // names in the module, of those that are not read yet
};

}  // namespace partita::torch_export

#endif  // PARTITA_IMPORTER_CONSTANTS_CONSTANTS_H_
