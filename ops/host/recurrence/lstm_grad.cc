// The way back of an LSTM, place by place: a panel of the product of dg with the transpose of w_h says what the place
// behind asks of some outputs. Without a projection they are units, whose gradient follows at once; with one, the
// product with the transpose of w_projection comes between.
#include <algorithm>

#include "ops/host/kernel/sequence_lengths.h"
#include "ops/host/recurrence/held_product.h"
#include "ops/host/recurrence/recurrence_kernels.h"
#include "ops/host/recurrence/unit_loops.h"
#include "ops/values/lstm_geometry.h"

namespace partita {
namespace {

using Grad = LstmStepsGrad;

alignas(64) constexpr float kNone[kMostColumns] = {};  // what there is not

class Backward {
 public:
  Backward(const LstmSizes& sizes, const SequenceLengths& lengths)
      : s_(sizes),
        lengths_(lengths),
        state_(s_.samples, s_.gates(), s_.outputs, s_.projected ? 1 : 2),
        projection_(s_.samples, s_.outputs, s_.projected ? s_.units : 0, s_.projected ? 1 : 0) {}

  int64_t workspace_bytes() const {
    return (state_.workspace() + projection_.workspace()) * static_cast<int64_t>(sizeof(float));
  }

  void Run(const KernelArguments& a) const {
    Begin(a);
    for (int64_t step = s_.places - 1; step >= 0; --step) {
      const int64_t place = s_.Place(step), buffer = s_.projected ? 0 : step % 2;
      const bool zero = step == s_.places - 1;
      state_.Multiply(Scratch<float>(a), buffer, zero, [&](const PanelBlock& block) {
        KeepBefore(a, place, block);
        if (s_.projected) {
          OfOutputs(a, place, block);
        } else {
          OfUnits(a, place, block, 1 - buffer);
        }
      });
      if (!s_.projected) continue;
      projection_.Multiply(Projection(a), 0, false, [&](const PanelBlock& block) { OfUnits(a, place, block, 0); });
    }
    Finish(a);
  }

 private:
  float* Projection(const KernelArguments& a) const { return Scratch<float>(a) + state_.workspace(); }
  int64_t Row(int64_t sample, int64_t place, int64_t elements) const { return (sample * s_.places + place) * elements; }

  void Begin(const KernelArguments& a) const {
    std::fill_n(Out<float>(a, Grad::kDc0), s_.samples * s_.units, 0.0f);
    state_.Hold({In<float>(a, Grad::kWeights), 1, s_.gates()}, Scratch<float>(a));
    if (s_.projected) projection_.Hold({In<float>(a, Grad::kProjection), 1, s_.outputs}, Projection(a));
  }

  bool Ended(const KernelArguments& a, int64_t sample, int64_t place) const { return place >= lengths_.Of(a, sample); }

  // What the place before left in some columns; null: zero.
  const float* Before(const KernelArguments& a, Grad::Input rows, Grad::Input begin, int64_t sample, int64_t place,
                      int64_t elements) const {
    if (!s_.First(place, lengths_.Of(a, sample))) {
      return In<float>(a, rows) + Row(sample, s_.Before(place), elements);
    }
    return In<float>(a, begin) == nullptr ? nullptr : In<float>(a, begin) + sample * elements;
  }

  // The outputs that the place follows, which the weight gradient is made of.
  void KeepBefore(const KernelArguments& a, int64_t place, const PanelBlock& block) const {
    for (int64_t r = 0; r < block.rows; ++r) {
      const int64_t sample = block.first_row + r;
      const float* const h =
          Ended(a, sample, place) ? nullptr : Before(a, Grad::kH, Grad::kH0, sample, place, s_.outputs);
      CopyOrClear(h == nullptr ? nullptr : h + block.first_column, block.columns,
                  Out<float>(a, Grad::kPrevious) + Row(sample, place, s_.outputs) + block.first_column);
    }
  }

  // The whole gradient of some outputs, from what the place behind asks for; for the projection.
  void OfOutputs(const KernelArguments& a, int64_t place, const PanelBlock& block) const {
    const int64_t first = Row(block.first_row, place, s_.outputs) + block.first_column;
    const int64_t stride = s_.places * s_.outputs;
    for (int64_t r = 0; r < block.rows; ++r) {
      const bool ended = Ended(a, block.first_row + r, place);
      const float* const sums = block.sums + r * block.stride;
      const float* const given = In<float>(a, Grad::kDh) + first + r * stride;
      float* const dh = Out<float>(a, Grad::kDprojected) + first + r * stride;
      for (int64_t c = 0; c < block.columns; ++c) dh[c] = ended ? 0.0f : sums[c] + given[c];
    }
    projection_.Pack(Out<float>(a, Grad::kDprojected) + first, stride, block.first_row, block.rows, block.first_column,
                     block.columns, projection_.Rows(Projection(a), 0));
  }

