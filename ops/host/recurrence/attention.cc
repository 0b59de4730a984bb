// Attention. Forward, threads share the queries; backward, first the queries and places, whose scores and values have
// their gradients each by itself, then the units, of which all sums are one thread's.
#include <algorithm>
#include <cmath>

#include "ops/functors/softmax.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/sequence_lengths.h"
#include "ops/host/recurrence/attention_loops.h"
#include "ops/host/recurrence/recurrence_kernels.h"
#include "ops/values/attention_geometry.h"

namespace partita {
namespace {

// In what touching an element costs.
constexpr int64_t kCostOfTanh = 8;

double SquaresOf(const float* v, int64_t units) {
  double squares = 0;
  for (int64_t u = 0; u < units; ++u) squares += double{v[u]} * double{v[u]};
  return squares;
}

void Weigh(const float* v, float gain, int64_t units, float* weights) {
  const double squares = SquaresOf(v, units);
  for (int64_t u = 0; u < units; ++u) {
    weights[u] = static_cast<float>(ScoreWeight(double{v[u]}, double{gain}, squares));
  }
}

class Forward {
 public:
  using Places = AttentionContext;

  Forward(const AttentionSizes& sizes, const SequenceLengths& lengths) : s_(sizes), lengths_(lengths) {}

  int64_t workspace_bytes() const { return s_.units * static_cast<int64_t>(sizeof(float)); }

  void Run(const KernelArguments& a) const {
    Weigh(In<float>(a, Places::kV), *In<float>(a, Places::kGain), s_.units, Scratch<float>(a));
    ParallelFor(s_.rows(), s_.scores() * (kCostOfTanh * s_.units + s_.channels), [&](int64_t row) { Attend(a, row); });
  }

 private:
  void Attend(const KernelArguments& a, int64_t row) const {
    const int64_t n = row / s_.queries, length = lengths_.Of(a, n);
    const float* const query = In<float>(a, Places::kQuery) + row * s_.units;
    const float *const keys = In<float>(a, Places::kKeys) + n * s_.places * s_.units, *const bias =
                                                                                          In<float>(a, Places::kBias);
    const float* const values = In<float>(a, Places::kValues) + n * s_.places * s_.channels;
    float *const p = Out<float>(a, Places::kProbabilities) + row * s_.places, *const context =
                                                                                  Out<float>(a, Places::kContext) +
                                                                                  row * s_.channels;
    for (int64_t k = 0; k < length; ++k) p[k] = ScoreOf(query, keys + k * s_.units, bias, Scratch<float>(a), s_.units);
    if (length > 0) SoftmaxRow(p, p, length);
    std::fill(p + length, p + s_.places, 0.0f);
    std::fill(context, context + s_.channels, 0.0f);
    for (int64_t k = 0; k < length; ++k) AddTimes(p[k], values + k * s_.channels, context, s_.channels);
  }

  const AttentionSizes s_;
  const SequenceLengths lengths_;
};

// Probabilities and gradients that are 0 add nothing: places behind a sequence's end are passed over.
class Backward {
 public:
  using Grad = AttentionContextGrad;

  explicit Backward(const AttentionSizes& sizes) : s_(sizes) {}

  // Gradients of the weights, of all scores, and the weights.
  int64_t workspace_bytes() const {
    return (s_.units + s_.scores()) * static_cast<int64_t>(sizeof(double)) +
           s_.units * static_cast<int64_t>(sizeof(float));
  }

  void Run(const KernelArguments& a) const {
    Weigh(In<float>(a, Grad::kV), *In<float>(a, Grad::kGain), s_.units, Weights(a));
    const int64_t of_channels = s_.scores() * s_.channels;
    ParallelFor(s_.rows(), of_channels, [&](int64_t row) { Score(a, row); });
    ParallelFor(s_.samples * s_.places, of_channels, [&](int64_t place) { AddValues(a, place); });
    const int64_t blocks = (s_.units + kUnitsTogether - 1) / kUnitsTogether;
    ParallelFor(blocks, s_.scores() * s_.units * kCostOfTanh, [&](int64_t block) { AddUnits(a, block); });
    Finish(a);
  }

 private:
  double* Dweights(const KernelArguments& a) const { return Scratch<double>(a); }
  double* Dscores(const KernelArguments& a) const { return Dweights(a) + s_.units; }
  float* Weights(const KernelArguments& a) const {
    return Scratch<float>(a, (s_.units + s_.scores()) * static_cast<int64_t>(sizeof(double)));
  }

