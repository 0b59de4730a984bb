// An ONNX model to be written: those messages and fields of onnx.proto that exported graphs need.
#ifndef PARTITA_EXPORTER_ONNX_SCHEMA_H_
#define PARTITA_EXPORTER_ONNX_SCHEMA_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/value/int_list.h"

namespace partita::onnx_export {

// TensorProto.DataType
enum ElementType : int { kFloat = 1, kUint8 = 2, kInt32 = 6, kInt64 = 7, kBool = 9, kDouble = 11 };

int64_t BytesOf(ElementType type);  // of an element

using WrittenAttribute = std::variant<int64_t, float, IntList>;
using WrittenAttributes = std::map<std::string, WrittenAttribute>;

struct WrittenNode {
  std::string name, op;
  std::vector<std::string> inputs;  // "": an absent optional input
  std::vector<std::string> outputs;
  WrittenAttributes attributes;
};

struct Initializer {
  std::string name;
  ElementType type = kFloat;
  IntList dims;
  // Its elements, row-major and little-endian; called once, when they are written.
  std::function<absl::StatusOr<std::string>()> elements;
};

struct WrittenDimension {
  int64_t size = 0;  // 0: it is not fixed
  std::string name;  // of one that is not fixed; "": it has none
};

struct WrittenValue {
  std::string name;
  ElementType type = kFloat;
  std::vector<WrittenDimension> dimensions;
};

struct WrittenModel {
  std::string name, producer_version;
  std::vector<WrittenNode> nodes;
  std::vector<Initializer> initializers;
  std::vector<WrittenValue> inputs, outputs, values;
};

}  // namespace partita::onnx_export

#endif  // PARTITA_EXPORTER_ONNX_SCHEMA_H_
