// The key of a convolution whose kernels are timed.
#ifndef PARTITA_OPS_HOST_TIMING_CONVOLUTION_SIGNATURE_H_
#define PARTITA_OPS_HOST_TIMING_CONVOLUTION_SIGNATURE_H_

#include <optional>
#include <string>

#include "graph/ir/kernel_catalogue.h"

namespace partita {

// Op, sizes, window, groups and epilogue of a convolution or a gradient of one, in f32: one line. All nodes that are
// computed alike share it, independent of their names and of the position of a rank's block. None: the node is another
// op, empty, or a part of one.
std::optional<std::string> ConvolutionSignature(const LocalNode& node);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_TIMING_CONVOLUTION_SIGNATURE_H_
