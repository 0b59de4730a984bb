#include "ops/cuda/launch/optimizer.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/functors/sgd.h"

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
  int32_t* to;
  PARTITA_HOST_DEVICE void operator()(int64_t) const { *to = *from + 1; }
};

template <typename A>
struct ClipScaleBody {
  const A* sum_of_squares;
  double max_norm;
  A* scale;
  PARTITA_HOST_DEVICE void operator()(int64_t) const { *scale = partita::ClipScale(*sum_of_squares, max_norm); }
};

template <typename A>
struct SgdElement {
  SgdStep<A> step;
  PARTITA_HOST_DEVICE void operator()(Place, const A* in, A* out) const { out[0] = partita::Sgd(in[0], in[1], step); }
};

template <typename A>
struct SgdMomentumElement {
  SgdStep<A> step;
  PARTITA_HOST_DEVICE void operator()(Place, const A* in, A* out) const {
    out[0] = in[0];
    out[1] = in[2];
    partita::SgdMomentum(out[0], out[1], in[1], step);
  }
};

// The arguments of a launch hold 4096 bytes everywhere and 32,764 from compute capability 7.0 and CUDA 12.1 on; what is
// not used of them is copied as well.
inline constexpr int kFewTensors = 64, kManyTensors = 512;

template <typename T, bool kMomentum, int kTensors>
struct SgdBody {
  SgdLaunch sgd;
  int count;
  int64_t end[kTensors];  // index behind the tensor's last pack, counted over all tensors of the launch
  SgdTensor tensors[kTensors];

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
  PARTITA_HOST_DEVICE SgdStep<T> Step() const {
    const T* clip = static_cast<const T*>(sgd.clip);
    return {*static_cast<const T*>(sgd.rate), clip == nullptr ? T(1) : *clip, static_cast<T>(sgd.weight_decay),
            static_cast<T>(sgd.momentum), sgd.nesterov};
  }

  PARTITA_HOST_DEVICE void Update(const SgdTensor& t, int64_t pack) const {
    const T *w = static_cast<const T*>(t.w), *g = static_cast<const T*>(t.g), *m = static_cast<const T*>(t.m);
    T *new_w = static_cast<T*>(t.new_w), *new_m = static_cast<T*>(t.new_m);
    const Rows flat{1, t.elements};
    const bool packed = IsPackAligned(w) && IsPackAligned(g) && IsPackAligned(new_w);
    if constexpr (kMomentum) {
      const bool all = packed && IsPackAligned(m) && IsPackAligned(new_m);
      Elementwise<T, 3, 2, SgdMomentumElement<T>>{{w, g, m}, {new_w, new_m}, flat, all, {Step()}}(pack);
    } else {
      Elementwise<T, 2, 1, SgdElement<T>>{{w, g}, {new_w}, flat, packed, {Step()}}(pack);
    }
  }
};
static_assert(sizeof(SgdBody<float, true, kFewTensors>) <= 4000);
static_assert(sizeof(SgdBody<float, true, kManyTensors>) <= 32000);

template <typename T, bool kMomentum, int kTensors>
LaunchError UpdateAll(const SgdLaunch& sgd, const SgdTensor* tensors, int count, CudaQueue queue) {
  SgdBody<T, kMomentum, kTensors> body{};
  body.sgd = sgd;
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

LaunchError Increment(const int32_t* from, int32_t* to, CudaQueue queue) {
  return ForEach(1, IncrementBody{from, to}, queue);
}

LaunchError ClipScale(DType dtype, const void* sum_of_squares, double max_norm, void* scale, CudaQueue queue) {
  return WithWide(dtype, [&]<typename A>() {
    return ForEach(1, ClipScaleBody<A>{As<A>(sum_of_squares), max_norm, As<A>(scale)}, queue);
  });
}

LaunchError Sgd(DType dtype, const SgdLaunch& sgd, const SgdTensor* tensors, int count, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    const bool momentum = count > 0 && tensors[0].m != nullptr;
    if (count <= kFewTensors) {
      return momentum ? UpdateAll<T, true, kFewTensors>(sgd, tensors, count, queue)
                      : UpdateAll<T, false, kFewTensors>(sgd, tensors, count, queue);
    }
    return momentum ? UpdateAll<T, true, kManyTensors>(sgd, tensors, count, queue)
                    : UpdateAll<T, false, kManyTensors>(sgd, tensors, count, queue);
  });
}

}  // namespace partita::launch
