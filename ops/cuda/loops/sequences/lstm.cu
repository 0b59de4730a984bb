#include <limits>

#include "ops/cuda/launch/label_fault.h"
#include "ops/cuda/launch/lstm.h"
#include "ops/cuda/loops/elementwise.h"

namespace partita::launch {
namespace {

// The element of one sample, of `width` for each sample.
struct Element {
  int64_t sample, channel, width;

  PARTITA_HOST_DEVICE static Element At(int64_t index, int64_t width) { return {index / width, index % width, width}; }
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

// A unit of a sample.
template <typename T>
struct CellsBody {
  using A = Compute<T>;
  LstmPlace at;
  const T* g;
  const A* product;
  T* gates;
  A *cells, *last_c;
  T *h, *last_h, *outputs;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Element unit = Element::At(index, at.sizes.units);
    const int64_t place = unit.in_place(at, at.place), length = WrittenLength(at, unit.sample);
    const bool possible = IsLength(unit.sample, length);
    if (possible && at.place >= length) return Clear(place);
    LstmGates<A> sums = Load(g + kLstmGates * place);
    if (product != nullptr) AddTo(sums, product + kLstmGates * unit.dense());
    if (!possible) sums.input = std::numeric_limits<A>::quiet_NaN();
    const LstmGates<A> open = OpenGates(sums, static_cast<A>(at.sizes.forget_bias));
    const A cell = NewCell(open, last_c[unit.dense()]);
    Store(open, gates + kLstmGates * place);
    cells[place] = last_c[unit.dense()] = cell;
    Write(unit, place, static_cast<T>(CellOutput(open, cell)));
  }

 private:
  PARTITA_HOST_DEVICE void Write(const Element& unit, int64_t place, T output) const {
    if (outputs != nullptr) {
      outputs[unit.dense()] = output;
    } else {
      h[place] = last_h[unit.dense()] = output;
    }
  }

  PARTITA_HOST_DEVICE void Clear(int64_t place) const {
    for (int k = 0; k < kLstmGates; ++k) gates[kLstmGates * place + k] = T(0.0f);
    cells[place] = A(0);
    if (outputs == nullptr) h[place] = T(0.0f);
  }

  PARTITA_HOST_DEVICE bool IsLength(int64_t sample, int64_t length) const {
    return IsClass(sample, static_cast<int32_t>(length), at.sizes.places + 1, at.fault);
  }
};

// An output of a sample.
template <typename T>
struct KeepBody {
  LstmPlace at;
  const Compute<T>* product;
  T *h, *last_h;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Element output = Element::At(index, at.sizes.outputs);
    const int64_t length = WrittenLength(at, output.sample);
    const bool ended = length >= 0 && at.place >= length;
    if (!ended) last_h[index] = static_cast<T>(product[index]);
    h[output.in_place(at, at.place)] = ended ? T(0.0f) : last_h[index];
  }
};

template <typename T>
struct OutputGradient {
  using A = Compute<T>;
  const T* dh;
  const A* product;
  const T *h, *h0;
  T *previous, *dprojected, *dense_projected;

  // Writes what the place before gave, and says the whole gradient of what this one gives.
  PARTITA_HOST_DEVICE A Make(const LstmPlace& at, const Element& output) const {
    const int64_t place = output.in_place(at, at.place);
    previous[place] = Before(at, output, h, h0);
    return static_cast<A>(dh[place]) + (product == nullptr ? A(0) : product[output.dense()]);
  }
};

template <typename T>
OutputGradient<T> Of(const LstmOutputGradients& from) {
  return {As<T>(from.dh),         As<Compute<T>>(from.product), As<T>(from.h), As<T>(from.h0), As<T>(from.previous),
          As<T>(from.dprojected), As<T>(from.dense_projected)};
}

template <typename T>
struct ProjectedBody {
  LstmPlace at;
  OutputGradient<T> gradient;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Element output = Element::At(index, at.sizes.outputs);
    const int64_t place = output.in_place(at, at.place);
    if (at.place >= LengthOf(at, output.sample)) {
      gradient.previous[place] = gradient.dprojected[place] = gradient.dense_projected[index] = T(0.0f);
    } else {
      gradient.dprojected[place] = gradient.dense_projected[index] = static_cast<T>(gradient.Make(at, output));
    }
  }
};

// A unit of a sample.
template <typename T>
struct GatesBody {
  using A = Compute<T>;
  LstmPlace at;
  const T* gates;
  const A *cells, *c0, *doutputs;
  T *dg, *dense_dg;
  A* dcells;
  T* cell_outputs;
  OutputGradient<T> gradient;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    const Element unit = Element::At(index, at.sizes.units);
    const int64_t place = unit.in_place(at, at.place);
    if (at.place >= LengthOf(at, unit.sample)) return Clear(place);
    const LstmGates<A> open = Load(gates + kLstmGates * place);
    const A dy = doutputs == nullptr ? gradient.Make(at, unit) : doutputs[index];
    if (doutputs != nullptr) cell_outputs[place] = static_cast<T>(CellOutput(open, cells[place]));
    const LstmGradient<A> made = UnitGradient(open, Before(at, unit, cells, c0), cells[place], dy, dcells[index]);
    Store(made.sums, dg + kLstmGates * place);
    Store(made.sums, dense_dg + kLstmGates * index);
    dcells[index] = made.before;
  }

 private:
  PARTITA_HOST_DEVICE void Clear(int64_t place) const {
    for (int k = 0; k < kLstmGates; ++k) dg[kLstmGates * place + k] = T(0.0f);
    if (doutputs == nullptr) {
      gradient.previous[place] = T(0.0f);
    } else {
      cell_outputs[place] = T(0.0f);
    }
  }
};

}  // namespace

LaunchError OpenLstmGates(DType dtype, const LstmPlace& at, const LstmCells& c, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    using A = Compute<T>;
    const CellsBody<T> body{
        at,         As<T>(c.g),      As<A>(c.product), As<T>(c.gates), As<A>(c.cells), As<A>(c.last_c),
        As<T>(c.h), As<T>(c.last_h), As<T>(c.outputs)};
    return ForEach(at.sizes.samples * at.sizes.units, body, queue);
  });
}

LaunchError KeepLstmOutputs(DType dtype, const LstmPlace& at, const void* product, void* h, void* last_h,
                            CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const KeepBody<T> body{at, As<Compute<T>>(product), As<T>(h), As<T>(last_h)};
    return ForEach(at.sizes.samples * at.sizes.outputs, body, queue);
  });
}

LaunchError AddLstmOutputGradients(DType dtype, const LstmPlace& at, const LstmOutputGradients& outputs,
                                   CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return ForEach(at.sizes.samples * at.sizes.outputs, ProjectedBody<T>{at, Of<T>(outputs)}, queue);
  });
}

LaunchError AddLstmGateGradients(DType dtype, const LstmPlace& at, const LstmGateGradients& gates,
                                 const LstmOutputGradients& outputs, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    using A = Compute<T>;
    const GatesBody<T> body{at,
                            As<T>(gates.gates),
                            As<A>(gates.cells),
                            As<A>(gates.c0),
                            As<A>(gates.doutputs),
                            As<T>(gates.dg),
                            As<T>(gates.dense_dg),
                            As<A>(gates.dcells),
                            As<T>(gates.cell_outputs),
                            Of<T>(outputs)};
    return ForEach(at.sizes.samples * at.sizes.units, body, queue);
  });
}

}  // namespace partita::launch
