#include "exporter/onnx/write_model.h"

#include <limits>

#include "exporter/onnx/wire_message.h"
#include "runtime/base/check.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"

namespace partita::onnx_export {
namespace {

constexpr int64_t kIrVersion = 8;  // the first that has opset 18
constexpr int64_t kMostBytes = std::numeric_limits<int32_t>::max();

// Numbers of the fields of onnx.proto.
enum ModelField { kIr = 1, kProducer = 2, kProducerVersion = 3, kGraph = 7, kOpsets = 8 };
enum OpsetField { kOpsetVersion = 2 };
enum GraphField { kNodes = 1, kGraphName = 2, kInitializers = 5, kInputs = 11, kOutputs = 12, kValues = 13 };
enum NodeField { kNodeInputs = 1, kNodeOutputs = 2, kNodeName = 3, kOpType = 4, kAttributes = 5 };
enum AttributeField { kAttributeName = 1, kNumber = 2, kInteger = 3, kIntegers = 8, kAttributeType = 20 };
enum AttributeType { kNumberType = 1, kIntegerType = 2, kIntegersType = 7 };
enum TensorField { kDims = 1, kElementType = 2, kTensorName = 8, kRawData = 9 };
enum ValueField { kValueName = 1, kValueType = 2, kTensorType = 1, kTensorElements = 1, kTensorShape = 2 };
enum ShapeField { kDimension = 1, kDimensionSize = 1, kDimensionName = 2 };

WireMessage MessageOf(const std::string& name, const WrittenAttribute& value) {
  WireMessage message;
  message.AddBytes(kAttributeName, name);
  if (const auto* const number = std::get_if<float>(&value)) {
    message.AddFloat(kNumber, *number);
    message.AddInteger(kAttributeType, kNumberType);
  } else if (const auto* const integer = std::get_if<int64_t>(&value)) {
    message.AddInteger(kInteger, *integer);
    message.AddInteger(kAttributeType, kIntegerType);
  } else {
    for (const int64_t each : std::get<IntList>(value)) message.AddInteger(kIntegers, each);
    message.AddInteger(kAttributeType, kIntegersType);
  }
  return message;
}

WireMessage MessageOf(const WrittenNode& node) {
  WireMessage message;
  for (const std::string& input : node.inputs) message.AddBytes(kNodeInputs, input);
  for (const std::string& output : node.outputs) message.AddBytes(kNodeOutputs, output);
  message.AddBytes(kNodeName, node.name);
  message.AddBytes(kOpType, node.op);
  for (const auto& [name, value] : node.attributes) message.AddMessage(kAttributes, MessageOf(name, value));
  return message;
}

WireMessage MessageOf(const WrittenValue& value) {
  WireMessage shape;
  for (const WrittenDimension& each : value.dimensions) {
    WireMessage dimension;
    if (each.size > 0) {
      dimension.AddInteger(kDimensionSize, each.size);
    } else if (!each.name.empty()) {
      dimension.AddBytes(kDimensionName, each.name);
    }
    shape.AddMessage(kDimension, dimension);
  }
  WireMessage tensor, type, message;
  tensor.AddInteger(kTensorElements, value.type);
  tensor.AddMessage(kTensorShape, shape);
  type.AddMessage(kTensorType, tensor);
  message.AddBytes(kValueName, value.name);
  message.AddMessage(kValueType, type);
  return message;
}

int64_t SizeOf(const Initializer& initializer) {
  int64_t bytes = BytesOf(initializer.type);
  for (const int64_t size : initializer.dims) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::numeric_limits<int64_t>::max();
  }
  return bytes;
}

// All of a tensor but its elements, which follow.
WireMessage HeadOf(const Initializer& initializer) {
  WireMessage message;
  for (const int64_t size : initializer.dims) message.AddInteger(kDims, size);
  message.AddInteger(kElementType, initializer.type);
  message.AddBytes(kTensorName, initializer.name);
  message.BeginBytes(kRawData, SizeOf(initializer));
  return message;
}

// What stands before the elements of an initializer in its graph.
std::string BeginOf(const Initializer& initializer) {
  const WireMessage head = HeadOf(initializer);
  WireMessage field;
  field.BeginBytes(kInitializers, static_cast<int64_t>(head.bytes().size()) + SizeOf(initializer));
  return field.bytes() + head.bytes();
}

// All of the graph but its initializers.
WireMessage RestOf(const WrittenModel& model) {
  WireMessage graph;
  for (const WrittenNode& node : model.nodes) graph.AddMessage(kNodes, MessageOf(node));
  graph.AddBytes(kGraphName, model.name);
  for (const WrittenValue& input : model.inputs) graph.AddMessage(kInputs, MessageOf(input));
  for (const WrittenValue& output : model.outputs) graph.AddMessage(kOutputs, MessageOf(output));
  for (const WrittenValue& value : model.values) graph.AddMessage(kValues, MessageOf(value));
  return graph;
}

// What stands before a graph of that size.
WireMessage HeadOf(const WrittenModel& model, int64_t graph_bytes) {
  WireMessage opset, head;
  opset.AddInteger(kOpsetVersion, kWrittenOpset);
  head.AddInteger(kIr, kIrVersion);
  head.AddBytes(kProducer, "partita");
  head.AddBytes(kProducerVersion, model.producer_version);
  head.AddMessage(kOpsets, opset);
  head.BeginBytes(kGraph, graph_bytes);
  return head;
}

}  // namespace

int64_t BytesOf(ElementType type) {
  switch (type) {
    case kUint8:
    case kBool:
      return 1;
    case kFloat:
    case kInt32:
      return 4;
    case kInt64:
    case kDouble:
      return 8;
  }
  return 0;
}

absl::Status WriteOnnxModel(const WrittenModel& model, const std::string& path) {
  const WireMessage rest = RestOf(model);
  auto bytes = static_cast<int64_t>(rest.bytes().size());
  for (const Initializer& each : model.initializers) {
    const int64_t head = static_cast<int64_t>(BeginOf(each).size());
    if (__builtin_add_overflow(bytes, head, &bytes) || __builtin_add_overflow(bytes, SizeOf(each), &bytes)) {
      bytes = kMostBytes;
      break;
    }
  }
  const WireMessage head = HeadOf(model, bytes);
  if (bytes > kMostBytes - static_cast<int64_t>(head.bytes().size())) {
    return InvalidArgument(
        "{}: the weights of the model have more bytes than an ONNX file can have; expected at most {} in all (2 GiB)",
        path, kMostBytes);
  }
  return WriteFileAtomically(path, [&](const WriteBytes& write) -> absl::Status {
    RETURN_IF_ERROR(write(head.bytes()));
    RETURN_IF_ERROR(write(rest.bytes()));
    for (const Initializer& each : model.initializers) {
      ASSIGN_OR_RETURN(const std::string elements, each.elements());
      CHECK(static_cast<int64_t>(elements.size()) == SizeOf(each));
      RETURN_IF_ERROR(write(BeginOf(each)));
      RETURN_IF_ERROR(write(elements));
    }
    return absl::OkStatus();
  });
}

}  // namespace partita::onnx_export
