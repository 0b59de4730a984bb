// Convolutions are products of matrices: the pixels that each output sees are copied to a row of a matrix of patches,
// some thousand rows at a time (im2col), which meets the weights.
#include "tests/ops/cuda/cudnn/host_convolution.h"

#include <algorithm>
#include <limits>

#include "ops/host/products/gemm.h"
#include "runtime/base/bf16.h"

namespace partita::fake_cudnn {
namespace {

constexpr int64_t kPatchElements = 1 << 18;  // that are held at a time

// A tensor at its address.
struct View {
  View(const Tensor& tensor, void* address) : t(tensor), data(address) {}

  // `count` channels of a pixel, from `channel` on.
  int64_t At(int64_t n, int64_t channel, int64_t row, int64_t column) const {
    return n * t.stride[0] + channel + row * t.stride[2] + column * t.stride[3];
  }
  void Load(int64_t at, int64_t count, float* to) const {
    if (t.narrow) {
      const Bf16* const from = static_cast<const Bf16*>(data) + at;
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
    } else {
      std::copy_n(static_cast<const float*>(data) + at, count, to);
    }
  }
  void Store(int64_t at, int64_t count, const float* from) const {
    if (t.narrow) {
      Bf16* const to = static_cast<Bf16*>(data) + at;
      for (int64_t i = 0; i < count; ++i) to[i] = Bf16(from[i]);
    } else {
      std::copy_n(from, count, static_cast<float*>(data) + at);
    }
  }

  const Tensor& t;
  void* data;
};

std::vector<float>& GemmWorkspace() {
  thread_local std::vector<float> workspace(static_cast<size_t>(kGemmWorkspaceElements) + 16);
  return workspace;
}

void Multiply(int64_t m, int64_t n, int64_t k, MatrixView<float> a, MatrixView<float> b, float* c) {
  float* const memory = GemmWorkspace().data();
  Gemm(m, n, k, a, b, c, n, false, memory + (-reinterpret_cast<uintptr_t>(memory) % 64) / sizeof(float));
}

// y = x * w in one of the three directions.
class Convolution {
 public:
  Convolution(const Step& step, const View& x, const View& w, const View& y)
      : s_(step),
        x_(x),
        w_(w),
        y_(y),
        groups_(x.t.size[1] / w.t.size[1]),
        in_(w.t.size[1]),
        out_(w.t.size[0] / groups_),
        taps_(w.t.size[2] * w.t.size[3]),
        depth_(taps_ * in_),
        pixels_(y.t.size[2] * y.t.size[3]),
        runs_(groups_ == 1 && step.dilation[1] == 1 && x.t.stride[3] == in_) {}

  void Run() {
    if (s_.kind == Kind::kForward) {
      for (int64_t g = 0; g < groups_; ++g) Forward(g);
    } else if (s_.kind == Kind::kInputGrad) {
      for (int64_t n = 0; n < x_.t.size[0]; ++n) InputGrad(n);
    } else {
      for (int64_t g = 0; g < groups_; ++g) WeightGrad(g);
    }
  }

 private:
  // Calls f(first, count) for blocks of [0, all) that are few enough for the patches.
  template <typename F>
  void InBlocks(int64_t all, const F& f) const {
    const int64_t most = std::max<int64_t>(64, kPatchElements / depth_);
    for (int64_t first = 0; first < all; first += most) f(first, std::min(most, all - first));
  }

  // What output pixel i of all samples sees: calls f(n, tap, taps, row, column) for places of the window in the image,
  // of which `taps` lie one behind the other in the image and in a patch.
  template <typename F>
  void ForWindow(int64_t i, const F& f) const {
    const int64_t n = i / pixels_, row = i % pixels_ / y_.t.size[3], column = i % y_.t.size[3];
    const int64_t left = column * s_.stride[1] - s_.before[1], width = w_.t.size[3], step = s_.dilation[1];
    const int64_t begin = left >= 0 ? 0 : (-left + step - 1) / step;
    const int64_t end = left >= x_.t.size[3] ? 0 : std::min(width, (x_.t.size[3] - 1 - left) / step + 1);
    const int64_t taps = runs_ ? end - begin : 1;
    for (int64_t p = 0; p < w_.t.size[2]; ++p) {
      const int64_t r = row * s_.stride[0] + p * s_.dilation[0] - s_.before[0];
      if (r < 0 || r >= x_.t.size[2]) continue;
      for (int64_t q = begin; q < end; q += taps) f(n, p * width + q, taps, r, left + q * step);
    }
  }

