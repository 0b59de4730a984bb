// Reference kernels of attention: a query after the other. Sums are taken in double.
#include "ops/functors/attention.h"

#include <algorithm>

#include "ops/functors/softmax.h"
#include "ops/host/kernel/sequence_lengths.h"
#include "ops/host/reference/reference_kernels.h"
#include "ops/values/attention_geometry.h"

namespace partita {
namespace {

// What both ways need of the scorer.
template <typename T>
class Scorer {
 public:
  // `weights` has room for one of each unit.
  Scorer(const AttentionSizes& sizes, const T* v, const T* gain, const T* bias, double* weights)
      : s_(sizes), v_(v), gain_(static_cast<double>(*gain)), bias_(bias), weights_(weights) {
    for (int64_t u = 0; u < s_.units; ++u) squares_ += V(u) * V(u);
    for (int64_t u = 0; u < s_.units; ++u) weights_[u] = ScoreWeight(V(u), gain_, squares_);
  }

  double weight(int64_t unit) const { return weights_[unit]; }
  double Activation(const T* query, const T* key, int64_t unit) const {
    return ScoreActivation(static_cast<double>(query[unit]), static_cast<double>(key[unit]),
                           static_cast<double>(bias_[unit]));
  }
  double Score(const T* query, const T* key) const {
    double score = 0;
    for (int64_t u = 0; u < s_.units; ++u) score += weights_[u] * Activation(query, key, u);
    return score;
  }

  void WriteGradient(const double* dw, T* dv, T* dgain) const {
    double products = 0;
    for (int64_t u = 0; u < s_.units; ++u) products += V(u) * dw[u];
    for (int64_t u = 0; u < s_.units; ++u) {
      dv[u] = static_cast<T>(ScorerGradient(V(u), dw[u], gain_, squares_, products));
    }
    *dgain = static_cast<T>(GainGradient(squares_, products));
  }

 private:
  double V(int64_t unit) const { return static_cast<double>(v_[unit]); }

  const AttentionSizes& s_;
  const T* const v_;
  const double gain_;
  const T* const bias_;
  double* const weights_;
  double squares_ = 0;
};

template <typename T>
void Attend(const AttentionSizes& s, const SequenceLengths& lengths, const KernelArguments& a) {
  using Forward = AttentionContext;
  double *const weights = Scratch<double>(a), *const p = weights + s.units;
  const Scorer<T> scorer(s, In<T>(a, Forward::kV), In<T>(a, Forward::kGain), In<T>(a, Forward::kBias), weights);
  for (int64_t row = 0; row < s.rows(); ++row) {
    const int64_t n = row / s.queries, length = lengths.Of(a, n);
    const T* const query = In<T>(a, Forward::kQuery) + row * s.units;
    const T* const keys = In<T>(a, Forward::kKeys) + n * s.places * s.units;
    const T* const values = In<T>(a, Forward::kValues) + n * s.places * s.channels;
    std::fill(p, p + s.places, 0.0);
    for (int64_t k = 0; k < length; ++k) p[k] = scorer.Score(query, keys + k * s.units);
    if (length > 0) SoftmaxRow(p, p, length);
    std::transform(p, p + s.places, Out<T>(a, Forward::kProbabilities) + row * s.places,
                   [](double each) { return static_cast<T>(each); });
    for (int64_t c = 0; c < s.channels; ++c) {
      double sum = 0;
      for (int64_t k = 0; k < length; ++k) sum += p[k] * static_cast<double>(values[k * s.channels + c]);
      Out<T>(a, Forward::kContext)[row * s.channels + c] = static_cast<T>(sum);
    }
  }
}

// A sample after the other: gradients of its keys and values are sums over its queries.
template <typename T>
class Backward {
 public:
  using Grad = AttentionContextGrad;

  Backward(const AttentionSizes& sizes, const KernelArguments& a)
      : s_(sizes),
        a_(a),
        dw_(Scratch<double>(a) + s_.units),
        dbias_(dw_ + s_.units),
        dquery_(dbias_ + s_.units),
        dscores_(dquery_ + s_.units),
        dkeys_(dscores_ + s_.places),
        dvalues_(dkeys_ + s_.places * s_.units),
        scorer_(s_, In<T>(a, Grad::kV), In<T>(a, Grad::kGain), In<T>(a, Grad::kBias), Scratch<double>(a)) {}

