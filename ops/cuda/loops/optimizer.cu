#include "ops/cuda/launch/optimizer.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/given.h"
#include "ops/cuda/loops/member_table.h"
#include "ops/functors/apply.h"
#include "ops/functors/clip.h"
#include "ops/functors/updates/updates.h"

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
  uint64_t* refused;
  int32_t* apply;
  PARTITA_HOST_DEVICE static bool Finite(const T* x) { return x == nullptr || IsFinite(static_cast<Compute<T>>(*x)); }
  PARTITA_HOST_DEVICE void operator()(int64_t) const {
    *apply = ApplyBehind(Finite(loss) && Finite(sum_of_squares), refused);
  }
};

template <typename A>
struct ClipScaleBody {
  const A* sum_of_squares;
  double max_norm;
  A* scale;
  PARTITA_HOST_DEVICE void operator()(int64_t) const { *scale = partita::ClipScale(*sum_of_squares, max_norm); }
};

template <typename A>
struct StepScalarsBody {
  LearningRateSchedule schedule;
  double max_norm;
  StepScalarAddresses at;
  PARTITA_HOST_DEVICE void operator()(int64_t) const {
    const int32_t iteration = *at.iteration;
    AllFiniteBody<A>{As<A>(at.loss), As<A>(at.sum_of_squares), at.refused, at.apply}(0);
    *As<A>(at.rate) = static_cast<A>(schedule.Rate(iteration));
    *at.next = iteration + *at.apply;
    if (at.clip != nullptr) ClipScaleBody<A>{As<A>(at.sum_of_squares), max_norm, As<A>(at.clip)}(0);
  }
};

// As many elements as one access of T moves. `count` of them are there; the others are not touched.
template <typename T, typename Stored>
PARTITA_HOST_DEVICE void LoadRun(const Stored* from, int count, T (&to)[kPackWidth<T>]) {
  struct alignas(sizeof(Stored) * kPackWidth<T>) Run {
    Stored at[kPackWidth<T>];
  };
  if (count == kPackWidth<T> && reinterpret_cast<uintptr_t>(from) % alignof(Run) == 0) {
    const Run run = *reinterpret_cast<const Run*>(from);
    for (int k = 0; k < kPackWidth<T>; ++k) to[k] = static_cast<T>(run.at[k]);
    return;
  }
  for (int k = 0; k < kPackWidth<T>; ++k) {
    if (k < count) to[k] = static_cast<T>(from[k]);
  }
}

template <typename T, typename Stored>
PARTITA_HOST_DEVICE void StoreRun(const T (&from)[kPackWidth<T>], int count, Stored* to) {
  struct alignas(sizeof(Stored) * kPackWidth<T>) Run {
    Stored at[kPackWidth<T>];
  };
  if (count == kPackWidth<T> && reinterpret_cast<uintptr_t>(to) % alignof(Run) == 0) {
    Run run;
    for (int k = 0; k < kPackWidth<T>; ++k) run.at[k] = static_cast<Stored>(from[k]);
    *reinterpret_cast<Run*>(to) = run;
    return;
  }
  for (int k = 0; k < kPackWidth<T>; ++k) {
    if (k < count) to[k] = static_cast<Stored>(from[k]);
  }
}

template <typename F>
struct UpdateSets {
  int count;
  UpdateSet<F> sets[kUpdateSets];
};

template <typename F, typename T, int kTensors>
struct UpdateBody {
  UpdateSets<F> sets;
  UpdateAddresses scalars;
  MemberTable<UpdateTensor<F>, kTensors> table;  // an index is a pack

  // What an optimizer derives from the step's scalars, for each set.
  struct Given {
    ElementUpdate<F, T> of_set[kUpdateSets];
  };
  PARTITA_HOST_DEVICE void Make(Given& given) const {
    for (int s = 0; s < sets.count; ++s) {
      const UpdateSet<F>& set = sets.sets[s];
      given.of_set[s] = {set.update,
                         ScalarsAt<F>(As<T>(scalars.rate), scalars.apply, As<T>(set.clip), scalars.iteration)};
    }
  }

  PARTITA_HOST_DEVICE void operator()(int64_t i, const Given& given) const {
    const auto [member, pack] = table.PlaceOf(i);
    const UpdateTensor<F>& tensor = table.members[member];
    if constexpr (ReadsNorms<F>) {
      ElementUpdate<F, T> own = given.of_set[tensor.set];
      own.SetNorms(*As<T>(tensor.w_squares), *As<T>(tensor.g_squares));
      Update(tensor, pack * kWidth, own);
    } else {
      Update(tensor, pack * kWidth, given.of_set[tensor.set]);
    }
  }

