// Reference kernels of scaled dot-product attention: one query of one head after the other. Sums are taken in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/functors/attention.h"
#include "ops/functors/softmax.h"
#include "ops/host/kernel/node_dropout.h"
#include "ops/host/kernel/sequence_lengths.h"
#include "ops/host/reference/reference_kernels.h"
#include "ops/values/attention_geometry.h"

namespace partita {
namespace {

constexpr int64_t kDoubleBytes = static_cast<int64_t>(sizeof(double));

template <typename T>
double ProductOf(const T* x, const T* y, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  return sum;
}

// f(sample, head, query)
template <typename F>
void ForEachQuery(const DotProductSizes& s, const F& f) {
  for (int64_t n = 0; n < s.samples; ++n) {
    for (int64_t h = 0; h < s.heads; ++h) {
      for (int64_t i = 0; i < s.queries; ++i) f(n, h, i);
    }
  }
}

// Of the query and key of these rows. `bias`: input of that name, which may be absent.
template <typename T>
double ScoreOf(const DotProductSizes& s, const T* query, const T* key, const T* bias, int64_t bias_at) {
  return s.scale * ProductOf(query, key, s.depth) + (bias == nullptr ? 0 : static_cast<double>(bias[bias_at]));
}

// Of the sum of their exponentials; 0 where all of them are -infinity or there is none.
double LogTotal(const double* scores, int64_t n) {
  const auto hidden = [](double score) { return score == -std::numeric_limits<double>::infinity(); };
  return std::all_of(scores, scores + n, hidden) ? 0 : LogSumExp(scores, n);
}

template <typename T>
void Attend(const DotProductSizes& s, const SequenceLengths& lengths, const NodeDropout& dropout,
            const KernelArguments& a) {
  using Places = DotProductForward;
  const DropoutStep step = dropout.Of(a);
  double* const p = Scratch<double>(a);
  ForEachQuery(s, [&](int64_t n, int64_t h, int64_t i) {
    const int64_t seen = s.KeysSeen(i, lengths.Of(a, n)), group = s.GroupOf(h);
    const T* const query = In<T>(a, Places::kQuery) + s.QueryRow(n, i, h) * s.depth;
    for (int64_t k = 0; k < seen; ++k) {
      p[k] = ScoreOf(s, query, In<T>(a, Places::kKeys) + s.KeyRow(n, k, group) * s.depth, In<T>(a, Places::kBias),
                     s.bias.At(n, h, i, k));
    }
    const double lse = LogTotal(p, seen);
    const uint64_t index = s.ScoreIndex(n, h, i);
    for (int64_t k = 0; k < seen; ++k) {
      p[k] = std::exp(p[k] - lse);
      if (dropout.drops()) p[k] = step.Of(p[k], index + static_cast<uint64_t>(k));
    }
    Out<T>(a, Places::kLse)[s.LseAt(n, i, h)] = static_cast<T>(lse);
    for (int64_t c = 0; c < s.channels; ++c) {
      double output = std::isnan(lse) ? lse : 0;  // even if all that is NaN is dropped
      for (int64_t k = 0; k < seen; ++k) {
        output += p[k] * static_cast<double>(In<T>(a, Places::kValues)[s.KeyRow(n, k, group) * s.channels + c]);
      }
      Out<T>(a, Places::kOutput)[s.QueryRow(n, i, h) * s.channels + c] = static_cast<T>(output);
    }
  });
}

// What gradients are made of: the probability of each query and key, and the gradient of its score.
template <typename T>
class ScoreGradients {
 public:
  using Places = DotProductGrad;

  ScoreGradients(const DotProductSizes& sizes, const SequenceLengths& lengths, const NodeDropout& dropout,
                 const KernelArguments& a)
      : s_(sizes), lengths_(lengths), drops_(dropout.drops()), step_(dropout.Of(a)), a_(a) {}

 protected:
  // f(key, its row, probability, gradient of the score) for every key that query i of a head sees. The probability is
  // that behind dropout.
  template <typename F>
  void ForEachKey(int64_t n, int64_t h, int64_t i, const F& f) const {
    const int64_t row = s_.QueryRow(n, i, h), seen = s_.KeysSeen(i, lengths_.Of(a_, n));
    const T* const query = In<T>(a_, Places::kQuery) + row * s_.depth;
    const T* const doutput = In<T>(a_, Places::kDoutput) + row * s_.channels;
    const double mean = ProductOf(doutput, In<T>(a_, Places::kOutput) + row * s_.channels, s_.channels);
    const double lse = static_cast<double>(In<T>(a_, Places::kLse)[s_.LseAt(n, i, h)]);
    for (int64_t k = 0; k < seen; ++k) {
      const int64_t key_row = s_.KeyRow(n, k, s_.GroupOf(h));
      const double score = ScoreOf(s_, query, In<T>(a_, Places::kKeys) + key_row * s_.depth, In<T>(a_, Places::kBias),
                                   s_.bias.At(n, h, i, k));
      const double p = std::exp(score - lse);
      const double dp = ProductOf(doutput, In<T>(a_, Places::kValues) + key_row * s_.channels, s_.channels);
      const uint64_t index = s_.ScoreIndex(n, h, i) + static_cast<uint64_t>(k);
      f(k, key_row, Kept(p, index), p * (Kept(dp, index) - mean));
    }
  }

  static void Write(const double* begin, const double* end, T* to) {
    std::transform(begin, end, to, [](double each) { return static_cast<T>(each); });
  }

  double Kept(double x, uint64_t index) const { return drops_ ? step_.Of(x, index) : x; }

