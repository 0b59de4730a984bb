// Which ops have a form in ONNX, and how a node becomes nodes of ONNX.
#ifndef PARTITA_EXPORTER_ONNX_LOWERING_H_
#define PARTITA_EXPORTER_ONNX_LOWERING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "exporter/onnx/emitter.h"

namespace partita::onnx_export {

// In which order an op of ONNX reads and gives values of four dimensions.
enum class OrderOfOp : uint8_t { kGraph, kImages /* channels first */, kAny };

// Adds what gives the node's first output. kInvalidArgument: this node has no form in ONNX, and why.
using Lower = std::function<absl::Status(const Node& node, Emitter& emitter)>;

struct Lowering {
  Lower lower;
  OrderOfOp order = OrderOfOp::kGraph;
};

// nullptr: the op has none.
const Lowering* FindLowering(const std::string& op);
std::vector<std::string> LoweredOps();

// Padding at the top, bottom, left and right, first the begins and then the ends as ONNX has it.
IntList PadsOf(const IntList& padding);

using Lowerings = std::map<std::string, Lowering>;
void AddElementwise(Lowerings& lowerings);  // elementwise.cc
void AddImages(Lowerings& lowerings);       // images.cc
void AddLayers(Lowerings& lowerings);       // layers.cc
void AddProducts(Lowerings& lowerings);     // products.cc
void AddAttention(Lowerings& lowerings);    // attention.cc
void AddShapes(Lowerings& lowerings);       // shapes.cc
void AddReductions(Lowerings& lowerings);   // reductions.cc

}  // namespace partita::onnx_export

#endif  // PARTITA_EXPORTER_ONNX_LOWERING_H_
