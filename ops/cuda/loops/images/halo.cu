#include "ops/cuda/launch/halo.h"
#include "ops/cuda/loops/elementwise.h"

namespace partita::launch {
namespace {

template <typename T>
struct AddPartBody {
  GlobalBlock common, part_block, sum_block;
  const T* part;
  T* sum;

  PARTITA_HOST_DEVICE void operator()(int64_t index) const {
    int64_t from = 0, to = 0, from_stride = 1, to_stride = 1;
    for (int d = common.rank - 1; d >= 0; --d) {
      const int64_t at = common.offset[d] + index % common.size[d];
      index /= common.size[d];
      from += (at - part_block.offset[d]) * from_stride;
      to += (at - sum_block.offset[d]) * to_stride;
      from_stride *= part_block.size[d];
      to_stride *= sum_block.size[d];
    }
    sum[to] = static_cast<T>(static_cast<Compute<T>>(sum[to]) + static_cast<Compute<T>>(part[from]));
  }
};

}  // namespace

LaunchError AddPart(DType dtype, const GlobalBlock& common, const GlobalBlock& part_block, const void* part,
                    const GlobalBlock& sum_block, void* sum, CudaQueue queue) {
  int64_t elements = 1;
  for (int d = 0; d < common.rank; ++d) elements *= common.size[d];
  return WithFloating(dtype, [&]<typename T>() {
    return ForEach(elements, AddPartBody<T>{common, part_block, sum_block, As<T>(part), As<T>(sum)}, queue);
  });
}

}  // namespace partita::launch
