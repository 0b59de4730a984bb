#include "ops/host/recurrence/attention_loops.h"

#include "ops/host/fast/row_lanes.h"
#include "ops/host/fast/smooth_functions.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {

PARTITA_TARGET_CLONES float ScoreOf(const float* query, const float* key, const float* bias, const float* weights,
                                    int64_t units) {
  return SumOver(units, [=](int64_t u) { return weights[u] * Squashed(query[u] + key[u] + bias[u]); });
}

PARTITA_TARGET_CLONES double ProductOf(const float* x, const float* y, int64_t n) {
  return ExactSumOver(n, [=](int64_t i) { return double{x[i]} * double{y[i]}; });
}

PARTITA_TARGET_CLONES void AddTimes(float factor, const float* x, float* y, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

PARTITA_TARGET_CLONES void AddScoreGradient(float dscore, const ScoreUnits& units, int64_t n) {
  const auto [shifted, key, weights, dquery, dkey, dweights] = units;
  PARTITA_INDEPENDENT
  for (int64_t u = 0; u < n; ++u) {
    const float activation = Squashed(shifted[u] + key[u]);
    const float dz = dscore * weights[u] * ((1 - activation) * (1 + activation));
    dquery[u] += dz;
    dkey[u] += dz;
    dweights[u] += dscore * activation;
  }
}

}  // namespace partita
