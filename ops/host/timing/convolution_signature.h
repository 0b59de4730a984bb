// The key of a convolution whose kernels are timed.
#ifndef PARTITA_OPS_HOST_TIMING_CONVOLUTION_SIGNATURE_H_
#define PARTITA_OPS_HOST_TIMING_CONVOLUTION_SIGNATURE_H_

#include <optional>
#include <string>

#include "graph/ir/kernel_catalogue.h"

namespace partita {

// Op, sizes, window, groups and epilogue of a convolution or a gradient of one, in f32: one line. It is that of all
// nodes that are computed alike, whatever their names and wherever a rank's block lies. None: the node is another one,
// empty, or a part of one.
std::optional<std::string> ConvolutionSignature(const LocalNode& node);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_TIMING_CONVOLUTION_SIGNATURE_H_
