#include "exporter/onnx/lowering.h"

namespace partita::onnx_export {
namespace {

const Lowerings& AllLowerings() {
  static const Lowerings& all = *[] {
    auto* const lowerings = new Lowerings;
    AddElementwise(*lowerings);
    AddImages(*lowerings);
    AddLayers(*lowerings);
    AddProducts(*lowerings);
    AddAttention(*lowerings);
    AddShapes(*lowerings);
    AddReductions(*lowerings);
    return lowerings;
  }();
  return all;
}

}  // namespace

const Lowering* FindLowering(const std::string& op) {
  const auto found = AllLowerings().find(op);
  return found == AllLowerings().end() ? nullptr : &found->second;
}

std::vector<std::string> LoweredOps() {
  std::vector<std::string> ops;
  for (const auto& [op, lowering] : AllLowerings()) ops.push_back(op);
  return ops;
}

}  // namespace partita::onnx_export
