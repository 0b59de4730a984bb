// Reference kernels of the LSTM: a sequence after the other, place by place, as ops/functors/lstm.h has it. Sums are
// taken in double. Gates may lie where g does, dg where the gates do.
#include "ops/functors/lstm.h"

#include <algorithm>

#include "ops/host/kernel/sequence_lengths.h"
#include "ops/host/reference/reference_kernels.h"
#include "ops/values/lstm_geometry.h"

namespace partita {
namespace {

// The row of sample `n` in an operand of so many elements for each sample; null if it is absent.
template <typename T>
T* Row(T* from, int64_t n, int64_t elements) {
  return from == nullptr ? nullptr : from + n * elements;
}

template <typename T>
void CopyOrClear(const T* from, int64_t n, T* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = from == nullptr ? T(0) : from[i];
}

// sum over k of x[k] w[k * stride]
template <typename X, typename T>
double Dot(const X* x, const T* w, int64_t n, int64_t stride) {
  double sum = 0;
  for (int64_t k = 0; k < n; ++k) sum += static_cast<double>(x[k]) * static_cast<double>(w[k * stride]);
  return sum;
}

template <typename T>
LstmGates<double> GatesAt(const T* gates, int64_t unit) {
  const T* const at = gates + kLstmGates * unit;
  return {double{at[0]}, double{at[1]}, double{at[2]}, double{at[3]}};
}

template <typename T>
void Store(const LstmGates<double>& gates, int64_t unit, T* to) {
  T* const at = to + kLstmGates * unit;
  at[0] = static_cast<T>(gates.input);
  at[1] = static_cast<T>(gates.forget);
  at[2] = static_cast<T>(gates.candidate);
  at[3] = static_cast<T>(gates.output);
}

// One sequence, forward. What lies behind the last place that was computed is in the outputs last_h and last_c.
template <typename T>
class Sequence {
 public:
  Sequence(const LstmSizes& sizes, const KernelArguments& a, int64_t n)
      : s_(sizes),
        g_(In<T>(a, LstmSteps::kG) + n * s_.places * s_.gates()),
        w_(In<T>(a, LstmSteps::kWeights)),
        projection_(In<T>(a, LstmSteps::kProjection)),
        h_(Out<T>(a, LstmSteps::kH) + n * s_.places * s_.outputs),
        gates_(Out<T>(a, LstmSteps::kGates) + n * s_.places * s_.gates()),
        cells_(Out<T>(a, LstmSteps::kCells) + n * s_.places * s_.units),
        last_h_(Out<T>(a, LstmSteps::kLastH) + n * s_.outputs),
        last_c_(Out<T>(a, LstmSteps::kLastC) + n * s_.units),
        outputs_(Scratch<double>(a)) {
    CopyOrClear(Row(In<T>(a, LstmSteps::kH0), n, s_.outputs), s_.outputs, last_h_);
    CopyOrClear(Row(In<T>(a, LstmSteps::kC0), n, s_.units), s_.units, last_c_);
  }

  void Run(int64_t length) {
    for (int64_t step = 0; step < s_.places; ++step) {
      const int64_t place = s_.Place(step);
      if (place < length) {
        Step(place);
      } else {
        Clear(place);
      }
    }
  }

 private:
  void Step(int64_t place) {
    const T* const g = g_ + place * s_.gates();
    T *const h = h_ + place * s_.outputs, *const cells = cells_ + place * s_.units;
    for (int64_t u = 0; u < s_.units; ++u) {
      LstmGates<double> sums = GatesAt(g, u);
      double* const sum[] = {&sums.input, &sums.forget, &sums.candidate, &sums.output};
      for (int k = 0; k < kLstmGates; ++k) *sum[k] += Dot(last_h_, w_ + kLstmGates * u + k, s_.outputs, s_.gates());
      const LstmGates<double> gates = OpenGates(sums, s_.forget_bias);
      const double cell = NewCell(gates, double{last_c_[u]});
      Store(gates, u, gates_ + place * s_.gates());
      cells[u] = last_c_[u] = static_cast<T>(cell);
      outputs_[u] = CellOutput(gates, cell);
    }
    for (int64_t p = 0; p < s_.outputs; ++p) {
      h[p] = static_cast<T>(s_.projected ? Dot(outputs_, projection_ + p, s_.units, s_.outputs) : outputs_[p]);
    }
    std::copy(h, h + s_.outputs, last_h_);
  }

  void Clear(int64_t place) {
    CopyOrClear<T>(nullptr, s_.outputs, h_ + place * s_.outputs);
    CopyOrClear<T>(nullptr, s_.gates(), gates_ + place * s_.gates());
    CopyOrClear<T>(nullptr, s_.units, cells_ + place * s_.units);
  }

  const LstmSizes s_;
  const T *g_, *w_, *projection_;
  T *h_, *gates_, *cells_, *last_h_, *last_c_;
  double* outputs_;  // of the units, at a place
};

// One sequence, backward.
template <typename T>
class SequenceGradient {
 public:
  using Grad = LstmStepsGrad;

  SequenceGradient(const LstmSizes& sizes, const KernelArguments& a, int64_t n)
      : s_(sizes), a_(a), n_(n), dh_(Scratch<double>(a)), dcells_(dh_ + s_.outputs), doutputs_(dcells_ + s_.units) {
    std::fill(dh_, dcells_ + s_.units, 0.0);
  }

  static int64_t WorkspaceBytes(const LstmSizes& s) {
    return (s.outputs + 2 * s.units) * static_cast<int64_t>(sizeof(double));
  }

