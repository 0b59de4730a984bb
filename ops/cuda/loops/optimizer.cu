#include "ops/cuda/launch/optimizer.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/member_table.h"
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

template <typename F, typename T, int kTensors>
struct UpdateBody {
  F update;
  UpdateAddresses scalars;
  MemberTable<UpdateTensor<F>, kTensors> table;  // an index is a pack

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    const auto [member, pack] = table.PlaceOf(i);
    Update(table.members[member], pack);
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
  static_assert(kFitsArguments<Body, UpdateTensor<F>, kTensors>);
  return ForTables<kTensors>(
      tensors, count, [](const UpdateTensor<F>& tensor) { return CeilDivide(tensor.elements, kPackWidth<T>); },
      [&](const MemberTable<UpdateTensor<F>, kTensors>& table) {
        return ForEach(table.indices(), Body{update, scalars, table}, queue);
      });
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
    constexpr int kFew = kFewMembers<UpdateTensor<F>>, kMany = kManyMembers<UpdateTensor<F>>;
    return count <= kFew ? UpdateAll<F, T, kFew>(update, scalars, tensors, count, queue)
                         : UpdateAll<F, T, kMany>(update, scalars, tensors, count, queue);
  });
}

#define PARTITA_INSTANTIATE(F) \
  template LaunchError Update(DType, const F&, const UpdateAddresses&, const UpdateTensor<F>*, int, CudaQueue);
PARTITA_UPDATES(PARTITA_INSTANTIATE)
#undef PARTITA_INSTANTIATE

}  // namespace partita::launch