  void Score(const KernelArguments& a, int64_t row) const {
    const int64_t n = row / s_.queries;
    const float* const dcontext = In<float>(a, Grad::kDcontext) + row * s_.channels;
    const float* const values = In<float>(a, Grad::kValues) + n * s_.places * s_.channels;
    const float* const p = In<float>(a, Grad::kProbabilities) + row * s_.places;
    double* const d = Dscores(a) + row * s_.places;
    for (int64_t k = 0; k < s_.places; ++k) {
      d[k] = p[k] == 0 ? 0 : ProductOf(dcontext, values + k * s_.channels, s_.channels);
    }
    ScoreGradients(p, d, s_.places);
  }

  void AddValues(const KernelArguments& a, int64_t place) const {
    const int64_t n = place / s_.places, k = place % s_.places;
    float* const dvalues = Out<float>(a, Grad::kDvalues) + place * s_.channels;
    std::fill(dvalues, dvalues + s_.channels, 0.0f);
    for (int64_t row = n * s_.queries; row < (n + 1) * s_.queries; ++row) {
      const float p = In<float>(a, Grad::kProbabilities)[row * s_.places + k];
      if (p != 0) AddTimes(p, In<float>(a, Grad::kDcontext) + row * s_.channels, dvalues, s_.channels);
    }
  }

  void AddUnits(const KernelArguments& a, int64_t block) const {
    const int64_t first = block * kUnitsTogether, units = std::min(kUnitsTogether, s_.units - first);
    double dweights[kUnitsTogether] = {}, dbias[kUnitsTogether] = {};
    for (int64_t n = 0; n < s_.samples; ++n) {
      for (int64_t k = 0; k < s_.places; ++k) {
        std::fill_n(Out<float>(a, Grad::kDkeys) + (n * s_.places + k) * s_.units + first, units, 0.0f);
      }
      float of_sample[kUnitsTogether] = {};
      for (int64_t row = n * s_.queries; row < (n + 1) * s_.queries; ++row) {
        AddRow(a, row, first, units, of_sample);
        const float* const dquery = Out<float>(a, Grad::kDquery) + row * s_.units + first;
        for (int64_t u = 0; u < units; ++u) dbias[u] += double{dquery[u]};
      }
      for (int64_t u = 0; u < units; ++u) dweights[u] += double{of_sample[u]};
    }
    std::copy_n(dweights, units, Dweights(a) + first);
    std::transform(dbias, dbias + units, Out<float>(a, Grad::kDbias) + first,
                   [](double sum) { return static_cast<float>(sum); });
  }

  void AddRow(const KernelArguments& a, int64_t row, int64_t first, int64_t units, float* dweights) const {
    const int64_t keys = row / s_.queries * s_.places * s_.units + first;
    const float* const query = In<float>(a, Grad::kQuery) + row * s_.units + first;
    const float* const bias = In<float>(a, Grad::kBias) + first;
    const double* const d = Dscores(a) + row * s_.places;
    float shifted[kUnitsTogether], dquery[kUnitsTogether] = {};
    for (int64_t u = 0; u < units; ++u) shifted[u] = query[u] + bias[u];
    for (int64_t k = 0; k < s_.places; ++k) {
      if (d[k] == 0) continue;
      const int64_t key = keys + k * s_.units;
      AddScoreGradient(static_cast<float>(d[k]),
                       {shifted, In<float>(a, Grad::kKeys) + key, Weights(a) + first, dquery,
                        Out<float>(a, Grad::kDkeys) + key, dweights},
                       units);
    }
    std::copy_n(dquery, units, Out<float>(a, Grad::kDquery) + row * s_.units + first);
  }

  void Finish(const KernelArguments& a) const {
    const float* const v = In<float>(a, Grad::kV);
    const double squares = SquaresOf(v, s_.units), gain = double{*In<float>(a, Grad::kGain)};
    double products = 0;
    for (int64_t u = 0; u < s_.units; ++u) products += double{v[u]} * Dweights(a)[u];
    for (int64_t u = 0; u < s_.units; ++u) {
      Out<float>(a, Grad::kDv)[u] =
          static_cast<float>(ScorerGradient(double{v[u]}, Dweights(a)[u], gain, squares, products));
    }
    *Out<float>(a, Grad::kDgain) = static_cast<float>(GainGradient(squares, products));
  }

  const AttentionSizes s_;
};

}  // namespace

absl::StatusOr<PreparedKernel> FastAttentionContext(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const AttentionSizes sizes = MakeAttentionSizes(node);
  const SequenceLengths lengths(node, AttentionContext::kLengths, sizes.places);
  return PreparedLoop(lengths, Forward(sizes, lengths));
}

absl::StatusOr<PreparedKernel> FastAttentionContextGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const Backward backward(MakeAttentionGradSizes(node));
  return Prepared([backward](const KernelArguments& a) { backward.Run(a); }, backward.workspace_bytes());
}

}  // namespace partita
