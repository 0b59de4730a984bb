#include "ops/host/timing/convolution_signature.h"

#include <map>

#include "graph/ir/op_definition.h"
#include "ops/values/node_geometry.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Geometry = Convolution (*)(const LocalNode& node);

const std::map<std::string, Geometry>& TimedOps() {
  static const auto& ops = *new std::map<std::string, Geometry>{
      {"conv2d", ForwardConvolution},
      {"conv2d_epilogue", ForwardConvolution},
      {"conv2d_input_grad", InputGradConvolution},
      {"conv2d_weight_grad", WeightGradConvolution},
  };
  return ops;
}

}  // namespace

std::optional<std::string> ConvolutionSignature(const LocalNode& node) {
  const auto op = TimedOps().find(node.op->name);
  if (op == TimedOps().end() || node.members > 1 || !node.within.empty()) return std::nullopt;
  if (node.outputs[0].dtype != DType::kF32 || Input(node, 0).dtype != DType::kF32) return std::nullopt;
  const Convolution conv = op->second(node);
  if (conv.empty()) return std::nullopt;
  const Images& size = conv.images;
  const SlidingWindow& window = conv.window;
  const NodeEpilogue epilogue = EpilogueOf(node);
  return fmt::format(
      "{} f32 {}x{}x{}x{} to {}x{}x{} window {}x{} stride {}x{} dilation {}x{} padding {},{},{},{} "
      "groups {}{}{}",
      node.op->name, size.n, size.h, size.w, size.c, size.out_h, size.out_w, size.out_c, window.kernel_h,
      window.kernel_w, window.stride_h, window.stride_w, window.dilation_h, window.dilation_w, window.top,
      window.bottom, window.left, window.right, conv.groups, epilogue.bias ? " bias" : "",
      epilogue.activation == kNoActivation ? "" : " " + epilogue.activation_name());
}

}  // namespace partita
