// Reference kernels of matmul, batch_matmul and convolution with its two gradients: the definitions as loops.
//
//   y[n,i,j,o] = sum over (p,q,k) of x[n, i*stride + p*dilation - top, j*stride + q*dilation - left, g*K + k]
//   w[o,p,q,k]
//
// with o in group g and K channels in a group; pixels outside of the image are zero. An epilogue (conv2d_epilogue,
// matmul_epilogue) sees the sums before they are rounded.
#include <vector>

#include "ops/functors/epilogue.h"
#include "ops/host/reference/reference_kernels.h"
#include "ops/values/gradient_terms.h"
#include "ops/values/node_geometry.h"

namespace partita {
namespace {

// Calls f(sample, row of y).
template <typename F>
void ForEveryRow(const Convolution& conv, const F& f) {
  for (int64_t n = 0; n < conv.images.n; ++n) {
    for (int64_t i = 0; i < conv.images.out_h; ++i) f(n, i);
  }
}

// Calls f(index in x, index in w, index in the row) for every product of a row of y.
template <typename F>
void ForEveryProduct(const Convolution& conv, int64_t n, int64_t i, const F& f) {
  const Images& size = conv.images;
  const int64_t depth = conv.group_c();
  for (int64_t j = 0; j < size.out_w; ++j) {
    for (int64_t p = 0; p < conv.window.kernel_h; ++p) {
      for (int64_t q = 0; q < conv.window.kernel_w; ++q) {
        const int64_t pixel = conv.Pixel(n, i, j, p, q);
        if (pixel < 0) continue;
        for (int64_t o = 0; o < size.out_c; ++o) {
          const int64_t w = ((o * conv.window.kernel_h + p) * conv.window.kernel_w + q) * depth;
          const int64_t x = pixel * size.c + o / conv.group_out_c() * depth;
          for (int64_t k = 0; k < depth; ++k) f(x + k, w + k, j * size.out_c + o);
        }
      }
    }
  }
}

// Calls f(index in x, index in w, index in y) for every product of the convolution.
template <typename F>
void ForEveryProduct(const Convolution& conv, const F& f) {
  ForEveryRow(conv, [&](int64_t n, int64_t i) {
    const int64_t row = conv.y.At(n, i, 0) * conv.images.out_c;
    ForEveryProduct(conv, n, i, [&](int64_t x, int64_t w, int64_t place) { f(x, w, row + place); });
  });
}

template <typename T>
void Multiply(const ProductSizes& sizes, const T* x, const T* w, const Epilogue<T>& epilogue, T* y) {
  const auto [m, n, k, transpose_x, transpose_w] = sizes;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += static_cast<double>(transpose_x ? x[l * m + i] : x[i * k + l]) *
               static_cast<double>(transpose_w ? w[j * k + l] : w[l * n + j]);
      }
      y[i * n + j] = static_cast<T>(epilogue(sum, j));
    }
  }
}

// A convolution kernel whose output, `elements` sums, is accumulated in double in the workspace.
// add(arguments, type, sums) adds all products.
template <typename F>
absl::StatusOr<PreparedKernel> AccumulatingKernel(const LocalTensor& output, F add) {
  const int64_t elements = output.elements();
  return PreparedFloating(
      output.dtype,
      [elements, add]<typename T>(const KernelArguments& a) {
        double* sums = Scratch<double>(a);
        for (int64_t i = 0; i < elements; ++i) sums[i] = 0;
        add(a, static_cast<T*>(nullptr), sums);
        for (int64_t i = 0; i < elements; ++i) Out<T>(a, 0)[i] = static_cast<T>(sums[i]);
      },
      elements * static_cast<int64_t>(sizeof(double)));
}

}  // namespace

absl::StatusOr<PreparedKernel> ReferenceMatMul(const LocalNode& node) {
  const NodeEpilogue after = EpilogueOf(node);
  const auto multiply = [sizes = MakeProductSizes(node), after]<typename T>(const KernelArguments& a) {
    const Epilogue<T> epilogue{after.bias ? In<T>(a, 2) : nullptr, after.activation};
    Multiply(sizes, In<T>(a, 0), In<T>(a, 1), epilogue, Out<T>(a, 0));
  };
  return PreparedFloating(node.outputs[0].dtype, multiply);
}

