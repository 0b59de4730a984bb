// The text form of the channels' means and deviations in a `pixels` node: "0.4914,0.4822,0.4465", each the shortest
// that reads back as the same double.
#ifndef PARTITA_OPS_VALUES_PIXEL_SCALE_H_
#define PARTITA_OPS_VALUES_PIXEL_SCALE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/kernel_catalogue.h"
#include "graph/value/attributes.h"
#include "ops/functors/pixels.h"

namespace partita {

// A node's attributes: one mean and deviation per channel, or one of each for all channels; at most kMostPixelChannels.
Attributes PixelAttributes(const std::vector<double>& mean, const std::vector<double>& deviation);

// kInvalidArgument names the attribute: one number or `channels` of them, finite, deviations above 0.
absl::StatusOr<PixelScale> ReadPixelScale(const Attributes& attributes, int64_t channels);

// That of the channels that a rank holds. The node's attributes are those of a node that was checked.
absl::StatusOr<PixelScale> LocalPixelScale(const LocalNode& node);

}  // namespace partita

#endif  // PARTITA_OPS_VALUES_PIXEL_SCALE_H_
