// Loops of scaled dot-product attention over a row of scores: those of a query with some keys.
#ifndef PARTITA_OPS_HOST_RECURRENCE_SCORE_ROWS_H_
#define PARTITA_OPS_HOST_RECURRENCE_SCORE_ROWS_H_

#include <cstdint>
#include <limits>

namespace partita {

// What was added up for a query.
struct RunningRow {
  float largest = -std::numeric_limits<float>::infinity();  // of its scores
  float total = 0;                                          // of their exponentials, relative to the largest
};

// scores = scores scale + bias. `stride` 0: the first number is added to all of them.
void AddScoreBias(float* scores, int64_t n, float scale, const float* bias, int64_t stride);

// scores = exp(scale scores - the largest score so far); `sums` [channels], what was added up for the query so far, is
// made relative to that score. Where all scores so far are -infinity, exponentials are 0.
void ExponentiateScores(float* scores, int64_t n, float scale, RunningRow& row, float* sums, int64_t channels);

// scores = exp(scale scores - lse), the probabilities; gradients = factor probabilities (gradients - mean): from those
// of the probabilities, whose weighted mean is `mean`, to those of the scores.
void ScoreGradients(float* scores, float* gradients, int64_t n, float scale, float lse, float mean, float factor);

void ScaleRow(const float* x, float factor, float* y, int64_t n);
void AddRow(const float* terms, float* sums, int64_t n);
float SumOfRow(const float* x, int64_t n);
float ProductOfRows(const float* x, const float* y, int64_t n);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_RECURRENCE_SCORE_ROWS_H_
