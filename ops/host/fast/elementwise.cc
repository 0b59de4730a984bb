// The ops of ops/functors/elementwise.h. Outputs may lie at the address of an input.
#include "ops/functors/elementwise.h"

#include <type_traits>

#include "graph/ir/op_definition.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/fast/lanes.h"
#include "ops/host/fast/smooth_functions.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/target_clones.h"

namespace partita {
namespace {

// A float whose functions are those of ops/host/fast/smooth_functions.h: a functor of it is a loop of vectors, where
// the C library's functions would be called for each element.
struct Lane {
  Lane() = default;
  constexpr explicit Lane(double number) : value(static_cast<float>(number)) {}
  float value;
};

PARTITA_INLINE Lane LaneOf(float value) {
  Lane lane;
  lane.value = value;
  return lane;
}
PARTITA_INLINE Lane operator-(Lane x) { return LaneOf(-x.value); }
PARTITA_INLINE Lane operator+(Lane a, Lane b) { return LaneOf(a.value + b.value); }
PARTITA_INLINE Lane operator-(Lane a, Lane b) { return LaneOf(a.value - b.value); }
PARTITA_INLINE Lane operator*(Lane a, Lane b) { return LaneOf(a.value * b.value); }
PARTITA_INLINE Lane operator/(Lane a, Lane b) { return LaneOf(a.value / b.value); }
PARTITA_INLINE bool operator<(Lane a, Lane b) { return a.value < b.value; }
PARTITA_INLINE bool operator>=(Lane a, Lane b) { return a.value >= b.value; }
PARTITA_INLINE bool operator==(Lane a, Lane b) { return a.value == b.value; }
PARTITA_INLINE Lane Select(bool first, Lane a, Lane b) { return LaneOf(first ? a.value : b.value); }
PARTITA_INLINE Lane exp(Lane x) { return LaneOf(Exponential(x.value)); }
PARTITA_INLINE Lane erfc(Lane x) { return LaneOf(ErrorComplement(x.value)); }
PARTITA_INLINE Lane tanh(Lane x) { return LaneOf(Squashed(x.value)); }

// The functors that call those functions and no others.
template <typename F, typename... Fs>
inline constexpr bool kIsOneOf = (std::is_same_v<F, Fs> || ...);
template <typename F>
inline constexpr bool kCallsSmoothFunctions =
    kIsOneOf<F, Exp, Gelu, GeluTanh, Sigmoid, Silu, Tanh, GradientOf<Gelu>, GradientOf<GeluTanh>, GradientOf<Silu>>;

template <typename F, typename... Floats>
PARTITA_INLINE float ValueOf(Floats... x) {
  if constexpr (kCallsSmoothFunctions<F>)
    return F::Value(LaneOf(x)...).value;
  else
    return F::Value(x...);
}

template <typename F>
PARTITA_INLINE void Loop(const float* x, float* y, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = ValueOf<F>(x[i]);
}

template <typename F>
PARTITA_INLINE void Loop(const float* a, const float* b, float* y, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = ValueOf<F>(a[i], b[i]);
}

// The loop of the functor at `place`.
template <typename... Fs, typename... Arguments>
PARTITA_INLINE void LoopAt(TypeList<Fs...>, int place, Arguments... arguments) {
  int at = 0;
  ((place == at++ ? Loop<Fs>(arguments...) : void()), ...);
}

// One function for all ops, because templates cannot be cloned.
PARTITA_TARGET_CLONES void UnaryRange(int place, const float* x, float* y, int64_t n) {
  LoopAt(UnaryOps(), place, x, y, n);
}

PARTITA_TARGET_CLONES void BinaryRange(int place, const float* a, const float* b, float* y, int64_t n) {
  LoopAt(BinaryOps(), place, a, b, y, n);
}

// What an element costs, in additions.
template <typename List>
int CostAt(List list, int place) {
  return AtPlace(list, place, []<typename F>() { return F::kCost; });
}

}  // namespace

absl::StatusOr<PreparedKernel> FastUnary(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const int place = PlaceOf(UnaryOps(), node.op->name), cost = CostAt(UnaryOps(), place);
  return Prepared([=, elements = node.outputs[0].elements()](const KernelArguments& a) {
    const auto range = [&](int64_t begin, int64_t end) {
      UnaryRange(place, In<float>(a, 0) + begin, Out<float>(a, 0) + begin, end - begin);
    };
    ParallelRange(elements, range, cost);
  });
}

absl::StatusOr<PreparedKernel> FastBinary(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const int place = PlaceOf(BinaryOps(), node.op->name), cost = CostAt(BinaryOps(), place);
  return Prepared([=, elements = node.outputs[0].elements()](const KernelArguments& a) {
    const auto range = [&](int64_t begin, int64_t end) {
      BinaryRange(place, In<float>(a, 0) + begin, In<float>(a, 1) + begin, Out<float>(a, 0) + begin, end - begin);
    };
    ParallelRange(elements, range, cost);
  });
}

}  // namespace partita
