#include "ops/values/pixel_scale.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

absl::StatusOr<std::vector<double>> ReadNumbers(const Attributes& attributes, const std::string& name,
                                                int64_t channels) {
  const std::string& text = attributes.String(name);
  std::vector<double> numbers;
  const char* next = text.data();
  const char* const end = next + text.size();
  bool whole = !text.empty();
  while (whole && next != end) {
    double number = 0;
    const auto [behind, error] = std::from_chars(next, end, number);
    whole = error == std::errc() && std::isfinite(number) && (behind == end || (*behind == ',' && behind + 1 != end));
    numbers.push_back(number);
    next = whole && behind != end ? behind + 1 : behind;
  }
  const auto count = static_cast<int64_t>(numbers.size());
  if (whole && (count == 1 || count == channels) && count <= kMostPixelChannels) return numbers;
  return InvalidArgument(
      "attribute {} is '{}'; one finite number is needed, or one for each of {} channels (at most {}), with commas "
      "between them",
      name, text, channels, kMostPixelChannels);
}

}  // namespace

Attributes PixelAttributes(const std::vector<double>& mean, const std::vector<double>& deviation) {
  return {{"mean", fmt::format("{}", fmt::join(mean, ","))},
          {"deviation", fmt::format("{}", fmt::join(deviation, ","))}};
}

absl::StatusOr<PixelScale> ReadPixelScale(const Attributes& attributes, int64_t channels) {
  ASSIGN_OR_RETURN(const std::vector<double> mean, ReadNumbers(attributes, "mean", channels));
  ASSIGN_OR_RETURN(const std::vector<double> deviation, ReadNumbers(attributes, "deviation", channels));
  if (std::ranges::any_of(deviation, [](double each) { return each <= 0; })) {
    return InvalidArgument("attribute deviation is '{}'; each must be above 0", attributes.String("deviation"));
  }
  PixelScale scale;
  scale.channels = static_cast<int64_t>(std::max(mean.size(), deviation.size()));
  for (size_t c = 0; c < static_cast<size_t>(scale.channels); ++c) {
    scale.mean[c] = mean[mean.size() == 1 ? 0 : c];
    scale.deviation[c] = deviation[deviation.size() == 1 ? 0 : c];
  }
  return scale;
}

absl::StatusOr<PixelScale> LocalPixelScale(const LocalNode& node) {
  const LocalTensor& pixels = node.outputs[0];
  ASSIGN_OR_RETURN(PixelScale scale, ReadPixelScale(node.attributes, pixels.global.back()));
  if (scale.channels == 1 || pixels.box.empty()) return scale;
  const int64_t first = pixels.box.offset.back();
  scale.channels = pixels.box.size.back();
  CHECK(first >= 0 && first + scale.channels <= pixels.global.back());
  std::copy_n(scale.mean + first, scale.channels, scale.mean);
  std::copy_n(scale.deviation + first, scale.channels, scale.deviation);
  return scale;
}

}  // namespace partita
