// A program that torch.export saved (.pt2), as its JSON describes it: names and sizes as PyTorch has them, nothing
// translated yet. Read without PyTorch; pickles in the archive are never opened.
#ifndef PARTITA_IMPORTER_PROGRAM_EXPORTED_PROGRAM_H_
#define PARTITA_IMPORTER_PROGRAM_EXPORTED_PROGRAM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/value/shape.h"
#include "importer/program/zip_members.h"

namespace partita::torch_export {

// torch.ScalarType, as the file numbers it.
enum class ScalarType : uint8_t { kU8 = 1, kI8, kI16, kI32, kI64, kF16, kF32, kF64, kC32, kC64, kC128, kBool, kBF16 };
std::string Name(ScalarType type);

// A size, with the value that it had when the program was exported.
struct Size {
  int64_t value = 0;
  std::string symbol = {};  // "s40", or an expression of symbols; "": it is a number
};

struct TensorMeta {
  ScalarType type = ScalarType::kF32;
  std::vector<Size> sizes;
  std::vector<int64_t> strides;
  int64_t offset = 0;         // of the first element in its storage, in elements
  bool requires_grad = true;  // of a parameter: training changes it

  Shape shape() const;
  bool empty() const;  // it has no elements
};

// The names of values that an argument is; optional ones are "".
struct TensorName {
  std::string name;
};
struct TensorNames {
  std::vector<std::string> names;
};
// Sizes and other numbers of the program, some of which are values of it.
struct Integers {
  std::vector<Size> sizes;
};
struct None {};

using Argument = std::variant<None, bool, Size, double, std::string, TensorName, TensorNames, Integers,
                              std::vector<double>, std::vector<bool>, ScalarType>;

struct Node {
  std::string target;                         // torch.ops.aten.conv2d.default
  std::string module;                         // model.conv, the path of the module that made it; "" of none
  std::map<std::string, Argument> arguments;  // by name
  std::vector<std::string> outputs;           // tensors; "" where the result is a number
  std::string source = {};                    // what errors call it, of a file that is no program of PyTorch
  std::string refusal = {};                   // why it cannot be read, if that is known already
};

enum class InputKind : uint8_t { kUser, kParameter, kBuffer, kConstant };
struct Input {
  InputKind kind = InputKind::kUser;
  std::string name;    // of the value
  std::string target;  // of a parameter or buffer: its name in the module
};

// A tensor with its bytes: in the archive, in a file without members, or here.
struct StoredWeight {
  TensorMeta meta;
  ZipMember member;           // its storage
  bool is_persistent = true;  // the module's state_dict has it
  std::string file = {};      // that has its bytes at the member's place; "": it is a member of the archive, or `bytes`
  std::shared_ptr<const std::string> bytes = nullptr;
};

struct ExportedProgram {
  std::string path;
  std::vector<Input> inputs;
  std::vector<Node> nodes;
  std::map<std::string, TensorMeta> tensors;    // by name of the value
  std::vector<std::string> outputs;             // that the caller gets; "" where one is no tensor
  std::map<std::string, StoredWeight> weights;  // by name in the module
};

// kInvalidArgument, with the file and the place in it: no such archive; another schema version than 8; a program for
// inference; control flow, custom objects, complex or quantised tensors; pickled weights; numbers out of range.
absl::StatusOr<ExportedProgram> ReadExportedProgram(const std::string& path);

}  // namespace partita::torch_export

#endif  // PARTITA_IMPORTER_PROGRAM_EXPORTED_PROGRAM_H_
