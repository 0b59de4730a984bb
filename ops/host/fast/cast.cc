// Fast casts between f32 and bf16: of activations where types meet, and of all weights in every step. And bytes of
// pictures, looked up: the numbers of all bytes of each channel are made once.
#include <vector>

#include "ops/functors/pixels.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/widened.h"
#include "ops/values/pixel_scale.h"

namespace partita {
namespace {

constexpr int64_t kBytes = 256;

// Of each channel in turn.
std::vector<float> TableOf(const PixelScale& scale) {
  std::vector<float> table;
  for (int64_t c = 0; c < scale.channels; ++c) {
    for (int64_t byte = 0; byte < kBytes; ++byte) {
      table.push_back(PixelValue<float>(static_cast<uint8_t>(byte), scale.mean[c], scale.deviation[c]));
    }
  }
  return table;
}

// kChannels: 0 if the compiler is not to know them.
template <int64_t kChannels>
void LookUp(const float* table, const uint8_t* x, float* y, int64_t pixels, int64_t channels) {
  const int64_t count = kChannels == 0 ? channels : kChannels;
  for (int64_t p = 0; p < pixels; ++p) {
    for (int64_t c = 0; c < count; ++c) y[p * count + c] = table[c * kBytes + x[p * count + c]];
  }
}

void LookUpPixels(const float* table, const uint8_t* x, float* y, int64_t pixels, int64_t channels) {
  if (channels == 1) return LookUp<1>(table, x, y, pixels, channels);
  if (channels == 3) return LookUp<3>(table, x, y, pixels, channels);
  LookUp<0>(table, x, y, pixels, channels);
}

}  // namespace

absl::StatusOr<PreparedKernel> FastCast(const LocalNode& node) {
  const int64_t elements = node.outputs[0].elements();
  const DType from = Input(node, 0).dtype, to = node.outputs[0].dtype;
  if (from == DType::kF32 && to == DType::kBF16) {
    return Prepared([elements](const KernelArguments& a) {
      ParallelRange(elements, [&](int64_t begin, int64_t end) {
        RoundRun(In<float>(a, 0) + begin, Out<Bf16>(a, 0) + begin, end - begin);
      });
    });
  }
  if (from == DType::kBF16 && to == DType::kF32) {
    return Prepared([elements](const KernelArguments& a) {
      ParallelRange(elements, [&](int64_t begin, int64_t end) {
        WidenRun(In<Bf16>(a, 0) + begin, Out<float>(a, 0) + begin, end - begin);
      });
    });
  }
  return InvalidArgument("it is from {} to {}, allowed are f32 and bf16", Name(from), Name(to));
}

absl::StatusOr<PreparedKernel> FastPixels(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  ASSIGN_OR_RETURN(const PixelScale scale, LocalPixelScale(node));
  const int64_t channels = scale.channels, pixels = node.outputs[0].elements() / channels;
  return Prepared([=, table = TableOf(scale)](const KernelArguments& a) {
    ParallelRange(
        pixels,
        [&](int64_t begin, int64_t end) {
          LookUpPixels(table.data(), In<uint8_t>(a, 0) + begin * channels, Out<float>(a, 0) + begin * channels,
                       end - begin, channels);
        },
        channels);
  });
}

}  // namespace partita
