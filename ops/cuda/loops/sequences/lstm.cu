#include <limits>

#include "ops/cuda/launch/label_fault.h"
#include "ops/cuda/launch/lstm.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/sequences/product_tiles.h"

namespace partita::launch {
namespace {

// The element of one sample, of `width` for each sample.
struct Element {
  int64_t sample, channel, width;

  PARTITA_HOST_DEVICE int64_t dense() const { return sample * width + channel; }
  PARTITA_HOST_DEVICE int64_t in_place(const LstmPlace& at, int64_t place) const {
    return (sample * at.sizes.places + place) * width + channel;
  }
};

PARTITA_HOST_DEVICE inline int64_t WrittenLength(const LstmPlace& at, int64_t sample) {
  return at.lengths == nullptr ? at.sizes.places : int64_t{at.lengths[sample]};
}

PARTITA_HOST_DEVICE inline int64_t LengthOf(const LstmPlace& at, int64_t sample) {
  const int64_t length = WrittenLength(at, sample);
  return length < 0 ? 0 : length > at.sizes.places ? at.sizes.places : length;
}

// What the place before left in the rows of `all`.
template <typename T>
PARTITA_HOST_DEVICE inline T Before(const LstmPlace& at, const Element& e, const T* all, const T* begin) {
  if (!at.sizes.First(at.place, LengthOf(at, e.sample))) return all[e.in_place(at, at.sizes.Before(at.place))];
  return begin == nullptr ? T(0.0f) : begin[e.dense()];
}

template <typename T>
PARTITA_HOST_DEVICE inline LstmGates<Compute<T>> Load(const T* at) {
  using A = Compute<T>;
  return {static_cast<A>(at[0]), static_cast<A>(at[1]), static_cast<A>(at[2]), static_cast<A>(at[3])};
}

template <typename T, typename A>
PARTITA_HOST_DEVICE inline void Store(const LstmGates<A>& gates, T* at) {
  at[0] = static_cast<T>(gates.input);
  at[1] = static_cast<T>(gates.forget);
  at[2] = static_cast<T>(gates.candidate);
  at[3] = static_cast<T>(gates.output);
}

template <typename A>
PARTITA_HOST_DEVICE inline void AddTo(LstmGates<A>& sums, const A* product) {
  sums.input += product[0];
  sums.forget += product[1];
  sums.candidate += product[2];
  sums.output += product[3];
}

template <typename T>
struct State {
  const T* before;
  T* after;

  explicit State(const LstmState& from) : before(As<T>(from.before)), after(As<T>(from.after)) {}

  PARTITA_HOST_DEVICE T operator[](int64_t i) const { return before == nullptr ? T(0.0f) : before[i]; }
  PARTITA_HOST_DEVICE void Keep(int64_t i) const { after[i] = (*this)[i]; }
};

// Bodies are called with a sample, a unit or an output of it, and its kColumns sums of the product; null: zero.

template <typename T>
struct CellsBody {
  static constexpr int kColumns = kLstmGates;
  using A = Compute<T>;
  LstmPlace at;
  const T* g;
  T* gates;
  A* cells;
  State<A> c;
  T* h;
  State<T> state;
  T* outputs;

  PARTITA_HOST_DEVICE void operator()(int64_t sample, int64_t channel, const A* product) const {
    const Element unit{sample, channel, at.sizes.units};
    const int64_t place = unit.in_place(at, at.place), length = WrittenLength(at, sample);
    const bool possible = IsLength(sample, length);
    if (possible && at.place >= length) return Keep(unit.dense(), place);
    LstmGates<A> sums = Load(g + kLstmGates * place);
    if (product != nullptr) AddTo(sums, product);
    if (!possible) sums.input = std::numeric_limits<A>::quiet_NaN();
    const LstmGates<A> open = OpenGates(sums, static_cast<A>(at.sizes.forget_bias));
    const A cell = NewCell(open, c[unit.dense()]);
    Store(open, gates + kLstmGates * place);
    cells[place] = c.after[unit.dense()] = cell;
    Write(unit.dense(), place, static_cast<T>(CellOutput(open, cell)));
  }

