// The coefficients of batch normalization, repeated over wide rows: what forward and backward loops read.
#ifndef PARTITA_OPS_HOST_FAST_BATCH_NORM_TABLE_H_
#define PARTITA_OPS_HOST_FAST_BATCH_NORM_TABLE_H_

#include "ops/functors/batch_norm.h"
#include "ops/host/fast/wide_rows.h"

namespace partita {

inline constexpr int kNormalizeKinds = 3;

// The coefficients of one group; tables may hold further kinds behind these.
struct NormalizeRow {
  NormalizeRow(const WideRows& rows, float* table, int kinds, int64_t g)
      : mean(rows.Coefficients(table, kinds, g, 0)),
        scale(rows.Coefficients(table, kinds, g, 1)),
        beta(rows.Coefficients(table, kinds, g, 2)) {}

  void Set(int64_t c, const NormalizeCoefficients<float>& k) const {
    mean[c] = k.mean;
    scale[c] = k.scale;
    beta[c] = k.beta;
  }
  void Repeat(const WideRows& rows) const {
    rows.Repeat(mean);
    rows.Repeat(scale);
    rows.Repeat(beta);
  }

  float *mean, *scale, *beta;
};

struct BatchNormInputs {
  const double* stats;
  const float *shift, *gamma, *beta;

  BatchMoments Moments(const WideRows& rows, int64_t g, int64_t c, double count) const {
    const double* group = stats + 2 * g * rows.channels();
    return MakeBatchMoments(group[c], group[rows.channels() + c], count);
  }
};

inline void FillNormalizeTable(const WideRows& rows, double count, double epsilon, const BatchNormInputs& inputs,
                               int kinds, float* table) {
  if (rows.width() == 0) return;
  for (int64_t g = 0; g < rows.groups(); ++g) {
    const NormalizeRow k(rows, table, kinds, g);
    for (int64_t c = 0; c < rows.channels(); ++c) {
      const BatchMoments moments = inputs.Moments(rows, g, c, count);
      k.Set(c, MakeNormalizeCoefficients<float>(moments.shifted_mean + inputs.shift[c], moments.variance, epsilon,
                                                inputs.gamma[c], inputs.beta[c]));
    }
    k.Repeat(rows);
  }
}

}  // namespace partita

#endif  // PARTITA_OPS_HOST_FAST_BATCH_NORM_TABLE_H_
