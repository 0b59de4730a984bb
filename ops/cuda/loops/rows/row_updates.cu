#include "ops/cuda/launch/row_updates.h"
#include "ops/cuda/loops/divisor.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/given.h"
#include "ops/functors/updates/row_updates.h"

namespace partita::launch {
namespace {

template <typename F, typename T>
struct RowUpdateBody {
  RowUpdate<F> update;
  Divisor channels;

  struct Given {
    ElementUpdate<F, T> element;
  };
  PARTITA_HOST_DEVICE void Make(Given& given) const {
    const UpdateAddresses& s = update.scalars;
    given.element = {update.set.update, ScalarsAt<F>(As<T>(s.rate), s.apply, As<T>(update.set.clip), s.iteration)};
  }

  PARTITA_HOST_DEVICE void operator()(int64_t i, const Given& given) const {
    const auto [k, channel] = channels(i);
    const int64_t row = update.table.RowOf(update.ids[k]);
    if (row < 0) return;
    const int64_t at = row * channels.by() + channel;
    T slots[UpdateTensor<F>::kPlaces] = {};
    for (int s = 0; s < kSlotsOf<F>; ++s) slots[s] = As<T>(update.slots[s])[at];
    given.element(As<T>(update.w)[at], As<T>(update.rows)[i], slots);
    for (int s = 0; s < kSlotsOf<F>; ++s) As<T>(update.slots[s])[at] = slots[s];
  }
};

}  // namespace

template <typename F>
LaunchError UpdateRows(DType dtype, const RowUpdate<F>& update, CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    return ForEachGiven(update.count * update.channels, RowUpdateBody<F, T>{update, Divisor(update.channels)}, queue);
  });
}

#define PARTITA_INSTANTIATE(F) template LaunchError UpdateRows(DType, const RowUpdate<F>&, CudaQueue);
PARTITA_ROW_UPDATES(PARTITA_INSTANTIATE)
#undef PARTITA_INSTANTIATE

}  // namespace partita::launch
