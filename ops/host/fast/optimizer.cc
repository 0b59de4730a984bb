// Fast updates. Outputs may lie at the address of the input they replace.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "graph/ir/op_definition.h"
#include "ops/functors/updates/row_updates.h"
#include "ops/functors/updates/updates.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/row_update_arguments.h"
#include "ops/host/kernel/target_clones.h"
#include "ops/host/kernel/update_arguments.h"
#include "ops/host/kernel/widened.h"
#include "ops/values/update_attributes.h"

namespace partita {
namespace {

// Elements of one parameter: w and g, then its slots.
template <size_t kSlots>
struct Parts {
  const float *w, *g;
  float* new_w;
  std::array<const float*, kSlots> slots;
  std::array<float*, kSlots> new_slots;
};
template <typename F>
using PartsOf = Parts<F::kSlots.size()>;
template <typename F>
using StepOf = typename F::template Step<float>;

template <typename F, size_t... kSlot>
[[gnu::always_inline]] inline void Update(const PartsOf<F>& at, int64_t n, const StepOf<F>& step,
                                          std::index_sequence<kSlot...>) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    float w = at.w[i];
    float slots[sizeof...(kSlot) + 1] = {at.slots[kSlot][i]...};
    step(w, at.g[i], slots);
    at.new_w[i] = w;
    ((at.new_slots[kSlot][i] = slots[kSlot]), ...);
  }
}

// A function of its own for each, since templates are not cloned.
#define PARTITA_RANGE(F)                                                                         \
  PARTITA_TARGET_CLONES void UpdateRange(const PartsOf<F> at, int64_t n, const StepOf<F> step) { \
    Update<F>(at, n, step, std::make_index_sequence<F::kSlots.size()>());                        \
  }
PARTITA_UPDATES(PARTITA_RANGE)
#undef PARTITA_RANGE

// What a step that is not applied leaves.
template <size_t kSlots>
void Keep(const Parts<kSlots>& at, int64_t n) {
  const auto keep = [n](const float* from, float* to) {
    if (to != from) std::copy_n(from, n, to);
  };
  keep(at.w, at.new_w);
  for (size_t s = 0; s < kSlots; ++s) keep(at.slots[s], at.new_slots[s]);
}

// f(begin, end, their f32 form) for pieces of a range that stay in the cache.
template <typename Function>
void ForWidened(const Bf16* from, int64_t begin, int64_t end, const Function& f) {
  constexpr int64_t kWidened = 1024;
  float wide[kWidened];
  for (int64_t i = begin; i < end; i += kWidened) {
    const int64_t stop = std::min(end, i + kWidened);
    WidenRun(from + i, wide, stop - i);
    f(i, stop, wide);
  }
}

template <typename F>
absl::StatusOr<PreparedKernel> Prepare(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const GroupUpdate<F> attributes = UpdateWith<F>(node.attributes);
  const UpdateForm form = UpdateFormOf<F>(node);
  const int64_t elements = node.outputs[0].elements();
  return Prepared([=](const KernelArguments& a) {
    const ElementUpdate<F, float> update = UpdateIn<F, float>(attributes, a);
    const auto range = [&](int64_t begin, int64_t end, const float* g) {
      PartsOf<F> at{In<float>(a, 0) + begin, g, Out<float>(a, 0) + begin, {}, {}};
      for (size_t s = 0; s < F::kSlots.size(); ++s) {
        at.slots[s] = In<float>(a, 2 + s) + begin;
        at.new_slots[s] = Out<float>(a, 1 + s) + begin;
      }
      if (update.apply) {
        UpdateRange(at, end - begin, update.step);
      } else {
        Keep(at, end - begin);
      }
      if (form.rounds) RoundRun(at.new_w, Out<Bf16>(a, 1 + F::kSlots.size()) + begin, end - begin);
    };
    ParallelRange(elements, [&](int64_t begin, int64_t end) {
      if (form.narrow_gradient) {
        ForWidened(In<Bf16>(a, 1), begin, end, range);
      } else {
        range(begin, end, In<float>(a, 1) + begin);
      }
    });
  });
}

// Of the rows that ids choose, each in place.
template <typename F>
absl::StatusOr<PreparedKernel> PrepareRows(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const GroupUpdate<F> attributes = UpdateWith<F>(node.attributes);
  return Prepared([attributes, rows = UpdatedRows(node)](const KernelArguments& a) {
    rows.Keep<float>(a, F::kSlots.size());
    const ElementUpdate<F, float> update = RowUpdateIn<F, float>(attributes, a);
    if (!update.apply) return;
    ParallelFor(rows.count, rows.count * rows.channels, [&](int64_t k) {
      const int64_t row = rows.RowOf(a, k);
      if (row < 0) return;
      float* const w = Out<float>(a, 0) + row * rows.channels;
      PartsOf<F> at{w, In<float>(a, 2) + k * rows.channels, w, {}, {}};
      for (size_t s = 0; s < F::kSlots.size(); ++s) {
        at.slots[s] = at.new_slots[s] = Out<float>(a, 1 + s) + row * rows.channels;
      }
      UpdateRange(at, rows.channels, update.step);
    });
  });
}

constexpr int64_t kPiece = 8192;  // elements that one partial sum of squares covers

int64_t PiecesOf(int64_t elements) { return (elements + kPiece - 1) / kPiece; }

PARTITA_TARGET_CLONES double SumOfSquares(const float* x, int64_t n) {
  constexpr int64_t kLanes = 16;
  double sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = x[i + lane];
      sums[lane] += value * value;
    }
  }
  double total = 0;
  for (; i < n; ++i) total += static_cast<double>(x[i]) * x[i];
  for (int64_t lane = 0; lane < kLanes; ++lane) total += sums[lane];
  return total;
}

}  // namespace

absl::StatusOr<PreparedKernel> FastSumOfSquares(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  std::vector<int64_t> sizes;
  int64_t most_pieces = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    sizes.push_back(Input(node, i).elements());
    most_pieces = std::max(most_pieces, PiecesOf(sizes.back()));
  }
  const auto compute = [=](const KernelArguments& a) {
    double* partial = Scratch<double>(a);
    float total = 0;
    for (size_t t = 0; t < sizes.size(); ++t) {
      const int64_t elements = sizes[t], pieces = PiecesOf(elements);
      ParallelFor(pieces, elements, [&](int64_t i) {
        partial[i] = SumOfSquares(In<float>(a, t) + i * kPiece, std::min(kPiece, elements - i * kPiece));
      });
      double sum = 0;
      for (int64_t i = 0; i < pieces; ++i) sum += partial[i];
      total += static_cast<float>(sum);
    }
    *Out<float>(a, 0) = total;
  };
  return Prepared(compute, most_pieces * static_cast<int64_t>(sizeof(double)));
}

absl::StatusOr<PreparedKernel> FastUpdate(const LocalNode& node) {
  return WithUpdate(node.op->name, [&]<typename F>() { return Prepare<F>(node); });
}

absl::StatusOr<PreparedKernel> FastRowUpdate(const LocalNode& node) {
  return WithRowUpdate(node.op->name, [&]<typename F>() { return PrepareRows<F>(node); });
}

}  // namespace partita
