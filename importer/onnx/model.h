// An ONNX model as its file has it (the messages of onnx.proto, those fields that are read), nothing translated yet.
// Bytes of tensors stay in the file.
#ifndef PARTITA_IMPORTER_ONNX_MODEL_H_
#define PARTITA_IMPORTER_ONNX_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/value/attributes.h"

namespace partita::onnx {

// TensorProto.DataType
enum DataType : int {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kBfloat16 = 16
};

struct Tensor {
  std::string name;
  int type = kUndefined;
  IntList dims;
  std::string file;             // with its bytes: the model's, or one beside it; "": they are `bytes`
  int64_t begin = 0, size = 0;  // in the file
  std::string bytes;            // little-endian, of elements that the file has as numbers
};

struct Attribute {
  int64_t integer = 0;
  double number = 0;
  std::string text;
  IntList integers;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  std::vector<Tensor> tensors;  // at most one
  bool has_graph = false;
  std::string of_function;  // the attribute of the function that it stands for
};

struct OnnxNode {
  std::string name, op, domain;
  std::vector<std::string> inputs, outputs;  // "": that one is absent
  std::map<std::string, Attribute> attributes;
};

struct Dimension {
  int64_t value = -1;     // -1: it has none
  std::string parameter;  // its name, if it has one
};

struct ValueInfo {
  std::string name;
  int type = kUndefined;  // kUndefined: it is no tensor, or its type is not given
  bool has_shape = false;
  std::vector<Dimension> dimensions;
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs, values;
};

struct Function {
  std::string domain, name;
  std::vector<std::string> inputs, outputs;
  std::vector<OnnxNode> nodes;
  std::map<std::string, Attribute> defaults;
};

struct OnnxModel {
  std::string path;
  int64_t opset = 0;  // of the standard's own domain
  OnnxGraph graph;
  std::vector<Function> functions;
};

inline constexpr size_t kMostNodes = 200'000;  // of a model

// Bytes of an element; 0: the type is not read.
int64_t BytesOf(int type);
std::string NameOfType(int type);

// With the nodes of its functions in place of their calls. kInvalidArgument, with the file and what is wrong: no
// protobuf, or one cut short; no graph; no opset, or one that is not read; sizes that are too large or fit no bytes; a
// file beside it that is missing, is too short, is a link where the model is none, or lies in another folder.
absl::StatusOr<OnnxModel> ReadOnnxModel(const std::string& path);

}  // namespace partita::onnx

#endif  // PARTITA_IMPORTER_ONNX_MODEL_H_