  static int64_t WorkspaceBytes(const AttentionSizes& s) {
    return (4 * s.units + s.places * (1 + s.units + s.channels)) * static_cast<int64_t>(sizeof(double));
  }

  void Run() {
    std::fill(dw_, dquery_, 0.0);
    for (int64_t n = 0; n < s_.samples; ++n) {
      std::fill(dkeys_, dvalues_ + s_.places * s_.channels, 0.0);
      for (int64_t row = n * s_.queries; row < (n + 1) * s_.queries; ++row) AddRow(n, row);
      Write(dkeys_, s_.places * s_.units, Out<T>(a_, Grad::kDkeys) + n * s_.places * s_.units);
      Write(dvalues_, s_.places * s_.channels, Out<T>(a_, Grad::kDvalues) + n * s_.places * s_.channels);
    }
    scorer_.WriteGradient(dw_, Out<T>(a_, Grad::kDv), Out<T>(a_, Grad::kDgain));
    Write(dbias_, s_.units, Out<T>(a_, Grad::kDbias));
  }

 private:
  static void Write(const double* from, int64_t n, T* to) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(from[i]);
  }

  double Probability(int64_t row, int64_t k) const {
    return static_cast<double>(In<T>(a_, Grad::kProbabilities)[row * s_.places + k]);
  }

  void AddRow(int64_t n, int64_t row) {
    Score(n, row);
    std::fill(dquery_, dquery_ + s_.units, 0.0);
    for (int64_t k = 0; k < s_.places; ++k) AddPlace(n, row, k);
    for (int64_t u = 0; u < s_.units; ++u) dbias_[u] += dquery_[u];
    Write(dquery_, s_.units, Out<T>(a_, Grad::kDquery) + row * s_.units);
  }

  // Gradients of the scores, by those of probabilities, and of the values.
  void Score(int64_t n, int64_t row) {
    const T* const dcontext = In<T>(a_, Grad::kDcontext) + row * s_.channels;
    for (int64_t k = 0; k < s_.places; ++k) {
      const T* const values = In<T>(a_, Grad::kValues) + (n * s_.places + k) * s_.channels;
      dscores_[k] = 0;
      if (Probability(row, k) == 0) continue;  // behind the sequence's end
      for (int64_t c = 0; c < s_.channels; ++c) {
        dscores_[k] += static_cast<double>(dcontext[c]) * static_cast<double>(values[c]);
        dvalues_[k * s_.channels + c] += Probability(row, k) * static_cast<double>(dcontext[c]);
      }
    }
    ScoreGradients(In<T>(a_, Grad::kProbabilities) + row * s_.places, dscores_, s_.places);
  }

  void AddPlace(int64_t n, int64_t row, int64_t k) {
    const T* const query = In<T>(a_, Grad::kQuery) + row * s_.units;
    const T* const key = In<T>(a_, Grad::kKeys) + (n * s_.places + k) * s_.units;
    for (int64_t u = 0; u < s_.units; ++u) {
      const double activation = scorer_.Activation(query, key, u);
      const double dz = ScoreGradient(dscores_[k], scorer_.weight(u), activation);
      dw_[u] += dscores_[k] * activation;
      dquery_[u] += dz;
      dkeys_[k * s_.units + u] += dz;
    }
  }

  const AttentionSizes& s_;
  const KernelArguments& a_;
  double *dw_, *dbias_, *dquery_, *dscores_, *dkeys_, *dvalues_;
  const Scorer<T> scorer_;
};

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceAttentionContext(const LocalNode& node) {
  const AttentionSizes sizes = MakeAttentionSizes(node);
  const SequenceLengths lengths(node, AttentionContext::kLengths, sizes.places);
  const auto compute = [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(lengths.Check(a));
    Attend<T>(sizes, lengths, a);
    return absl::OkStatus();
  };
  return PreparedFloating(node.outputs[0].dtype, compute,
                          (sizes.units + sizes.places) * static_cast<int64_t>(sizeof(double)));
}

absl::StatusOr<PreparedKernel> ReferenceAttentionContextGrad(const LocalNode& node) {
  const AttentionSizes sizes = MakeAttentionGradSizes(node);
  const auto compute = [=]<typename T>(const KernelArguments& a) { Backward<T>(sizes, a).Run(); };
  return PreparedFloating(node.outputs[0].dtype, compute, Backward<double>::WorkspaceBytes(sizes));
}

}  // namespace partita
