#include "ops/host/recurrence/attention_loops.h"

#include "ops/host/fast/row_lanes.h"
#include "ops/host/kernel/target_clones.h"
#include "ops/host/recurrence/squashing.h"

namespace partita {

PARTITA_TARGET_CLONES float ScoreOf(const float* query, const float* key, const float* bias, const float* weights,
                                    int64_t units) {
  RowLanes sums{};
  int64_t u = 0;
  for (; u + kRowLanes <= units; u += kRowLanes) {
    float terms[kRowLanes];
    for (int l = 0; l < kRowLanes; ++l) terms[l] = weights[u + l] * Squashed(query[u + l] + key[u + l] + bias[u + l]);
    RowLanes lanes;
    Load(terms, lanes);
    sums += lanes;
  }
  float sum = TotalOf(sums);
  for (; u < units; ++u) sum += weights[u] * Squashed(query[u] + key[u] + bias[u]);
  return sum;
}

PARTITA_TARGET_CLONES double ProductOf(const float* x, const float* y, int64_t n) {
  constexpr int kLanes = 16;
  typedef double Doubles __attribute__((vector_size(kLanes * sizeof(double))));
  Doubles sums{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Floats<kLanes>::Type v, w;
    Load(x + i, v);
    Load(y + i, w);
    sums += __builtin_convertvector(v, Doubles) * __builtin_convertvector(w, Doubles);
  }
  double sum = 0;
  for (int l = 0; l < kLanes; ++l) sum += sums[l];
  for (; i < n; ++i) sum += double{x[i]} * double{y[i]};
  return sum;
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