  // Rows of patches, [pixel, tap, channel], of group g.
  void Gather(int64_t g, int64_t first, int64_t count, std::vector<float>& patches) const {
    patches.assign(static_cast<size_t>(count * depth_), 0.0f);
    for (int64_t i = 0; i < count; ++i) {
      float* const patch = patches.data() + i * depth_;
      ForWindow(first + i, [&](int64_t n, int64_t tap, int64_t taps, int64_t row, int64_t column) {
        x_.Load(x_.At(n, g * in_, row, column), taps * in_, patch + tap * in_);
      });
    }
  }

  // [o, tap, channel] of group g.
  std::vector<float> Weights(int64_t g) const {
    std::vector<float> weights(static_cast<size_t>(out_ * depth_));
    for (int64_t o = 0; o < out_; ++o) {
      for (int64_t tap = 0; tap < taps_; ++tap) {
        w_.Load(WeightAt(g, o, tap), in_, weights.data() + o * depth_ + tap * in_);
      }
    }
    return weights;
  }
  int64_t WeightAt(int64_t g, int64_t o, int64_t tap) const {
    return w_.At(g * out_ + o, 0, tap / w_.t.size[3], tap % w_.t.size[3]);
  }

  int64_t OutputAt(int64_t g, int64_t i) const {
    return y_.At(i / pixels_, g * out_, i % pixels_ / y_.t.size[3], i % y_.t.size[3]);
  }
  std::vector<float> Outputs(int64_t g, int64_t first, int64_t count) const {
    std::vector<float> rows(static_cast<size_t>(count * out_));
    for (int64_t i = 0; i < count; ++i) y_.Load(OutputAt(g, first + i), out_, rows.data() + i * out_);
    return rows;
  }

  // alpha sums + beta what is there.
  void Blend(const View& to, int64_t at, int64_t count, float* sums) const {
    if (s_.alpha != 1) {
      for (int64_t i = 0; i < count; ++i) sums[i] *= s_.alpha;
    }
    if (s_.beta != 0) {
      std::vector<float> before(static_cast<size_t>(count));
      to.Load(at, count, before.data());
      for (int64_t i = 0; i < count; ++i) sums[i] += s_.beta * before[i];
    }
    to.Store(at, count, sums);
  }

  void Forward(int64_t g) const {
    const std::vector<float> weights = Weights(g);
    std::vector<float> patches, sums;
    InBlocks(y_.t.size[0] * pixels_, [&](int64_t first, int64_t count) {
      Gather(g, first, count, patches);
      sums.resize(static_cast<size_t>(count * out_));
      Multiply(count, out_, depth_, {patches.data(), depth_, 1}, {weights.data(), 1, depth_}, sums.data());
      for (int64_t i = 0; i < count; ++i) Blend(y_, OutputAt(g, first + i), out_, sums.data() + i * out_);
    });
  }

  // Of one sample: every output pixel adds to what it sees.
  void InputGrad(int64_t n) const {
    const int64_t channels = x_.t.size[1], columns = x_.t.size[3];
    std::vector<float> image(static_cast<size_t>(x_.t.size[2] * columns * channels)), patches;
    for (int64_t g = 0; g < groups_; ++g) {
      const std::vector<float> weights = Weights(g);
      InBlocks(pixels_, [&](int64_t first, int64_t count) {
        const std::vector<float> dy = Outputs(g, n * pixels_ + first, count);
        patches.resize(static_cast<size_t>(count * depth_));
        Multiply(count, depth_, out_, {dy.data(), out_, 1}, {weights.data(), depth_, 1}, patches.data());
        for (int64_t i = 0; i < count; ++i) {
          const float* const patch = patches.data() + i * depth_;
          ForWindow(n * pixels_ + first + i, [&](int64_t, int64_t tap, int64_t taps, int64_t row, int64_t column) {
            float* const to = image.data() + (row * columns + column) * channels + g * in_;
            for (int64_t c = 0; c < taps * in_; ++c) to[c] += patch[tap * in_ + c];
          });
        }
      });
    }
    for (int64_t i = 0; i < x_.t.size[2] * columns; ++i) {
      Blend(x_, x_.At(n, 0, i / columns, i % columns), channels, image.data() + i * channels);
    }
  }

