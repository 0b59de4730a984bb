// matmul, batch_matmul and convolution on our own matrix product, for f64 (which oneDNN refuses) and as f32's second
// choice.
//
// A sample's windows are laid out as a matrix, a row per output pixel and a column per weight of a filter ("im2col"):
//   y = columns w^T        dcolumns = dy w, added back to dx        dw = dy^T columns, summed over samples
#include <algorithm>

#include "ops/functors/epilogue.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/products/gemm.h"
#include "ops/host/products/matrix_product.h"
#include "ops/values/gradient_terms.h"
#include "ops/values/node_geometry.h"

namespace partita {
namespace {

int64_t Pixels(const Convolution& conv) { return conv.images.out_h * conv.images.out_w; }
int64_t FilterSize(const Convolution& conv) { return conv.window.kernel_h * conv.window.kernel_w * conv.group_c(); }

// Calls f(x, column) for the `group_c` channels that meet at each output pixel and place of the window: x is their
// index in the sample, -1 in the padding, `column` their index in the matrix of columns.
template <typename F>
void ForEveryPlace(const Convolution& conv, int64_t group, const F& f) {
  const Images& size = conv.images;
  const SlidingWindow& window = conv.window;
  int64_t column = 0;
  for (int64_t i = 0; i < size.out_h; ++i) {
    for (int64_t j = 0; j < size.out_w; ++j) {
      for (int64_t p = 0; p < window.kernel_h; ++p) {
        const int64_t row = i * window.stride_h + p * window.dilation_h - window.top;
        for (int64_t q = 0; q < window.kernel_w; ++q) {
          const int64_t place = j * window.stride_w + q * window.dilation_w - window.left;
          const bool inside = row >= 0 && row < size.h && place >= 0 && place < size.w;
          f(inside ? (row * conv.x.columns + place) * size.c + group * conv.group_c() : -1, column);
          column += conv.group_c();
        }
      }
    }
  }
}

template <typename T>
void ToColumns(const Convolution& conv, int64_t group, const T* x, T* columns) {
  const int64_t depth = conv.group_c();
  ForEveryPlace(conv, group, [=](int64_t from, int64_t to) {
    if (from < 0) {
      std::fill(columns + to, columns + to + depth, T(0));
    } else {
      std::copy(x + from, x + from + depth, columns + to);
    }
  });
}

template <typename T>
void AddColumns(const Convolution& conv, int64_t group, const T* columns, T* x) {
  const int64_t depth = conv.group_c();
  ForEveryPlace(conv, group, [=](int64_t to, int64_t from) {
    if (to < 0) return;
    for (int64_t k = 0; k < depth; ++k) x[to + k] += columns[from + k];
  });
}

// Addresses of a sample and group, and the workspace: Gemm's, then the columns.
template <typename T>
struct SampleAddresses {
  SampleAddresses(const Convolution& conv, const KernelArguments& a, int64_t n, int64_t group)
      : x(conv.x.At(n, 0, 0) * conv.images.c),
        y(conv.y.At(n, 0, 0) * conv.images.out_c + group * conv.group_out_c()),
        w(group * conv.group_out_c() * FilterSize(conv)),
        gemm(Scratch<T>(a)),
        columns(Scratch<T>(a) + kGemmWorkspaceElements) {}

  int64_t x, y, w;  // offsets in elements
  T *gemm, *columns;
};

template <typename F>
absl::StatusOr<PreparedKernel> PrepareConvolution(const LocalNode& node, const Convolution& conv, F compute) {
  const int64_t elements = kGemmWorkspaceElements + Pixels(conv) * FilterSize(conv);
  return PreparedFloating(node.outputs[0].dtype, compute, elements * SizeOf(node.outputs[0].dtype));
}

// Calls f(place, group) for every sample and group.
template <typename T, typename F>
void ForSamples(const Convolution& conv, const KernelArguments& a, const F& f) {
  for (int64_t n = 0; n < conv.images.n; ++n) {
    for (int64_t group = 0; group < conv.groups; ++group) f(SampleAddresses<T>(conv, a, n, group), group);
  }
}

// Rows of `channels` elements, from one row to the next `stride`, while they are in the caches.
template <typename T>
void ApplyEpilogue(const Epilogue<T>& epilogue, T* y, int64_t rows, int64_t channels, int64_t stride) {
  if (!epilogue.any()) return;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < channels; ++c) y[r * stride + c] = epilogue(y[r * stride + c], c);
  }
}

template <typename T>
void Multiply(const ProductSizes& sizes, const T* x, const T* w, T* y, T* workspace) {
  const auto [m, n, k, transpose_x, transpose_w] = sizes;
  Gemm(m, n, k, {x, transpose_x ? 1 : k, transpose_x ? m : 1}, {w, transpose_w ? 1 : n, transpose_w ? k : 1}, y, n,
       false, workspace);
}

// Sizes of a product that repay its packing.
constexpr int64_t kLeast = 64, kLeastProducts = 1 << 20;

