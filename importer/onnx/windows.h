// The windows of convolutions and pools: strides, dilations and paddings of each dimension of an image.
#ifndef PARTITA_IMPORTER_ONNX_WINDOWS_H_
#define PARTITA_IMPORTER_ONNX_WINDOWS_H_

#include "importer/onnx/lowering.h"

namespace partita::onnx {

struct Windows {
  IntList kernel, stride, dilation;
  IntList begin, end;  // padding

  size_t sides() const { return kernel.size(); }
  int64_t Reach(size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
  // In front and behind of each dimension, in turn.
  IntList Around() const;
};

// Those of the node's attributes, of an image [n,c,...] with that kernel; `auto_pad` is resolved. kInvalidArgument:
// they do not fit it.
absl::StatusOr<Windows> WindowsOf(const Lowering& lowering, const Value& image, const IntList& kernel);
// How many windows there are along each dimension; `rounds_up`: one that begins in the image may end behind it.
absl::StatusOr<Sizes> WindowCounts(const Windows& windows, const Value& image, bool rounds_up);

}  // namespace partita::onnx

#endif  // PARTITA_IMPORTER_ONNX_WINDOWS_H_
