// The values of an ONNX graph while it becomes a program of PyTorch's ops: what each is called there, its type and
// sizes, and, of shapes and what is computed with them, its elements.
#ifndef PARTITA_IMPORTER_ONNX_VALUES_H_
#define PARTITA_IMPORTER_ONNX_VALUES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "importer/onnx/model.h"
#include "importer/program/exported_program.h"

namespace partita::onnx {

using torch_export::ScalarType;
using torch_export::Size;
using Sizes = std::vector<Size>;

struct Value {
  std::string name;  // of the program's value
  ScalarType type = ScalarType::kF32;
  Sizes sizes;

  size_t rank() const { return sizes.size(); }
};

// A number that is known while the file is read. One of the batch is a multiple of the number of samples, and has its
// value for the default batch.
struct Number {
  double value = 0;
  bool of_batch = false;
};

// Numbers with their type and sizes: shapes, and what is computed with them.
struct Known {
  ScalarType type = ScalarType::kI64;
  IntList shape;
  std::vector<Number> numbers;
};

inline constexpr int64_t kMostKnown = 4096;  // elements

// Whether training changes an initializer: one of floats, unless nodes read it as running statistics or as a setting,
// or it is a mask or a number of the graph.
enum class Use : uint8_t { kParameter, kStatistic, kConstant };

class Values {
 public:
  // Both must outlive it. The first dimension of the inputs is the batch, if it is the same for all; `batch` samples
  // where the file does not say how many there are.
  Values(const OnnxModel& model, torch_export::ExportedProgram& program, int64_t batch);

  // Declares the inputs. kInvalidArgument: one is no tensor, or a size other than the batch is not known.
  absl::Status AddInputs();

  // The value of that name of the file, as a tensor of the program. kInvalidArgument: there is none.
  absl::StatusOr<Value> Get(const std::string& name);
  // Its elements, if they are known.
  std::optional<Known> Find(const std::string& name);
  // The elements of an initializer or a constant that has at most kMostKnown, whatever reads it.
  std::optional<Known> Elements(const std::string& name);

  // Whether a node reads it, or the model gives it.
  bool IsRead(const std::string& name) const { return read_.contains(name); }

  void Bind(const std::string& name, Value value) { values_[name] = std::move(value); }
  void Bind(const std::string& name, Known known) { known_[name] = std::move(known); }
  absl::Status Bind(const std::string& name, const Tensor& constant);

  // The values that a value joins along its last dimension, each of size 1 there; nullptr: it joins none.
  void BindColumns(const std::string& name, std::vector<Value> columns) { columns_[name] = std::move(columns); }
  const std::vector<Value>* ColumnsOf(const std::string& name) const {
    const auto found = columns_.find(name);
    return found == columns_.end() ? nullptr : &found->second;
  }

  // A name of the program that is free: this one, of letters that names have, or one like it.
  std::string FreeName(const std::string& name);
  // Adds a constant of the program.
  absl::StatusOr<Value> AddConstant(const std::string& name, const Known& known);

  // Sizes of the program from numbers, and the reverse.
  Size SizeOf(const Number& number) const;
  Size Samples(int64_t each) const { return SizeOf({static_cast<double>(each * batch_), true}); }
  int64_t batch() const { return batch_; }         // the default number of samples
  int64_t file_batch() const { return written_; }  // how many the file fixes; 0: none

  torch_export::ExportedProgram& program() { return program_; }

 private:
  Use UseOf(const Tensor& tensor) const;
  absl::StatusOr<Value> AddStored(const std::string& name, const Tensor& tensor, Use use, bool persistent);

  const OnnxModel& model_;
  torch_export::ExportedProgram& program_;
  int64_t batch_ = 1, written_ = 0;
  std::map<std::string, const Tensor*> initializers_;
  std::map<std::string, Tensor> constants_;               // of nodes
  std::map<std::string, std::set<std::string>> readers_;  // of an initializer: "Conv.1", its op and which input
  std::map<std::string, Value> values_;
  std::map<std::string, Known> known_;
  std::map<std::string, std::vector<Value>> columns_;
  std::set<std::string> names_, read_;
};

// The program's type of an ONNX element. kInvalidArgument: it is not read.
absl::StatusOr<ScalarType> TypeOf(int type);
Number NumberOf(const Size& size);

}  // namespace partita::onnx

#endif  // PARTITA_IMPORTER_ONNX_VALUES_H_
