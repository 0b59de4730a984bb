#include "ops/host/recurrence/score_rows.h"

#include <algorithm>

#include "ops/host/fast/row_lanes.h"
#include "ops/host/fast/smooth_functions.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {

PARTITA_TARGET_CLONES void AddScoreBias(float* scores, int64_t n, float scale, const float* bias, int64_t stride) {
  if (stride == 0) {
    const float same = *bias;
    PARTITA_INDEPENDENT
    for (int64_t k = 0; k < n; ++k) scores[k] = scores[k] * scale + same;
  } else {
    PARTITA_INDEPENDENT
    for (int64_t k = 0; k < n; ++k) scores[k] = scores[k] * scale + bias[k];
  }
}

PARTITA_TARGET_CLONES void ExponentiateScores(float* scores, int64_t n, float scale, RunningRow& row, float* sums,
                                              int64_t channels) {
  if (n == 0) return;
  for (int64_t k = 0; k < n; ++k) scores[k] *= scale;
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  const float largest = std::max(row.largest, LargestOf(scores, n));
  if (largest == kHidden && std::all_of(scores, scores + n, [](float score) { return score == kHidden; })) {
    std::fill_n(scores, n, 0.0f);
    return;
  }
  const float correction = ExponentialBelow0(row.largest - largest);
  PARTITA_INDEPENDENT
  for (int64_t k = 0; k < n; ++k) scores[k] = ExponentialBelow0(scores[k] - largest);
  row.largest = largest;
  row.total = row.total * correction + SumOver(n, [scores](int64_t k) { return scores[k]; });
  PARTITA_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) sums[c] *= correction;
}

PARTITA_TARGET_CLONES void ScoreGradients(float* scores, float* gradients, int64_t n, float scale, float lse,
                                          float mean, float factor) {
  PARTITA_INDEPENDENT
  for (int64_t k = 0; k < n; ++k) {
    scores[k] = ExponentialBelow0(scores[k] * scale - lse);
    gradients[k] = scores[k] * (gradients[k] - mean) * factor;
  }
}

PARTITA_TARGET_CLONES void ScaleRow(const float* x, float factor, float* y, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}

PARTITA_TARGET_CLONES void AddRow(const float* terms, float* sums, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) sums[i] += terms[i];
}

PARTITA_TARGET_CLONES float SumOfRow(const float* x, int64_t n) {
  return SumOver(n, [x](int64_t i) { return x[i]; });
}

PARTITA_TARGET_CLONES float ProductOfRows(const float* x, const float* y, int64_t n) {
  return SumOver(n, [x, y](int64_t i) { return x[i] * y[i]; });
}

}  // namespace partita