absl::StatusOr<PreparedKernel> ReferenceBatchMatMul(const LocalNode& node) {
  const auto multiply = [batch = MakeProductBatch(node)]<typename T>(const KernelArguments& a) {
    const auto& [m, n, k, transpose_x, transpose_y] = batch.each;
    for (int64_t i = 0; i < batch.places.count(); ++i) {
      const BatchPlaces::Place at = batch.places.At(i);
      Multiply(batch.each, In<T>(a, 0) + at.x * m * k, In<T>(a, 1) + at.y * k * n, Epilogue<T>{},
               Out<T>(a, 0) + i * m * n);
    }
  };
  return PreparedFloating(node.outputs[0].dtype, multiply);
}

// The product, then the sum of the rows of an operand.
absl::StatusOr<PreparedKernel> ReferenceMatMulBiasGrad(const LocalNode& node) {
  ASSIGN_OR_RETURN(const PreparedKernel product, ReferenceMatMul(node));
  const size_t operand = BiasOperandOf(node);
  const ChannelRows dy = MakeRows(InputShape(node, operand));
  const auto add = [=]<typename T>(const KernelArguments& a) {
    for (int64_t c = 0; c < dy.channels; ++c) {
      double sum = 0;
      for (int64_t row = 0; row < dy.rows; ++row) sum += double{In<T>(a, operand)[row * dy.channels + c]};
      Out<T>(a, 1)[c] = static_cast<T>(sum);
    }
  };
  ASSIGN_OR_RETURN(const PreparedKernel sums, PreparedFloating(node.outputs[1].dtype, add));
  return InTurn(product, sums);
}

// A row of y after the other: it may be a part of a longer row.
absl::StatusOr<PreparedKernel> ReferenceConv2d(const LocalNode& node) {
  const Convolution conv = ForwardConvolution(node);
  const int64_t row = conv.images.out_w * conv.images.out_c;  // of sums
  return PreparedFloating(
      node.outputs[0].dtype,
      [conv, row, activation = EpilogueOf(node).activation]<typename T>(const KernelArguments& a) {
        const T *in = In<T>(a, 0), *weights = In<T>(a, 1);
        const Epilogue<T> epilogue{In<T>(a, 2), activation};
        double* sums = Scratch<double>(a);
        ForEveryRow(conv, [&](int64_t n, int64_t i) {
          T* const y = Out<T>(a, 0) + conv.y.At(n, i, 0) * conv.images.out_c;
          for (int64_t k = 0; k < row; ++k) sums[k] = 0;
          ForEveryProduct(conv, n, i, [=](int64_t x, int64_t w, int64_t place) {
            sums[place] += double{in[x]} * double{weights[w]};
          });
          for (int64_t k = 0; k < row; ++k) y[k] = static_cast<T>(epilogue(sums[k], k % conv.images.out_c));
        });
      },
      row * static_cast<int64_t>(sizeof(double)));
}

absl::StatusOr<PreparedKernel> ReferenceConv2dInputGrad(const LocalNode& node) {
  std::vector<Convolution> terms;
  for (size_t t = 0; t < TermsOf(node); ++t) terms.push_back(InputGradConvolution(TermOf(node, t)));
  return AccumulatingKernel(node.outputs[0], [terms]<typename T>(const KernelArguments& a, T*, double* sums) {
    for (size_t t = 0; t < terms.size(); ++t) {
      const T *dy = In<T>(a, 2 * t), *weights = In<T>(a, 2 * t + 1);
      ForEveryProduct(terms[t],
                      [=](int64_t x, int64_t w, int64_t y) { sums[x] += double{dy[y]} * double{weights[w]}; });
    }
  });
}

absl::StatusOr<PreparedKernel> ReferenceConv2dWeightGrad(const LocalNode& node) {
  return AccumulatingKernel(
      node.outputs[0], [conv = WeightGradConvolution(node)]<typename T>(const KernelArguments& a, T*, double* sums) {
        const T *in = In<T>(a, 0), *dy = In<T>(a, 1);
        ForEveryProduct(conv, [=](int64_t x, int64_t w, int64_t y) { sums[w] += double{in[x]} * double{dy[y]}; });
      });
}

}  // namespace partita
