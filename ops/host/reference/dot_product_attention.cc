// Reference kernels of scaled dot-product attention: one query of one head after the other. Sums are taken in double.
#include <algorithm>
#include <cmath>

#include "ops/functors/attention.h"
#include "ops/functors/softmax.h"
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

template <typename T>
void Attend(const DotProductSizes& s, const SequenceLengths& lengths, const KernelArguments& a) {
  using Places = DotProductForward;
  double* const p = Scratch<double>(a);
  ForEachQuery(s, [&](int64_t n, int64_t h, int64_t i) {
    const int64_t seen = s.KeysSeen(i, lengths.Of(a, n)), group = s.GroupOf(h);
    const T* const query = In<T>(a, Places::kQuery) + s.QueryRow(n, i, h) * s.depth;
    for (int64_t k = 0; k < seen; ++k) {
      p[k] = s.scale * ProductOf(query, In<T>(a, Places::kKeys) + s.KeyRow(n, k, group) * s.depth, s.depth);
    }
    const double lse = seen > 0 ? LogSumExp(p, seen) : 0;
    for (int64_t k = 0; k < seen; ++k) p[k] = std::exp(p[k] - lse);
    Out<T>(a, Places::kLse)[s.LseAt(n, i, h)] = static_cast<T>(lse);
    for (int64_t c = 0; c < s.channels; ++c) {
      double output = 0;
      for (int64_t k = 0; k < seen; ++k) {
        output += p[k] * static_cast<double>(In<T>(a, Places::kValues)[s.KeyRow(n, k, group) * s.channels + c]);
      }
      Out<T>(a, Places::kOutput)[s.QueryRow(n, i, h) * s.channels + c] = static_cast<T>(output);
    }
  });
}

// Gradients of keys and values are sums over the queries of a group's heads: all are kept in double.
template <typename T>
class Backward {
 public:
  using Places = DotProductGrad;

  Backward(const DotProductSizes& sizes, const SequenceLengths& lengths, const KernelArguments& a)
      : s_(sizes),
        lengths_(lengths),
        a_(a),
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
    Write(dkeys_, dvalues_, Out<T>(a_, Places::kDkeys));
    Write(dvalues_, end_, Out<T>(a_, Places::kDvalues));
  }

 private:
  static int64_t KeyRows(const DotProductSizes& s) { return s.samples * s.keys * s.groups; }

  static void Write(const double* begin, const double* end, T* to) {
    std::transform(begin, end, to, [](double each) { return static_cast<T>(each); });
  }

  void AddQuery(int64_t n, int64_t h, int64_t i) {
    const int64_t row = s_.QueryRow(n, i, h), seen = s_.KeysSeen(i, lengths_.Of(a_, n));
    const T* const doutput = In<T>(a_, Places::kDoutput) + row * s_.channels;
    const double mean = ProductOf(doutput, In<T>(a_, Places::kOutput) + row * s_.channels, s_.channels);
    const double lse = static_cast<double>(In<T>(a_, Places::kLse)[s_.LseAt(n, i, h)]);
    std::fill(dquery_, dkeys_, 0.0);
    for (int64_t k = 0; k < seen; ++k) AddKey(row, s_.KeyRow(n, k, s_.GroupOf(h)), lse, mean);
    Write(dquery_, dkeys_, Out<T>(a_, Places::kDquery) + row * s_.depth);
  }

  // `mean`: of the gradients of the query's probabilities.
  void AddKey(int64_t row, int64_t key_row, double lse, double mean) {
    const T* const query = In<T>(a_, Places::kQuery) + row * s_.depth;
    const T* const key = In<T>(a_, Places::kKeys) + key_row * s_.depth;
    const T* const doutput = In<T>(a_, Places::kDoutput) + row * s_.channels;
    const double p = std::exp(s_.scale * ProductOf(query, key, s_.depth) - lse);
    const double dp = ProductOf(doutput, In<T>(a_, Places::kValues) + key_row * s_.channels, s_.channels);
    const double dproduct = p * (dp - mean) * s_.scale;
    for (int64_t c = 0; c < s_.channels; ++c) {
      dvalues_[key_row * s_.channels + c] += p * static_cast<double>(doutput[c]);
    }
    for (int64_t d = 0; d < s_.depth; ++d) {
      dquery_[d] += dproduct * static_cast<double>(key[d]);
      dkeys_[key_row * s_.depth + d] += dproduct * static_cast<double>(query[d]);
    }
  }

  const DotProductSizes& s_;
  const SequenceLengths& lengths_;
  const KernelArguments& a_;
  double *const dquery_, *const dkeys_, *const dvalues_, *const end_;
};

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceDotProductForward(const LocalNode& node) {
  const DotProductSizes sizes = MakeDotProductForwardSizes(node);
  const SequenceLengths lengths(node, DotProductForward::kLengths, sizes.keys);
  const auto compute = [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(lengths.Check(a));
    Attend<T>(sizes, lengths, a);
    return absl::OkStatus();
  };
  return PreparedFloating(node.outputs[0].dtype, compute, sizes.keys * kDoubleBytes);
}

absl::StatusOr<PreparedKernel> ReferenceDotProductGrad(const LocalNode& node) {
  const DotProductSizes sizes = MakeDotProductGradSizes(node);
  const SequenceLengths lengths(node, DotProductGrad::kLengths, sizes.keys);
  const auto compute = [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(lengths.Check(a));
    Backward<T>(sizes, lengths, a).Run();
    return absl::OkStatus();
  };
  return PreparedFloating(node.outputs[0].dtype, compute, Backward<double>::WorkspaceBytes(sizes));
}

}  // namespace partita
