// The steps of an LSTM. At each place a thread makes the gates of some units for all samples: panels of the product,
// and while they are in the first cache what happens to the units. With a projection a second product follows.
#include <algorithm>

#include "ops/host/kernel/sequence_lengths.h"
#include "ops/host/recurrence/held_product.h"
#include "ops/host/recurrence/recurrence_kernels.h"
#include "ops/host/recurrence/unit_loops.h"
#include "ops/values/lstm_geometry.h"

namespace partita {
namespace {

using Steps = LstmSteps;

class Forward {
 public:
  Forward(const LstmSizes& sizes, const SequenceLengths& lengths)
      : s_(sizes),
        lengths_(lengths),
        gates_(s_.samples, s_.outputs, s_.gates(), s_.projected ? 1 : 2),
        projection_(s_.samples, s_.units, s_.projected ? s_.outputs : 0, s_.projected ? 1 : 0) {}

  int64_t workspace_bytes() const {
    return (gates_.workspace() + projection_.workspace()) * static_cast<int64_t>(sizeof(float));
  }

  void Run(const KernelArguments& a) const {
    Begin(a);
    for (int64_t step = 0; step < s_.places; ++step) {
      const bool zero = step == 0 && In<float>(a, Steps::kH0) == nullptr;
      const int64_t place = s_.Place(step), buffer = s_.projected ? 0 : step % 2;
      gates_.Multiply(Scratch<float>(a), buffer, zero, [&](const PanelBlock& block) { Open(a, place, buffer, block); });
      if (!s_.projected) continue;
      projection_.Multiply(Projection(a), 0, false, [&](const PanelBlock& block) { Project(a, place, block); });
    }
  }

 private:
  float* Projection(const KernelArguments& a) const { return Scratch<float>(a) + gates_.workspace(); }

  // The row of a sample at a place, in an operand of so many elements for each.
  int64_t Row(int64_t sample, int64_t place, int64_t elements) const { return (sample * s_.places + place) * elements; }
  bool Ended(const KernelArguments& a, int64_t sample, int64_t place) const { return place >= lengths_.Of(a, sample); }

  void Begin(const KernelArguments& a) const {
    const int64_t n = s_.samples * s_.outputs, cells = s_.samples * s_.units;
    const float *const h0 = In<float>(a, Steps::kH0), *const c0 = In<float>(a, Steps::kC0);
    float *const h = Out<float>(a, Steps::kLastH), *const c = Out<float>(a, Steps::kLastC);
    for (int64_t i = 0; i < n; ++i) h[i] = h0 == nullptr ? 0.0f : h0[i];
    for (int64_t i = 0; i < cells; ++i) c[i] = c0 == nullptr ? 0.0f : c0[i];
    gates_.Hold({In<float>(a, Steps::kWeights), s_.gates(), 1}, Scratch<float>(a));
    if (s_.projected) projection_.Hold({In<float>(a, Steps::kProjection), s_.outputs, 1}, Projection(a));
    float* const rows = gates_.Rows(Scratch<float>(a), 0);
    gates_.Pack(h, s_.outputs, 0, s_.samples, 0, s_.outputs, rows);
  }

  // The units of a block: gates are their sums with what the place adds.
  void Open(const KernelArguments& a, int64_t place, int64_t buffer, const PanelBlock& block) const {
    const int64_t units = block.columns / kLstmGates, first = block.first_column / kLstmGates;
    alignas(64) float projected[kBlockSums / kLstmGates];  // what the projection gets
    UnitStep steps[kBlockRows];
    int64_t live = 0;
    for (int64_t r = 0; r < block.rows; ++r) {
      const int64_t sample = block.first_row + r;
      const int64_t at = Row(sample, place, s_.units) + first, state = sample * s_.units + first;
      if (Ended(a, sample, place)) {
        Clear(a, at, units);
        if (s_.projected) std::fill_n(projected + r * units, units, 0.0f);
        continue;
      }
      float* const outputs = s_.projected ? projected + r * units : Out<float>(a, Steps::kH) + at;
      steps[live++] = {In<float>(a, Steps::kG) + kLstmGates * at,
                       block.sums + r * block.stride,
                       Out<float>(a, Steps::kLastC) + state,
                       Out<float>(a, Steps::kGates) + kLstmGates * at,
                       Out<float>(a, Steps::kCells) + at,
                       outputs,
                       s_.projected ? outputs : Out<float>(a, Steps::kLastH) + state};
    }
    AdvanceUnits(steps, live, units, static_cast<float>(s_.forget_bias));
    if (s_.projected) {
      projection_.Pack(projected, units, block.first_row, block.rows, first, units, projection_.Rows(Projection(a), 0));
    } else {  // the state for the next place, while others still read this one's
      gates_.Pack(Out<float>(a, Steps::kLastH) + block.first_row * s_.units + first, s_.units, block.first_row,
                  block.rows, first, units, gates_.Rows(Scratch<float>(a), 1 - buffer));
    }
  }

  // Behind a sequence's end its state stays.
  void Clear(const KernelArguments& a, int64_t at, int64_t units) const {
    std::fill_n(Out<float>(a, Steps::kGates) + kLstmGates * at, kLstmGates * units, 0.0f);
    std::fill_n(Out<float>(a, Steps::kCells) + at, units, 0.0f);
    if (!s_.projected) std::fill_n(Out<float>(a, Steps::kH) + at, units, 0.0f);
  }

  void Project(const KernelArguments& a, int64_t place, const PanelBlock& block) const {
    float* const rows = gates_.Rows(Scratch<float>(a), 0);
    for (int64_t r = 0; r < block.rows; ++r) {
      const int64_t sample = block.first_row + r;
      const float* const sums = block.sums + r * block.stride;
      float* const h = Out<float>(a, Steps::kH) + Row(sample, place, s_.outputs) + block.first_column;
      if (Ended(a, sample, place)) {
        std::fill_n(h, block.columns, 0.0f);
        continue;
      }
      std::copy(sums, sums + block.columns, h);
      std::copy(h, h + block.columns, Out<float>(a, Steps::kLastH) + sample * s_.outputs + block.first_column);
      gates_.Pack(sums, block.stride, sample, 1, block.first_column, block.columns, rows);
    }
  }

  const LstmSizes s_;
  const SequenceLengths lengths_;
  const HeldProduct gates_, projection_;  // of the state, and of the units' outputs
};

}  // namespace

absl::StatusOr<PreparedKernel> FastLstmSteps(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const LstmSizes sizes = MakeLstmSizes(node);
  const SequenceLengths lengths(node, Steps::kLengths, sizes.places);
  return PreparedLoop(lengths, Forward(sizes, lengths));
}

}  // namespace partita