 private:
  static constexpr int kWidth = kPackWidth<T>, kPlaces = UpdateTensor<F>::kPlaces;

  // Of the elements from `begin` on.
  PARTITA_HOST_DEVICE static void Update(const UpdateTensor<F>& t, int64_t begin, const ElementUpdate<F, T>& given) {
    const int count = t.elements - begin < kWidth ? static_cast<int>(t.elements - begin) : kWidth;
    T w[kWidth] = {}, g[kWidth] = {}, slots[kPlaces][kWidth] = {};
    LoadRun(As<T>(t.w) + begin, count, w);
    if (t.narrow_gradient) {
      LoadRun(As<Bf16>(t.g) + begin, count, g);
    } else {
      LoadRun(As<T>(t.g) + begin, count, g);
    }
    for (int s = 0; s < kSlotsOf<F>; ++s) LoadRun(As<T>(t.slots[s]) + begin, count, slots[s]);
    for (int k = 0; k < kWidth; ++k) {
      T own[kPlaces];
      for (int s = 0; s < kPlaces; ++s) own[s] = slots[s][k];
      given(w[k], g[k], own);
      for (int s = 0; s < kPlaces; ++s) slots[s][k] = own[s];
    }
    StoreRun(w, count, As<T>(t.new_w) + begin);
    for (int s = 0; s < kSlotsOf<F>; ++s) StoreRun(slots[s], count, As<T>(t.new_slots[s]) + begin);
    if (t.rounded != nullptr) StoreRun(w, count, As<Bf16>(t.rounded) + begin);
  }
};

template <typename F, typename T, int kTensors>
LaunchError UpdateAll(const UpdateSets<F>& sets, const UpdateAddresses& scalars, const UpdateTensor<F>* tensors,
                      int count, CudaQueue queue) {
  using Body = UpdateBody<F, T, kTensors>;
  static_assert(kFitsArguments<Body, UpdateTensor<F>, kTensors>);
  return ForTables<kTensors>(
      tensors, count, [](const UpdateTensor<F>& tensor) { return CeilDivide(tensor.elements, kPackWidth<T>); },
      [&](const MemberTable<UpdateTensor<F>, kTensors>& table) {
        return ForEachGiven(table.indices(), Body{sets, scalars, table}, queue);
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

LaunchError AllFinite(DType dtype, const void* loss, const void* sum_of_squares, uint64_t* refused, int32_t* apply,
                      CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    return ForEach(1, AllFiniteBody<T>{As<T>(loss), As<T>(sum_of_squares), refused, apply}, queue);
  });
}

LaunchError StepScalars(DType dtype, const LearningRateSchedule& schedule, double max_norm,
                        const StepScalarAddresses& scalars, CudaQueue queue) {
  return WithWide(dtype, [&]<typename A>() {
    return ForEach(1, StepScalarsBody<A>{schedule, max_norm, scalars}, queue);
  });
}

LaunchError ClipScale(DType dtype, const void* sum_of_squares, double max_norm, void* scale, CudaQueue queue) {
  return WithWide(dtype, [&]<typename A>() {
    return ForEach(1, ClipScaleBody<A>{As<A>(sum_of_squares), max_norm, As<A>(scale)}, queue);
  });
}

template <typename F>
LaunchError Update(DType dtype, const UpdateSet<F>* sets, int set_count, const UpdateAddresses& scalars,
                   const UpdateTensor<F>* tensors, int count, CudaQueue queue) {
  UpdateSets<F> all{};
  for (; all.count < set_count; ++all.count) all.sets[all.count] = sets[all.count];
  return WithWide(dtype, [&]<typename T>() {
    constexpr int kSets = sizeof(UpdateSets<F>);
    constexpr int kFew = kFewMembers<UpdateTensor<F>, kSets>, kMany = kManyMembers<UpdateTensor<F>, kSets>;
    return count <= kFew ? UpdateAll<F, T, kFew>(all, scalars, tensors, count, queue)
                         : UpdateAll<F, T, kMany>(all, scalars, tensors, count, queue);
  });
}

#define PARTITA_INSTANTIATE(F)                                                                                      \
  template LaunchError Update(DType, const UpdateSet<F>*, int, const UpdateAddresses&, const UpdateTensor<F>*, int, \
                              CudaQueue);
PARTITA_UPDATES(PARTITA_INSTANTIATE)
#undef PARTITA_INSTANTIATE

}  // namespace partita::launch