absl::Status LargeEnough(const ProductSizes& s) {
  if (std::min({s.m, s.n, s.k}) < kLeast || s.m * s.n * s.k < kLeastProducts) {
    return InvalidArgument("{} x {} x {} is small, allowed are sizes from {} and {} products", s.m, s.n, s.k, kLeast,
                           kLeastProducts);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PreparedKernel> Im2ColConv2d(const LocalNode& node) {
  const Convolution conv = ForwardConvolution(node);
  const bool wide = conv.y.columns == conv.images.out_w;  // else y is a part of wider rows, and made row by row
  const int activation = EpilogueOf(node).activation;
  return PrepareConvolution(node, conv, [conv, wide, activation]<typename T>(const KernelArguments& a) {
    const int64_t filter = FilterSize(conv), channels = conv.group_out_c();
    ForSamples<T>(conv, a, [&](const SampleAddresses<T>& at, int64_t group) {
      const T* const bias = In<T>(a, 2);
      const Epilogue<T> epilogue{bias == nullptr ? nullptr : bias + group * channels, activation};
      ToColumns(conv, group, In<T>(a, 0) + at.x, at.columns);
      const int64_t runs = wide ? 1 : conv.images.out_h, pixels = Pixels(conv) / runs;
      for (int64_t run = 0; run < runs; ++run) {
        T* const y = Out<T>(a, 0) + at.y + run * conv.y.columns * conv.images.out_c;
        Gemm(pixels, channels, filter, {at.columns + run * pixels * filter, filter, 1}, {In<T>(a, 1) + at.w, 1, filter},
             y, conv.images.out_c, false, at.gemm);
        ApplyEpilogue(epilogue, y, pixels, channels, conv.images.out_c);
      }
    });
  });
}

// Of windows of one size, so that all terms have as many columns.
absl::StatusOr<PreparedKernel> Im2ColConv2dInputGrad(const LocalNode& node) {
  std::vector<Convolution> terms;
  for (size_t t = 0; t < TermsOf(node); ++t) terms.push_back(InputGradConvolution(TermOf(node, t)));
  const int64_t elements = node.outputs[0].elements();
  return PrepareConvolution(node, terms[0], [terms, elements]<typename T>(const KernelArguments& a) {
    std::fill(Out<T>(a, 0), Out<T>(a, 0) + elements, T(0));
    for (size_t t = 0; t < terms.size(); ++t) {
      const Convolution& conv = terms[t];
      const int64_t filter = FilterSize(conv);
      ForSamples<T>(conv, a, [&](const SampleAddresses<T>& at, int64_t group) {
        Gemm(Pixels(conv), filter, conv.group_out_c(), {In<T>(a, 2 * t) + at.y, conv.images.out_c, 1},
             {In<T>(a, 2 * t + 1) + at.w, filter, 1}, at.columns, filter, false, at.gemm);
        AddColumns(conv, group, at.columns, Out<T>(a, 0) + at.x);
      });
    }
  });
}

absl::StatusOr<PreparedKernel> Im2ColConv2dWeightGrad(const LocalNode& node) {
  const Convolution conv = WeightGradConvolution(node);
  const int64_t elements = node.outputs[0].elements();
  return PrepareConvolution(node, conv, [conv, elements]<typename T>(const KernelArguments& a) {
    const int64_t filter = FilterSize(conv);
    std::fill(Out<T>(a, 0), Out<T>(a, 0) + elements, T(0));
    ForSamples<T>(conv, a, [&](const SampleAddresses<T>& at, int64_t group) {
      ToColumns(conv, group, In<T>(a, 0) + at.x, at.columns);
      Gemm(conv.group_out_c(), filter, Pixels(conv), {In<T>(a, 1) + at.y, 1, conv.images.out_c},
           {at.columns, filter, 1}, Out<T>(a, 0) + at.w, filter, true, at.gemm);
    });
  });
}

absl::StatusOr<PreparedKernel> BlockedMatMul(const LocalNode& node) {
  const ProductSizes sizes = MakeProductSizes(node);
  const int activation = EpilogueOf(node).activation;
  return PreparedFloating(
      node.outputs[0].dtype,
      [=]<typename T>(const KernelArguments& a) {
        Multiply(sizes, In<T>(a, 0), In<T>(a, 1), Out<T>(a, 0), Scratch<T>(a));
        ApplyEpilogue(Epilogue<T>{In<T>(a, 2), activation}, Out<T>(a, 0), sizes.m, sizes.n, sizes.n);
      },
      kGemmWorkspaceElements * SizeOf(node.outputs[0].dtype));
}

// Threads take products as they come free.
absl::StatusOr<PreparedKernel> BlockedBatchMatMul(const LocalNode& node) {
  const ProductBatch batch = MakeProductBatch(node);
  const auto& [m, n, k, transpose_x, transpose_y] = batch.each;
  const int64_t count = batch.places.count();
  const bool small = count * m * n * k < kParallelElements;
  const int threads = small ? 1 : static_cast<int>(std::clamp<int64_t>(count, 1, MaxThreads()));
  return PreparedFloating(
      node.outputs[0].dtype,
      [=]<typename T>(const KernelArguments& a) {
        const auto& [m, n, k, transpose_x, transpose_y] = batch.each;
        ParallelTasks(threads, count, [&](int thread, int64_t i) {
          const BatchPlaces::Place at = batch.places.At(i);
          Multiply(batch.each, In<T>(a, 0) + at.x * m * k, In<T>(a, 1) + at.y * k * n, Out<T>(a, 0) + i * m * n,
                   Scratch<T>(a) + thread * kGemmWorkspaceElements);
        });
      },
      threads * kGemmWorkspaceElements * SizeOf(node.outputs[0].dtype));
}

absl::StatusOr<PreparedKernel> PackedMatMul(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const ProductSizes sizes = MakeProductSizes(node);
  RETURN_IF_ERROR(LargeEnough(sizes));
  const NodeEpilogue epilogue = EpilogueOf(node);
  if (epilogue.activation != kNoActivation) {
    return InvalidArgument("activation is {}, allowed is none", epilogue.activation_name());
  }
  const MatrixProduct product(sizes);
  return Prepared(
      [product](const KernelArguments& a) {
        product.Run(In<float>(a, 0), In<float>(a, 1), In<float>(a, 2), Out<float>(a, 0), Scratch<void>(a));
      },
      product.workspace_bytes());
}

}  // namespace partita