  const DotProductSizes& s_;
  const SequenceLengths& lengths_;
  const bool drops_;
  const DropoutStep step_;
  const KernelArguments& a_;
};

// Gradients of keys and values are sums over the queries of a group's heads: all are kept in double.
template <typename T>
class Backward : ScoreGradients<T> {
 public:
  using Places = DotProductGrad;

  Backward(const DotProductSizes& sizes, const SequenceLengths& lengths, const NodeDropout& dropout,
           const KernelArguments& a)
      : ScoreGradients<T>(sizes, lengths, dropout, a),
        dquery_(Scratch<double>(a)),
        dkeys_(dquery_ + s_.depth),
        dvalues_(dkeys_ + KeyRows(s_) * s_.depth),
        end_(dvalues_ + KeyRows(s_) * s_.channels) {}

  static int64_t WorkspaceBytes(const DotProductSizes& s) {
    return (s.depth + KeyRows(s) * (s.depth + s.channels)) * kDoubleBytes;
  }

  void Run() {
    std::fill(dkeys_, end_, 0.0);
    ForEachQuery(s_, [this](int64_t n, int64_t h, int64_t i) { AddQuery(n, h, i); });
    this->Write(dkeys_, dvalues_, Out<T>(a_, Places::kDkeys));
    this->Write(dvalues_, end_, Out<T>(a_, Places::kDvalues));
  }

 private:
  static int64_t KeyRows(const DotProductSizes& s) { return s.samples * s.keys * s.groups; }

  void AddQuery(int64_t n, int64_t h, int64_t i) {
    const int64_t row = s_.QueryRow(n, i, h);
    std::fill(dquery_, dkeys_, 0.0);
    this->ForEachKey(n, h, i, [&](int64_t, int64_t key_row, double p, double dscore) {
      AddKey(row, key_row, p, dscore * s_.scale);
    });
    this->Write(dquery_, dkeys_, Out<T>(a_, Places::kDquery) + row * s_.depth);
  }

  void AddKey(int64_t row, int64_t key_row, double p, double dproduct) {
    const T* const query = In<T>(a_, Places::kQuery) + row * s_.depth;
    const T* const key = In<T>(a_, Places::kKeys) + key_row * s_.depth;
    const T* const doutput = In<T>(a_, Places::kDoutput) + row * s_.channels;
    for (int64_t c = 0; c < s_.channels; ++c) {
      dvalues_[key_row * s_.channels + c] += p * static_cast<double>(doutput[c]);
    }
    for (int64_t d = 0; d < s_.depth; ++d) {
      dquery_[d] += dproduct * static_cast<double>(key[d]);
      dkeys_[key_row * s_.depth + d] += dproduct * static_cast<double>(query[d]);
    }
  }

  using ScoreGradients<T>::s_;
  using ScoreGradients<T>::a_;
  double *const dquery_, *const dkeys_, *const dvalues_, *const end_;
};

// A sum over all scores that an element is added to, in double.
template <typename T>
class BiasBackward : ScoreGradients<T> {
 public:
  using ScoreGradients<T>::ScoreGradients;

  void Run(int64_t elements) {
    double* const dbias = Scratch<double>(this->a_);
    std::fill_n(dbias, elements, 0.0);
    ForEachQuery(this->s_, [&](int64_t n, int64_t h, int64_t i) {
      this->ForEachKey(
          n, h, i, [&](int64_t k, int64_t, double, double dscore) { dbias[this->s_.bias.At(n, h, i, k)] += dscore; });
    });
    this->Write(dbias, dbias + elements, Out<T>(this->a_, 0));
  }
};

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceDotProductForward(const LocalNode& node) {
  const DotProductSizes sizes = MakeDotProductForwardSizes(node);
  const SequenceLengths lengths(node, DotProductForward::kLengths, sizes.keys);
  const NodeDropout dropout(node, "dropout_rate", DotProductForward::kIteration);
  const auto compute = [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(lengths.Check(a));
    Attend<T>(sizes, lengths, dropout, a);
    return absl::OkStatus();
  };
  return PreparedFloating(node.outputs[0].dtype, compute, sizes.keys * kDoubleBytes);
}

absl::StatusOr<PreparedKernel> ReferenceDotProductGrad(const LocalNode& node) {
  const DotProductSizes sizes = MakeDotProductGradSizes(node);
  const SequenceLengths lengths(node, DotProductGrad::kLengths, sizes.keys);
  const NodeDropout dropout(node, "dropout_rate", DotProductGrad::kIteration);
  const auto compute = [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(lengths.Check(a));
    Backward<T>(sizes, lengths, dropout, a).Run();
    return absl::OkStatus();
  };
  return PreparedFloating(node.outputs[0].dtype, compute, Backward<double>::WorkspaceBytes(sizes));
}

absl::StatusOr<PreparedKernel> ReferenceDotProductBiasGrad(const LocalNode& node) {
  const DotProductSizes sizes = MakeDotProductGradSizes(node);
  const SequenceLengths lengths(node, DotProductGrad::kLengths, sizes.keys);
  const NodeDropout dropout(node, "dropout_rate", DotProductGrad::kIteration);
  const int64_t elements = node.outputs[0].elements();
  const auto compute = [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(lengths.Check(a));
    BiasBackward<T>(sizes, lengths, dropout, a).Run(elements);
    return absl::OkStatus();
  };
  return PreparedFloating(node.outputs[0].dtype, compute, elements * kDoubleBytes);
}

}  // namespace partita
