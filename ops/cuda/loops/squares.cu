#include <vector>

#include "ops/cuda/launch/reductions.h"
#include "ops/cuda/loops/channel_memory.h"
#include "ops/cuda/loops/column_sums.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/member_table.h"

namespace partita::launch {
namespace {

using Values = double[kBlockThreads];

// What a block does between two barriers. A block adds up the squares of a chunk; the last block of a tensor adds up
// its chunks; the last block of all adds up the tensors. An index of the table is a chunk.
template <typename T, int kTensors>
struct Squares {
  using Table = MemberTable<SquaredTensor, kTensors>;
  Table table;
  double *partial, *sums;  // of chunks, of tensors
  int64_t first_counter;
  bool continues;  // y holds the sum of the tables before
  T* y;

  PARTITA_HOST_DEVICE int64_t ChunksOf(int member) const {
    return table.end[member] - (member == 0 ? 0 : table.end[member - 1]);
  }
  PARTITA_HOST_DEVICE int64_t CounterOf(int member) const { return first_counter + 1 + member; }

  PARTITA_HOST_DEVICE double OfChunk(const typename Table::Place& place, int thread) const {
    const SquaredTensor& tensor = table.members[place.member];
    const int64_t begin = place.index * tensor.chunk_elements;
    const int64_t end = Smaller(tensor.elements, begin + tensor.chunk_elements);
    return tensor.narrow ? OfRange(As<Bf16>(tensor.x), begin + thread, end)
                         : OfRange(As<T>(tensor.x), begin + thread, end);
  }

  PARTITA_HOST_DEVICE double OfTensor(int member, int thread) const {
    double sum = 0;
    for (int64_t i = table.end[member] - ChunksOf(member) + thread; i < table.end[member]; i += kBlockThreads) {
      sum += LoadOfOtherBlock(partial + i);
    }
    return sum;
  }

  // The sum of the tensor that this thread loads of those from `first` on.
  PARTITA_HOST_DEVICE double SumAt(int first, int thread) const {
    return first + thread < table.count ? LoadOfOtherBlock(sums + first + thread) : 0;
  }

  // Adds the sums that the threads have loaded to y. For one thread.
  PARTITA_HOST_DEVICE void AddTo(int first, const Values& values) const {
    T total = first > 0 || continues ? *y : T(0);
    for (int k = 0; k < kBlockThreads && first + k < table.count; ++k) total += static_cast<T>(values[k]);
    *y = total;
  }

  // Adds the values of the second half of 2 * `half` threads to those of the first.
  PARTITA_HOST_DEVICE static void Fold(int half, int thread, Values& values) {
    if (thread < half) values[thread] += values[thread + half];
  }

