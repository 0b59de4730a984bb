#include "ops/cuda/launch/optimizer.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/functors/apply.h"
#include "ops/functors/clip.h"
#include "ops/functors/updates.h"

namespace partita::launch {
namespace {

template <typename A>
struct LearningRateBody {
  LearningRateSchedule schedule;
  const int32_t* step;
  A* rate;
  PARTITA_HOST_DEVICE void operator()(int64_t) const { *rate = static_cast<A>(schedule.Rate(*step)); }
};

struct IncrementBody {
  const int32_t* from;
  const int32_t* apply;
  int32_t* to;
  PARTITA_HOST_DEVICE void operator()(int64_t) const { *to = *from + (Applies(apply) ? 1 : 0); }
};

template <typename T>
struct AllFiniteBody {
  const T *loss, *sum_of_squares;
  int32_t* apply;
  PARTITA_HOST_DEVICE static bool Finite(const T* x) { return x == nullptr || IsFinite(static_cast<Compute<T>>(*x)); }
  PARTITA_HOST_DEVICE void operator()(int64_t) const { *apply = Finite(loss) && Finite(sum_of_squares) ? 1 : 0; }
};

template <typename A>
struct ClipScaleBody {
  const A* sum_of_squares;
  double max_norm;
  A* scale;
  PARTITA_HOST_DEVICE void operator()(int64_t) const { *scale = partita::ClipScale(*sum_of_squares, max_norm); }
};

template <typename F, typename T>
struct UpdateElement {
  ElementUpdate<F, T> update;
  // From w, g and the slots to w and the slots.
  PARTITA_HOST_DEVICE void operator()(RowChannel, const T* in, T* out) const {
    out[0] = in[0];
    for (int s = 0; s < kSlotsOf<F>; ++s) out[1 + s] = in[2 + s];
    update(out[0], in[1], out + 1);
  }
};

// The arguments of a launch hold 4096 bytes everywhere and 32,764 from compute capability 7.0 and CUDA 12.1 on; what is
// not used of them is copied as well.
template <typename F>
inline constexpr int kBytesOfTensor = sizeof(UpdateTensor<F>) + sizeof(int64_t);
template <typename F>
inline constexpr int kFewTensors = kBytesOfTensor<F> <= 56 ? 64 : 3700 / kBytesOfTensor<F>;
template <typename F>
inline constexpr int kManyTensors = kBytesOfTensor<F> <= 56 ? 512 : 31000 / kBytesOfTensor<F>;

template <typename F, typename T, int kTensors>
struct UpdateBody {
  F update;
  UpdateAddresses scalars;
  int count;
  int64_t end[kTensors];  // index behind the tensor's last pack, counted over all tensors of the launch
  UpdateTensor<F> tensors[kTensors];

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    int low = 0, high = count - 1;  // the first tensor that ends behind i
    while (low < high) {
      const int middle = (low + high) / 2;
      if (i < end[middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    Update(tensors[low], i - (low == 0 ? 0 : end[low - 1]));
  }

 private:
  PARTITA_HOST_DEVICE void Update(const UpdateTensor<F>& t, int64_t pack) const {
    constexpr int kSlots = kSlotsOf<F>;
    const ElementUpdate<F, T> step(
        update, ScalarsAt<F>(As<T>(scalars.rate), scalars.apply, As<T>(scalars.clip), scalars.iteration));
    Elementwise<T, 2 + kSlots, 1 + kSlots, UpdateElement<F, T>> all{
        {As<T>(t.w), As<T>(t.g)}, {As<T>(t.new_w)}, ChannelRows{1, t.elements}, true, {step}};
    for (int s = 0; s < kSlots; ++s) {
      all.in[2 + s] = As<T>(t.slots[s]);
      all.out[1 + s] = As<T>(t.new_slots[s]);
    }
    for (const T* in : all.in) all.packed = all.packed && IsPackAligned(in);
    for (const T* out : all.out) all.packed = all.packed && IsPackAligned(out);
    all(pack);
  }
};

template <typename F, typename T, int kTensors>
LaunchError UpdateAll(const F& update, const UpdateAddresses& scalars, const UpdateTensor<F>* tensors, int count,
                      CudaQueue queue) {
  using Body = UpdateBody<F, T, kTensors>;
  static_assert(sizeof(Body) <= (kTensors == kFewTensors<F> ? 4000 : 32000));
  Body body{};
  body.update = update;
  body.scalars = scalars;
  int64_t packs = 0;
  for (int k = 0; k < count; ++k) {
    packs += CeilDivide(tensors[k].elements, kPackWidth<T>);
    body.tensors[body.count] = tensors[k];
    body.end[body.count++] = packs;
    if (body.count < kTensors && k + 1 < count) continue;
    if (const LaunchError error = ForEach(packs, body, queue); error != kLaunched) return error;
    body.count = 0;
    packs = 0;
  }
  return kLaunched;
}

}  // namespace

LaunchError LearningRate(DType dtype, const LearningRateSchedule& schedule, const int32_t* step, void* rate,
                         CudaQueue queue) {
  return WithWide(dtype, [&]<typename A>() {
    return ForEach(1, LearningRateBody<A>{schedule, step, As<A>(rate)}, queue);
  });
}

LaunchError Increment(const int32_t* from, const int32_t* apply, int32_t* to, CudaQueue queue) {
  return ForEach(1, IncrementBody{from, apply, to}, queue);
}

LaunchError AllFinite(DType dtype, const void* loss, const void* sum_of_squares, int32_t* apply, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return ForEach(1, AllFiniteBody<T>{As<T>(loss), As<T>(sum_of_squares), apply}, queue);
  });
}

LaunchError ClipScale(DType dtype, const void* sum_of_squares, double max_norm, void* scale, CudaQueue queue) {
  return WithWide(dtype, [&]<typename A>() {
    return ForEach(1, ClipScaleBody<A>{As<A>(sum_of_squares), max_norm, As<A>(scale)}, queue);
  });
}

template <typename F>
LaunchError Update(DType dtype, const F& update, const UpdateAddresses& scalars, const UpdateTensor<F>* tensors,
                   int count, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    return count <= kFewTensors<F> ? UpdateAll<F, T, kFewTensors<F>>(update, scalars, tensors, count, queue)
                                   : UpdateAll<F, T, kManyTensors<F>>(update, scalars, tensors, count, queue);
  });
}

#define PARTITA_INSTANTIATE(F) \
  template LaunchError Update(DType, const F&, const UpdateAddresses&, const UpdateTensor<F>*, int, CudaQueue);
PARTITA_UPDATES(PARTITA_INSTANTIATE)
#undef PARTITA_INSTANTIATE

}  // namespace partita::launch
