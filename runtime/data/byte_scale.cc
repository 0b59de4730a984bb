#include "runtime/data/byte_scale.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/status.h"
#include "runtime/data/normalization.h"

namespace partita {

ByteScale PlainBytes() { return {{}, {0}, {1}}; }

absl::Status CheckByteScale(const ByteScale& scale, size_t places) {
  const size_t means = scale.mean.size();
  if (scale.scale && (means > 0 || !scale.deviation.empty())) {
    return InvalidArgument("found a scale and a mean or deviation, allowed is one of the two");
  }
  if (means != scale.deviation.size() || (means > 1 && means != places)) {
    return InvalidArgument("found {} means and {} deviations, allowed are one of each, or {}", means,
                           scale.deviation.size(), places);
  }
  const auto finite = [](double value) { return std::isfinite(value); };
  const bool numbers = finite(scale.scale.value_or(1)) && std::ranges::all_of(scale.mean, finite) &&
                       std::ranges::all_of(scale.deviation, [&](double d) { return finite(d) && d > 0; });
  if (numbers) return absl::OkStatus();
  return InvalidArgument("allowed are a finite scale and mean, and a finite deviation above 0");
}

std::vector<double> TableOf(const ByteScale& scale) {
  if (!scale.scale) return NormalizationTable<double>({scale.mean, scale.deviation});
  std::vector<double> table;
  for (int byte = 0; byte < 256; ++byte) table.push_back(byte * *scale.scale);
  return table;
}

std::string ToString(const ByteScale& scale) {
  if (scale.scale) return fmt::format("byte x {}", *scale.scale);
  return fmt::format("(byte / 255 - {}) / {}", fmt::join(scale.mean, ","), fmt::join(scale.deviation, ","));
}

}  // namespace partita