  void Run(int64_t length) {
    for (int64_t step = s_.places - 1; step >= 0; --step) {
      const int64_t place = s_.Place(step);
      if (place < length) {
        Step(place, length);
      } else {
        Clear(place);
      }
    }
    if (In<T>(a_, Grad::kH0) == nullptr) std::fill(dh_, dh_ + s_.outputs, 0.0);
    Write(dh_, s_.outputs, Row(Out<T>(a_, Grad::kDh0), n_, s_.outputs));
    Write(dcells_, s_.units, Row(Out<T>(a_, Grad::kDc0), n_, s_.units));
  }

 private:
  static void Write(const double* from, int64_t n, T* to) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(from[i]);
  }

  // What lies at a place in an operand of so many elements for each.
  template <typename X>
  X* At(X* from, int64_t place, int64_t elements) const {
    return from + (n_ * s_.places + place) * elements;
  }

  // Of a row for each place: what the place before left.
  const T* BeforePlace(Grad::Input rows, Grad::Input begin, int64_t place, int64_t length, int64_t elements) const {
    if (s_.First(place, length)) return Row(In<T>(a_, begin), n_, elements);
    return At(In<T>(a_, rows), s_.Before(place), elements);
  }

  void Step(int64_t place, int64_t length) {
    const T* const dh = At(In<T>(a_, Grad::kDh), place, s_.outputs);
    for (int64_t p = 0; p < s_.outputs; ++p) dh_[p] += double{dh[p]};
    if (s_.projected) Project(place);
    const T* const before = BeforePlace(Grad::kCells, Grad::kC0, place, length, s_.units);
    const T* const cells = At(In<T>(a_, Grad::kCells), place, s_.units);
    const T* const gates = At(In<T>(a_, Grad::kGates), place, s_.gates());
    T* const dg = At(Out<T>(a_, Grad::kDg), place, s_.gates());
    for (int64_t u = 0; u < s_.units; ++u) {
      const double dy = s_.projected ? doutputs_[u] : dh_[u];
      const LstmGradient<double> gradient =
          UnitGradient(GatesAt(gates, u), before == nullptr ? 0 : double{before[u]}, double{cells[u]}, dy, dcells_[u]);
      Store(gradient.sums, u, dg);
      dcells_[u] = gradient.before;
    }
    const T* const w = In<T>(a_, Grad::kWeights);
    for (int64_t p = 0; p < s_.outputs; ++p) dh_[p] = Dot(dg, w + p * s_.gates(), s_.gates(), 1);
    CopyOrClear(BeforePlace(Grad::kH, Grad::kH0, place, length, s_.outputs), s_.outputs,
                At(Out<T>(a_, Grad::kPrevious), place, s_.outputs));
  }

  // What the projection's gradient is made of, and the gradient of what it reads.
  void Project(int64_t place) {
    T* const dprojected = At(Out<T>(a_, Grad::kDprojected), place, s_.outputs);
    T* const outputs = At(Out<T>(a_, Grad::kCellOutputs), place, s_.units);
    const T* const gates = At(In<T>(a_, Grad::kGates), place, s_.gates());
    const T* const cells = At(In<T>(a_, Grad::kCells), place, s_.units);
    const T* const projection = In<T>(a_, Grad::kProjection);
    for (int64_t p = 0; p < s_.outputs; ++p) dprojected[p] = static_cast<T>(dh_[p]);
    for (int64_t u = 0; u < s_.units; ++u) {
      outputs[u] = static_cast<T>(CellOutput(GatesAt(gates, u), double{cells[u]}));
      doutputs_[u] = Dot(dh_, projection + u * s_.outputs, s_.outputs, 1);
    }
  }

  void Clear(int64_t place) {
    CopyOrClear<T>(nullptr, s_.gates(), At(Out<T>(a_, Grad::kDg), place, s_.gates()));
    CopyOrClear<T>(nullptr, s_.outputs, At(Out<T>(a_, Grad::kPrevious), place, s_.outputs));
    if (!s_.projected) return;
    CopyOrClear<T>(nullptr, s_.outputs, At(Out<T>(a_, Grad::kDprojected), place, s_.outputs));
    CopyOrClear<T>(nullptr, s_.units, At(Out<T>(a_, Grad::kCellOutputs), place, s_.units));
  }

  const LstmSizes s_;
  const KernelArguments& a_;
  const int64_t n_;
  double *dh_, *dcells_, *doutputs_;  // of what the place before gives, and of the units' outputs
};

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceLstmSteps(const LocalNode& node) {
  const LstmSizes sizes = MakeLstmSizes(node);
  const SequenceLengths lengths(node, LstmSteps::kLengths, sizes.places);
  const auto compute = [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(lengths.Check(a));
    for (int64_t n = 0; n < sizes.samples; ++n) Sequence<T>(sizes, a, n).Run(lengths.Of(a, n));
    return absl::OkStatus();
  };
  return PreparedFloating(node.outputs[0].dtype, compute, sizes.units * static_cast<int64_t>(sizeof(double)));
}

absl::StatusOr<PreparedKernel> ReferenceLstmStepsGrad(const LocalNode& node) {
  const LstmSizes sizes = MakeLstmGradSizes(node);
  const SequenceLengths lengths(node, LstmStepsGrad::kLengths, sizes.places);
  const auto compute = [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(lengths.Check(a));
    for (int64_t n = 0; n < sizes.samples; ++n) SequenceGradient<T>(sizes, a, n).Run(lengths.Of(a, n));
    return absl::OkStatus();
  };
  return PreparedFloating(node.outputs[0].dtype, compute, SequenceGradient<double>::WorkspaceBytes(sizes));
}

}  // namespace partita