 private:
  template <typename Stored>
  PARTITA_HOST_DEVICE static double OfRange(const Stored* x, int64_t begin, int64_t end) {
    double sum = 0;
    for (int64_t i = begin; i < end; i += kBlockThreads) {
      const auto value = static_cast<double>(static_cast<Compute<Stored>>(x[i]));
      sum += value * value;
    }
    return sum;
  }
};

#ifdef __CUDACC__

template <typename Steps>
__device__ void FoldAll(const Steps& steps, int thread, Values& values) {
  __syncthreads();
  for (int half = kBlockThreads / 2; half > 0; half /= 2) {
    steps.Fold(half, thread, values);
    __syncthreads();
  }
}

// All conditions around barriers are the same for all threads of a block.
template <typename Steps>
__global__ void __launch_bounds__(kBlockThreads) SquaresKernel(int64_t blocks, const __grid_constant__ Steps steps) {
  __shared__ Values values;
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const auto place = steps.table.PlaceOf(block);
    const int64_t chunks = steps.ChunksOf(place.member);
    values[thread] = steps.OfChunk(place, thread);
    FoldAll(steps, thread, values);
    if (chunks > 1) {
      if (thread == 0) steps.partial[block] = values[0];
      if (!IsLast(steps.CounterOf(place.member), chunks)) continue;
      values[thread] = steps.OfTensor(place.member, thread);
      FoldAll(steps, thread, values);
    }
    if (thread == 0) steps.sums[place.member] = values[0];
    if (!IsLast(steps.first_counter, steps.table.count)) continue;
    for (int first = 0; first < steps.table.count; first += kBlockThreads) {
      values[thread] = steps.SumAt(first, thread);
      __syncthreads();
      if (thread == 0) steps.AddTo(first, values);
      __syncthreads();  // the first thread has read what the next sums overwrite
    }
  }
}

template <typename Steps>
LaunchError AddUp(const Steps& steps, CudaQueue queue) {
  const int64_t blocks = steps.table.indices();
  return LaunchLoop<Steps, SquaresKernel<Steps>>({Blocks(blocks), kBlockThreads, 1}, blocks, steps, queue);
}

#else

template <typename Steps, typename F>
double Folded(const Steps& steps, const F& of_thread) {
  Values values;
  for (int thread = 0; thread < kBlockThreads; ++thread) values[thread] = of_thread(thread);
  for (int half = kBlockThreads / 2; half > 0; half /= 2) {
    for (int thread = 0; thread < half; ++thread) steps.Fold(half, thread, values);
  }
  return values[0];
}

template <typename Steps>
LaunchError AddUp(const Steps& steps, CudaQueue queue) {
  const int64_t blocks = steps.table.indices();
  if (const LaunchError error = Ask(blocks, kBlockThreads, 1, queue); error != kLaunched) return error;
  std::vector<int64_t> arrived(static_cast<size_t>(steps.table.count));
  for (int64_t block = blocks; block-- > 0;) {
    const auto place = steps.table.PlaceOf(block);
    const int64_t chunks = steps.ChunksOf(place.member);
    double sum = Folded(steps, [&](int thread) { return steps.OfChunk(place, thread); });
    if (chunks > 1) {
      steps.partial[block] = sum;
      if (++arrived[static_cast<size_t>(place.member)] < chunks) continue;
      sum = Folded(steps, [&](int thread) { return steps.OfTensor(place.member, thread); });
    }
    steps.sums[place.member] = sum;
  }
  for (int first = 0; first < steps.table.count; first += kBlockThreads) {
    Values values;
    for (int thread = 0; thread < kBlockThreads; ++thread) values[thread] = steps.SumAt(first, thread);
    steps.AddTo(first, values);
  }
  return kLaunched;
}

#endif  // __CUDACC__

template <typename T, int kTensors>
LaunchError SumAll(const SquaredTensor* tensors, int count, T* y, const SumScratch& scratch, CudaQueue queue) {
  using Steps = Squares<T, kTensors>;
  static_assert(kFitsArguments<Steps, SquaredTensor, kTensors>);
  bool continues = false;
  return ForTables<kTensors>(
      tensors, count,
      [](const SquaredTensor& tensor) { return Larger(1, CeilDivide(tensor.elements, tensor.chunk_elements)); },
      [&](const MemberTable<SquaredTensor, kTensors>& table) {
        double* const sums = As<double>(scratch.workspace);
        const Steps steps{table, sums + table.count, sums, scratch.first_counter, continues, y};
        continues = true;
        return AddUp(steps, queue);
      });
}

}  // namespace

LaunchError SumOfSquares(DType dtype, const SquaredTensor* tensors, int count, void* y, const SumScratch& scratch,
                         CudaQueue queue) {
  return WithWide(dtype, [&]<typename T>() {
    constexpr int kFew = kFewMembers<SquaredTensor>, kMany = kManyMembers<SquaredTensor>;
    return count <= kFew ? SumAll<T, kFew>(tensors, count, As<T>(y), scratch, queue)
                         : SumAll<T, kMany>(tensors, count, As<T>(y), scratch, queue);
  });
}

}  // namespace partita::launch
