#include "importer/onnx/model.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include "graph/value/node_name.h"
#include "importer/onnx/inline_functions.h"
#include "importer/onnx/tensor_reader.h"
#include "importer/onnx/wire_file.h"
#include "runtime/base/status.h"

namespace partita::onnx {
namespace {

constexpr int64_t kOldestOpset = 7, kNewestOpset = 27;
constexpr size_t kMostDimensions = 16;

// The number of an attribute, which the file has as f32: the shortest one that f32 rounds to it, as 0.1 and 1e-5 are.
double Decimal(uint64_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  if (!std::isfinite(value)) return static_cast<double>(value);
  const std::string text = fmt::format("{}", value);
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Reads one message after the other. `Read...` gets where its message ends.
class ModelReader {
 public:
  ModelReader(WireFile& file, OnnxModel& model) : file_(file), model_(model) {}

  absl::Status Read() {
    constexpr int kGraph = 7, kOpsets = 8, kFunctions = 25;
    bool has_graph = false;
    while (file_.position() < file_.size()) {
      ASSIGN_OR_RETURN(const WireField field, file_.Next(file_.size()));
      if (field.type != WireType::kBytes) continue;
      if (field.number == kGraph && !has_graph) {
        has_graph = true;
        RETURN_IF_ERROR(ReadGraph(field.end));
      } else if (field.number == kOpsets) {
        RETURN_IF_ERROR(ReadOpset(field.end));
      } else if (field.number == kFunctions) {
        RETURN_IF_ERROR(ReadFunction(field.end));
      } else {
        RETURN_IF_ERROR(file_.SkipTo(field.end));
      }
    }
    if (!has_graph) return InvalidArgument("has no graph; expected an ONNX model");
    if (model_.opset == 0) return InvalidArgument("names no opset of the standard's ops; expected {}", Opsets());
    if (model_.opset >= kOldestOpset && model_.opset <= kNewestOpset) return absl::OkStatus();
    return InvalidArgument("opset is {}; expected {}: convert it (onnx.version_converter), or export it again",
                           model_.opset, Opsets());
  }

 private:
  static std::string Opsets() { return fmt::format("{} to {}", kOldestOpset, kNewestOpset); }

  absl::StatusOr<std::string> Text(const WireField& field) {
    RETURN_IF_ERROR(budget_.Take(2));
    return file_.Bytes(field.end);
  }

  absl::Status ReadOpset(int64_t end) {
    std::string domain;
    int64_t version = 0;
    while (file_.position() < end) {
      ASSIGN_OR_RETURN(const WireField field, file_.Next(end));
      if (field.number == 2 && field.type == WireType::kVarint) version = static_cast<int64_t>(field.value);
      if (field.type != WireType::kBytes) continue;
      ASSIGN_OR_RETURN(std::string text, Text(field));
      if (field.number == 1) domain = std::move(text);
    }
    if (domain.empty() || domain == "ai.onnx") model_.opset = version;
    return absl::OkStatus();
  }

  absl::Status ReadGraph(int64_t end) {
    enum : int { kNode = 1, kInitializer = 5, kInput = 11, kOutput = 12, kValue = 13, kSparse = 15 };
    OnnxGraph& graph = model_.graph;
    while (file_.position() < end) {
      ASSIGN_OR_RETURN(const WireField field, file_.Next(end));
      if (field.type != WireType::kBytes) continue;
      if (field.number == kNode) {
        RETURN_IF_ERROR(ReadNode(field.end, graph.nodes));
      } else if (field.number == kInitializer) {
        ASSIGN_OR_RETURN(graph.initializers.emplace_back(), ReadTensor(file_, field.end, model_.path, budget_));
      } else if (field.number == kInput || field.number == kOutput || field.number == kValue) {
        auto& values = field.number == kInput ? graph.inputs : field.number == kOutput ? graph.outputs : graph.values;
        ASSIGN_OR_RETURN(values.emplace_back(), ReadValue(field.end));
      } else if (field.number == kSparse) {
        return InvalidArgument("has sparse initializers; expected dense ones");
      } else {
        RETURN_IF_ERROR(file_.SkipTo(field.end));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadNode(int64_t end, std::vector<OnnxNode>& nodes) {
    enum : int { kInput = 1, kOutput, kName, kOp, kAttribute, kDoc, kDomain };
    if (++nodes_ > kMostNodes) return InvalidArgument("has more than {} nodes", kMostNodes);
    OnnxNode& node = nodes.emplace_back();
    while (file_.position() < end) {
      ASSIGN_OR_RETURN(const WireField field, file_.Next(end));
      if (field.type != WireType::kBytes) continue;
      if (field.number == kAttribute) {
        RETURN_IF_ERROR(ReadAttribute(field.end, node.attributes));
        continue;
      }
      if (field.number > kDomain || field.number == kDoc) {
        RETURN_IF_ERROR(file_.SkipTo(field.end));
        continue;
      }
      ASSIGN_OR_RETURN(std::string text, Text(field));
      if (field.number == kInput)
        node.inputs.push_back(std::move(text));
      else if (field.number == kOutput)
        node.outputs.push_back(std::move(text));
      else if (field.number == kName)
        node.name = std::move(text);
      else if (field.number == kOp)
        node.op = std::move(text);
      else
        node.domain = text == "ai.onnx" ? "" : std::move(text);
    }
    return absl::OkStatus();
  }

  absl::Status ReadAttribute(int64_t end, std::map<std::string, Attribute>& attributes) {
    enum : int { kName = 1, kFloat, kInt, kText, kTensor, kGraph, kFloats, kInts, kTexts, kTensors, kGraphs };
    constexpr int kOfFunction = 21;
    RETURN_IF_ERROR(budget_.Take(8));
    std::string name;
    Attribute attribute;
    while (file_.position() < end) {
      ASSIGN_OR_RETURN(const WireField field, file_.Next(end));
      if (field.number == kInts) {
        RETURN_IF_ERROR(AppendIntegers(file_, field, budget_, attribute.integers));
      } else if (field.number == kInt && field.type == WireType::kVarint) {
        attribute.integer = static_cast<int64_t>(field.value);
      } else if (field.number == kFloat && field.type == WireType::kFixed32) {
        attribute.number = Decimal(field.value);
      } else if (field.number == kFloats && field.type == WireType::kFixed32) {
        RETURN_IF_ERROR(budget_.Take(1));
        attribute.numbers.push_back(Decimal(field.value));
      } else if (field.type != WireType::kBytes) {
        continue;
      } else if (field.number == kFloats) {
        RETURN_IF_ERROR(budget_.Take((field.end - file_.position()) / 4));
        ASSIGN_OR_RETURN(const std::string bytes, file_.Bytes(field.end));
        for (size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
          uint32_t bits = 0;
          std::memcpy(&bits, bytes.data() + i, sizeof(bits));
          attribute.numbers.push_back(Decimal(bits));
        }
      } else if (field.number == kTensor && attribute.tensors.empty()) {
        ASSIGN_OR_RETURN(attribute.tensors.emplace_back(), ReadTensor(file_, field.end, model_.path, budget_));
      } else if (field.number == kName || field.number == kText || field.number == kTexts ||
                 field.number == kOfFunction) {
        ASSIGN_OR_RETURN(std::string text, Text(field));
        if (field.number == kName)
          name = std::move(text);
        else if (field.number == kText)
          attribute.text = std::move(text);
        else if (field.number == kTexts)
          attribute.texts.push_back(std::move(text));
        else
          attribute.of_function = std::move(text);
      } else {
        attribute.has_graph |= field.number == kGraph || field.number == kGraphs;
        RETURN_IF_ERROR(file_.SkipTo(field.end));
      }
    }
    attributes[name] = std::move(attribute);
    return absl::OkStatus();
  }

  absl::StatusOr<ValueInfo> ReadValue(int64_t end) {
    RETURN_IF_ERROR(budget_.Take(4));
    ValueInfo value;
    while (file_.position() < end) {
      ASSIGN_OR_RETURN(const WireField field, file_.Next(end));
      if (field.type != WireType::kBytes) continue;
      if (field.number == 1) {
        ASSIGN_OR_RETURN(value.name, Text(field));
      } else if (field.number == 2) {
        RETURN_IF_ERROR(ReadType(field.end, value));
      } else {
        RETURN_IF_ERROR(file_.SkipTo(field.end));
      }
    }
    return value;
  }

  // TypeProto, of tensors alone, and TypeProto.Tensor in it.
  absl::Status ReadType(int64_t end, ValueInfo& value) {
    while (file_.position() < end) {
      ASSIGN_OR_RETURN(const WireField field, file_.Next(end));
      if (field.type != WireType::kBytes) continue;
      if (field.number != 1) {
        RETURN_IF_ERROR(file_.SkipTo(field.end));
        continue;
      }
      while (file_.position() < field.end) {
        ASSIGN_OR_RETURN(const WireField part, file_.Next(field.end));
        if (part.number == 1 && part.type == WireType::kVarint) value.type = static_cast<int>(part.value);
        if (part.type != WireType::kBytes) continue;
        if (part.number == 2) {
          value.has_shape = true;
          RETURN_IF_ERROR(ReadShape(part.end, value.dimensions));
        } else {
          RETURN_IF_ERROR(file_.SkipTo(part.end));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadShape(int64_t end, std::vector<Dimension>& dimensions) {
    while (file_.position() < end) {
      ASSIGN_OR_RETURN(const WireField field, file_.Next(end));
      if (field.type != WireType::kBytes) continue;
      if (field.number != 1 || dimensions.size() == kMostDimensions) {
        return InvalidArgument("a value has more than {} dimensions", kMostDimensions);
      }
      RETURN_IF_ERROR(budget_.Take(2));
      Dimension& dimension = dimensions.emplace_back();
      while (file_.position() < field.end) {
        ASSIGN_OR_RETURN(const WireField part, file_.Next(field.end));
        if (part.number == 1 && part.type == WireType::kVarint) dimension.value = static_cast<int64_t>(part.value);
        if (part.type != WireType::kBytes) continue;
        ASSIGN_OR_RETURN(std::string text, Text(part));
        if (part.number == 2) dimension.parameter = std::move(text);
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadFunction(int64_t end) {
    enum : int { kName = 1, kInput = 4, kOutput = 5, kNode = 7, kDomain = 10, kDefault = 11 };
    RETURN_IF_ERROR(budget_.Take(8));
    Function& function = model_.functions.emplace_back();
    while (file_.position() < end) {
      ASSIGN_OR_RETURN(const WireField field, file_.Next(end));
      if (field.type != WireType::kBytes) continue;
      if (field.number == kNode) {
        RETURN_IF_ERROR(ReadNode(field.end, function.nodes));
      } else if (field.number == kDefault) {
        RETURN_IF_ERROR(ReadAttribute(field.end, function.defaults));
      } else if (field.number == kName || field.number == kInput || field.number == kOutput ||
                 field.number == kDomain) {
        ASSIGN_OR_RETURN(std::string text, Text(field));
        if (field.number == kName)
          function.name = std::move(text);
        else if (field.number == kInput)
          function.inputs.push_back(std::move(text));
        else if (field.number == kOutput)
          function.outputs.push_back(std::move(text));
        else
          function.domain = text == "ai.onnx" ? "" : std::move(text);
      } else {
        RETURN_IF_ERROR(file_.SkipTo(field.end));
      }
    }
    return absl::OkStatus();
  }

  WireFile& file_;
  OnnxModel& model_;
  Budget budget_;
  size_t nodes_ = 0;
};

}  // namespace

int64_t BytesOf(int type) {
  switch (type) {
    case kInt64:
    case kDouble:
      return 8;
    case kFloat:
    case kInt32:
      return 4;
    case kInt16:
    case kFloat16:
    case kBfloat16:
      return 2;
    case kUint8:
    case kInt8:
    case kBool:
      return 1;
    default:
      return 0;
  }
}

std::string NameOfType(int type) {
  constexpr const char* kNames[] = {"undefined", "float",  "uint8",     "int8",       "uint16",  "int16",
                                    "int32",     "int64",  "string",    "bool",       "float16", "double",
                                    "uint32",    "uint64", "complex64", "complex128", "bfloat16"};
  if (type >= 0 && type < static_cast<int>(std::size(kNames))) return kNames[type];
  return fmt::format("number {}", type);
}

absl::StatusOr<OnnxModel> ReadOnnxModel(const std::string& path) {
  ASSIGN_OR_RETURN(WireFile file, WireFile::Open(path));
  OnnxModel model;
  model.path = path;
  if (file.size() == 0) return InvalidArgument("{}: is empty; expected an ONNX model", path);
  RETURN_IF_ERROR(WithContext(path, ModelReader(file, model).Read()));
  RETURN_IF_ERROR(WithContext(path, InlineFunctions(model)));
  return model;
}

}  // namespace partita::onnx
