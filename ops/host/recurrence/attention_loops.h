// The innermost loops of attention (ops/functors/attention.h), in vectors.
#ifndef PARTITA_OPS_HOST_RECURRENCE_ATTENTION_LOOPS_H_
#define PARTITA_OPS_HOST_RECURRENCE_ATTENTION_LOOPS_H_

#include <cstdint>

namespace partita {

// The sum over the units of weights tanh(query + key + bias).
float ScoreOf(const float* query, const float* key, const float* bias, const float* weights, int64_t units);

// The sum of x y, in double: what gradients of scores are made of are differences of such sums, which are nearly equal
// while attention is not yet trained.
double ProductOf(const float* x, const float* y, int64_t n);

// y += factor x
void AddTimes(float factor, const float* x, float* y, int64_t n);

// Units that the gradient of all scores is made of together: their sums stay in the first cache.
inline constexpr int64_t kUnitsTogether = 64;

// At most kUnitsTogether units: what a score's gradient adds to those of the query and of the key, and to those of the
// weights. `shifted` is query + bias.
struct ScoreUnits {
  const float *shifted, *key, *weights;
  float *dquery, *dkey, *dweights;
};
void AddScoreGradient(float dscore, const ScoreUnits& units, int64_t n);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_RECURRENCE_ATTENTION_LOOPS_H_