 private:
  PARTITA_HOST_DEVICE void Write(int64_t dense, int64_t place, T output) const {
    if (outputs != nullptr) {
      outputs[dense] = output;
    } else {
      h[place] = state.after[dense] = output;
    }
  }

  PARTITA_HOST_DEVICE void Keep(int64_t dense, int64_t place) const {
    for (int k = 0; k < kLstmGates; ++k) gates[kLstmGates * place + k] = T(0.0f);
    cells[place] = A(0);
    c.Keep(dense);
    if (outputs != nullptr) {
      outputs[dense] = T(0.0f);
    } else {
      h[place] = T(0.0f);
      state.Keep(dense);
    }
  }

  PARTITA_HOST_DEVICE bool IsLength(int64_t sample, int64_t length) const {
    return IsClass(sample, static_cast<int32_t>(length), at.sizes.places + 1, at.fault);
  }
};

template <typename T>
struct KeepBody {
  static constexpr int kColumns = 1;
  LstmPlace at;
  T* h;
  State<T> state;

  PARTITA_HOST_DEVICE void operator()(int64_t sample, int64_t channel, const Compute<T>* product) const {
    const Element output{sample, channel, at.sizes.outputs};
    const int64_t place = output.in_place(at, at.place), length = WrittenLength(at, sample);
    if (length >= 0 && at.place >= length) {
      h[place] = T(0.0f);
      state.Keep(output.dense());
    } else {
      h[place] = state.after[output.dense()] = static_cast<T>(product == nullptr ? Compute<T>(0) : *product);
    }
  }
};

template <typename T>
struct OutputGradient {
  using A = Compute<T>;
  const T *dh, *h, *h0;
  T *previous, *dprojected, *dense_projected;

  // Writes what the place before gave, and says the whole gradient of what this one gives.
  PARTITA_HOST_DEVICE A Make(const LstmPlace& at, const Element& output, const A* product) const {
    const int64_t place = output.in_place(at, at.place);
    previous[place] = Before(at, output, h, h0);
    return static_cast<A>(dh[place]) + (product == nullptr ? A(0) : *product);
  }
};

template <typename T>
OutputGradient<T> Of(const LstmOutputGradients& from) {
  return {As<T>(from.dh),       As<T>(from.h),          As<T>(from.h0),
          As<T>(from.previous), As<T>(from.dprojected), As<T>(from.dense_projected)};
}

template <typename T>
struct ProjectedBody {
  static constexpr int kColumns = 1;
  LstmPlace at;
  OutputGradient<T> gradient;

  PARTITA_HOST_DEVICE void operator()(int64_t sample, int64_t channel, const Compute<T>* product) const {
    const Element output{sample, channel, at.sizes.outputs};
    const int64_t place = output.in_place(at, at.place), dense = output.dense();
    if (at.place >= LengthOf(at, sample)) {
      gradient.previous[place] = gradient.dprojected[place] = gradient.dense_projected[dense] = T(0.0f);
    } else {
      const T rounded = static_cast<T>(gradient.Make(at, output, product));
      gradient.dprojected[place] = gradient.dense_projected[dense] = rounded;
    }
  }
};

template <typename T>
struct GatesBody {
  static constexpr int kColumns = 1;
  using A = Compute<T>;
  LstmPlace at;
  const T* gates;
  const A *cells, *c0;
  T* dg;
  State<T> dense_dg;
  State<A> dcells;
  T* cell_outputs;
  OutputGradient<T> gradient;

  PARTITA_HOST_DEVICE void operator()(int64_t sample, int64_t channel, const A* product) const {
    const Element unit{sample, channel, at.sizes.units};
    const int64_t place = unit.in_place(at, at.place), dense = unit.dense();
    if (at.place >= LengthOf(at, sample)) return Keep(dense, place);
    const LstmGates<A> open = Load(gates + kLstmGates * place);
    A dy = A(0);
    if (!at.sizes.projected) {
      dy = gradient.Make(at, unit, product);
    } else {
      if (product != nullptr) dy = *product;
      cell_outputs[place] = static_cast<T>(CellOutput(open, cells[place]));
    }
    const LstmGradient<A> made = UnitGradient(open, Before(at, unit, cells, c0), cells[place], dy, dcells[dense]);
    Store(made.sums, dg + kLstmGates * place);
    Store(made.sums, dense_dg.after + kLstmGates * dense);
    dcells.after[dense] = made.before;
  }