  void WeightGrad(int64_t g) const {
    std::vector<double> total(static_cast<size_t>(out_ * depth_));
    std::vector<float> patches, sums(total.size());
    InBlocks(y_.t.size[0] * pixels_, [&](int64_t first, int64_t count) {
      const std::vector<float> dy = Outputs(g, first, count);
      Gather(g, first, count, patches);
      Multiply(out_, depth_, count, {dy.data(), 1, out_}, {patches.data(), depth_, 1}, sums.data());
      for (size_t i = 0; i < total.size(); ++i) total[i] += sums[i];
    });
    std::copy(total.begin(), total.end(), sums.begin());
    for (int64_t o = 0; o < out_; ++o) {
      for (int64_t tap = 0; tap < taps_; ++tap) {
        Blend(w_, WeightAt(g, o, tap), in_, sums.data() + o * depth_ + tap * in_);
      }
    }
  }

  const Step& s_;
  const View x_, w_, y_;
  const int64_t groups_, in_, out_;      // channels of a group
  const int64_t taps_, depth_, pixels_;  // places of the window, elements of a patch, outputs of a sample
  const bool runs_;                      // places of a row of the window lie one behind the other
};

// y = relu(x), or y = x + w.
void ComputePointwise(const Step& step, const View& x, const View& w, const View& y) {
  const int64_t channels = y.t.size[1];
  std::vector<float> row(static_cast<size_t>(channels)), added(static_cast<size_t>(channels));
  for (int64_t i = 0; i < y.t.size[0] * y.t.size[2] * y.t.size[3]; ++i) {
    const int64_t c = i % y.t.size[3], r = i / y.t.size[3] % y.t.size[2], n = i / y.t.size[3] / y.t.size[2];
    x.Load(x.At(n, 0, r, c), channels, row.data());
    if (step.kind == Kind::kRelu) {
      for (float& value : row) value = value < 0 ? 0 : value;
    } else {
      const auto of_w = [&](int d, int64_t at) { return w.t.size[d] == 1 ? 0 : at; };
      w.Load(w.At(of_w(0, n), 0, of_w(2, r), of_w(3, c)), w.t.size[1], added.data());
      for (int64_t k = 0; k < channels; ++k) row[k] += added[w.t.size[1] == 1 ? 0 : k];
    }
    y.Store(y.At(n, 0, r, c), channels, row.data());
  }
}

}  // namespace

void Compute(const Graph& graph, std::vector<void*> data) {
  std::vector<std::vector<float>> memory(graph.tensors.size());  // of virtual tensors
  for (size_t i = 0; i < memory.size(); ++i) {
    if (!graph.tensors[i].is_virtual) continue;
    memory[i].resize(static_cast<size_t>(graph.tensors[i].elements()));
    data[i] = memory[i].data();
  }
  const auto view = [&](int i) { return View(graph.tensors[i], data[i]); };
  for (const Step& step : graph.steps) {
    if (step.convolves()) {
      Convolution(step, view(step.x), view(step.w), view(step.y)).Run();
    } else {
      ComputePointwise(step, view(step.x), view(step.w), view(step.y));
    }
  }
}

void Spoil(const Graph& graph, const std::vector<void*>& data) {
  for (const Step& step : graph.steps) {
    const Tensor& t = graph.tensors[step.output()];
    if (t.is_virtual) continue;
    const View view(t, data[step.output()]);
    const std::vector<float> nothing(static_cast<size_t>(t.size[1]), std::numeric_limits<float>::quiet_NaN());
    for (int64_t i = 0; i < t.size[0] * t.size[2] * t.size[3]; ++i) {
      const int64_t row = i / t.size[3];
      view.Store(view.At(row / t.size[2], 0, row % t.size[2], i % t.size[3]), t.size[1], nothing.data());
    }
  }
}

}  // namespace partita::fake_cudnn