  // Behind a sequence's end the gradient of its state stays: that of its packed gates does.
  void OfUnits(const KernelArguments& a, int64_t place, const PanelBlock& block, int64_t buffer) const {
    const int64_t first = block.first_column, units = block.columns;
    UnitStepBack steps[kBlockRows];
    int64_t live = 0, samples[kBlockRows];
    for (int64_t r = 0; r < block.rows; ++r) {
      const int64_t sample = block.first_row + r, at = Row(sample, place, s_.units) + first;
      if (Ended(a, sample, place)) {
        End(a, sample, at, first, units, buffer);
        continue;
      }
      const float* const gates = In<float>(a, Grad::kGates) + kLstmGates * at;
      const float* const cells = In<float>(a, Grad::kCells) + at;
      if (s_.projected) UnitOutputs(gates, cells, Out<float>(a, Grad::kCellOutputs) + at, units);
      const float* const before = Before(a, Grad::kCells, Grad::kC0, sample, place, s_.units);
      samples[live] = sample;
      steps[live++] = {gates,
                       cells,
                       before == nullptr ? kNone : before + first,
                       block.sums + r * block.stride,
                       s_.projected ? kNone : In<float>(a, Grad::kDh) + at,
                       Out<float>(a, Grad::kDc0) + sample * s_.units + first,
                       Out<float>(a, Grad::kDg) + kLstmGates * at};
    }
    UnitGradients(steps, live, units);
    float* const rows = state_.Rows(Scratch<float>(a), buffer);
    if (live == block.rows) {
      state_.Pack(steps[0].dg, s_.places * s_.gates(), block.first_row, live, kLstmGates * first, kLstmGates * units,
                  rows);
      return;
    }
    for (int64_t i = 0; i < live; ++i) {
      state_.Pack(steps[i].dg, 0, samples[i], 1, kLstmGates * first, kLstmGates * units, rows);
    }
  }

  void End(const KernelArguments& a, int64_t sample, int64_t at, int64_t first, int64_t units, int64_t buffer) const {
    std::fill_n(Out<float>(a, Grad::kDg) + kLstmGates * at, kLstmGates * units, 0.0f);
    if (s_.projected) {
      std::fill_n(Out<float>(a, Grad::kCellOutputs) + at, units, 0.0f);
    } else {
      const float* const kept = state_.Rows(Scratch<float>(a), 1 - buffer);
      state_.CopyRow(kept, sample, kLstmGates * first, kLstmGates * units, state_.Rows(Scratch<float>(a), buffer));
    }
  }

  static void CopyOrClear(const float* from, int64_t n, float* to) {
    if (from == nullptr) {
      std::fill_n(to, n, 0.0f);
    } else {
      std::copy_n(from, n, to);
    }
  }

  // What the first place asks of the state that it follows, if there is one.
  void Finish(const KernelArguments& a) const {
    float* const dh0 = Out<float>(a, Grad::kDh0);
    if (In<float>(a, Grad::kH0) == nullptr) return CopyOrClear(nullptr, s_.samples * s_.outputs, dh0);
    const int64_t buffer = s_.projected ? 0 : 1;  // the one that the step of number 0 wrote
    state_.Multiply(Scratch<float>(a), buffer, false, [&](const PanelBlock& block) {
      for (int64_t r = 0; r < block.rows; ++r) {
        std::copy_n(block.sums + r * block.stride, block.columns,
                    dh0 + (block.first_row + r) * s_.outputs + block.first_column);
      }
    });
  }

  const LstmSizes s_;
  const SequenceLengths lengths_;
  const HeldProduct state_, projection_;  // of dg, and of what the projection gets
};

}  // namespace

absl::StatusOr<PreparedKernel> FastLstmStepsGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const LstmSizes sizes = MakeLstmGradSizes(node);
  const SequenceLengths lengths(node, Grad::kLengths, sizes.places);
  return PreparedLoop(lengths, Backward(sizes, lengths));
}

}  // namespace partita