 private:
  PARTITA_HOST_DEVICE void Keep(int64_t dense, int64_t place) const {
    for (int k = 0; k < kLstmGates; ++k) {
      dg[kLstmGates * place + k] = T(0.0f);
      dense_dg.Keep(kLstmGates * dense + k);
    }
    dcells.Keep(dense);
    if (at.sizes.projected) {
      cell_outputs[place] = T(0.0f);
    } else {
      gradient.previous[place] = T(0.0f);
    }
  }
};

template <typename T>
struct StoreBody {
  static constexpr int kColumns = 1;
  int64_t width;
  T* to;

  PARTITA_HOST_DEVICE void operator()(int64_t sample, int64_t channel, const Compute<T>* product) const {
    to[sample * width + channel] = static_cast<T>(product == nullptr ? Compute<T>(0) : *product);
  }
};

// A body over sums that lie in memory.
template <typename T, typename Body>
struct OverSums {
  Body body;
  int64_t width;
  const Compute<T>* sums;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    body(index / width, index % width, sums == nullptr ? nullptr : sums + index * Body::kColumns);
  }
};

template <bool kTransposed, typename T, typename Body>
LaunchError Enqueue(LstmProduct product, const LstmSizes& of, const LstmSums& from, const Body& body, CudaQueue queue) {
  const MatMulSizes sizes = SizesOf(product, of);
  if (from.x != nullptr) {
    return MultiplyTiles<T, kTransposed>(sizes, As<T>(from.x), As<T>(from.w), from.scratch, body, queue);
  }
  const int64_t width = sizes.n / Body::kColumns;
  return ForEach(sizes.m * width, OverSums<T, Body>{body, width, As<Compute<T>>(from.sums)}, queue);
}

}  // namespace

LaunchError OpenLstmGates(DType dtype, const LstmPlace& at, const LstmSums& product, const LstmCells& c,
                          CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    using A = Compute<T>;
    const CellsBody<T> body{at,         As<T>(c.g),        As<T>(c.gates),  As<A>(c.cells), State<A>(c.c),
                            As<T>(c.h), State<T>(c.state), As<T>(c.outputs)};
    return Enqueue<false, T>(LstmProduct::kGates, at.sizes, product, body, queue);
  });
}

LaunchError KeepLstmOutputs(DType dtype, const LstmPlace& at, const LstmSums& projection, void* h,
                            const LstmState& state, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const KeepBody<T> body{at, As<T>(h), State<T>(state)};
    return Enqueue<false, T>(LstmProduct::kProjection, at.sizes, projection, body, queue);
  });
}

LaunchError AddLstmOutputGradients(DType dtype, const LstmPlace& at, const LstmSums& product,
                                   const LstmOutputGradients& outputs, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const ProjectedBody<T> body{at, Of<T>(outputs)};
    return Enqueue<true, T>(LstmProduct::kStateGradient, at.sizes, product, body, queue);
  });
}

LaunchError AddLstmGateGradients(DType dtype, const LstmPlace& at, const LstmSums& product,
                                 const LstmGateGradients& gates, const LstmOutputGradients& outputs, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    using A = Compute<T>;
    const GatesBody<T> body{at,
                            As<T>(gates.gates),
                            As<A>(gates.cells),
                            As<A>(gates.c0),
                            As<T>(gates.dg),
                            State<T>(gates.dense_dg),
                            State<A>(gates.dcells),
                            As<T>(gates.cell_outputs),
                            Of<T>(outputs)};
    const LstmProduct kind = at.sizes.projected ? LstmProduct::kProjectionGradient : LstmProduct::kStateGradient;
    return Enqueue<true, T>(kind, at.sizes, product, body, queue);
  });
}

LaunchError StoreLstmStateGradient(DType dtype, const LstmSizes& sizes, const LstmSums& product, void* dh0,
                                   CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const StoreBody<T> body{sizes.outputs, As<T>(dh0)};
    return Enqueue<true, T>(LstmProduct::kStateGradient, sizes, product, body, queue);
  });
}

}  // namespace partita::launch
