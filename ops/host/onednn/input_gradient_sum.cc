// conv2d_input_grad_sum of single pixels on oneDNN, as products of matrices: the first one is written, the others are
// added where it lies.
#include <algorithm>
#include <memory>
#include <vector>

#include "ops/host/kernel/parallel.h"
#include "ops/host/onednn/onednn_kernels.h"
#include "ops/host/onednn/onednn_program.h"
#include "ops/values/gradient_terms.h"
#include "ops/values/node_geometry.h"
#include "runtime/base/alignment.h"

namespace partita {
namespace {

using Desc = dnnl::memory::desc;

Desc Matrix(int64_t rows, int64_t columns, dnnl::memory::data_type type) {
  return Desc({rows, columns}, type, dnnl::memory::dims{columns, 1});
}

bool IsOfPixels(const Convolution& conv) {
  const SlidingWindow& window = conv.window;
  const bool padded = window.top != 0 || window.bottom != 0 || window.left != 0 || window.right != 0;
  return window.kernel_h * window.kernel_w == 1 && window.stride_h * window.stride_w == 1 && !padded &&
         conv.groups == 1;
}

absl::StatusOr<std::vector<Convolution>> Products(const LocalNode& node) {
  std::vector<Convolution> products;
  for (size_t t = 0; t < TermsOf(node); ++t) {
    products.push_back(InputGradConvolution(TermOf(node, t)));
    if (products.back().empty()) return InvalidArgument("the block is empty");
    if (!IsOfPixels(products.back())) return InvalidArgument("windows are not single pixels");
  }
  return products;
}

dnnl::matmul::primitive_desc Describe(const Convolution& product, bool add, dnnl::memory::data_type type) {
  dnnl::primitive_attr attributes = UserScratchpad();
  if (add) {
    dnnl::post_ops after;
    after.append_sum();
    attributes.set_post_ops(after);
  }
  const Images& size = product.images;
  const int64_t pixels = size.n * size.h * size.w;
  return {OneDnnEngine(), Matrix(pixels, size.out_c, type), Matrix(size.out_c, size.c, type),
          Matrix(pixels, size.c, type), attributes};
}

}  // namespace

absl::StatusOr<PreparedKernel> OneDnnConv2dInputGradSum(const LocalNode& node) {
  constexpr int64_t kParallelProducts = 1 << 20;  // as of a matmul
  ASSIGN_OR_RETURN(const dnnl::memory::data_type type, OneDnnType(node.outputs[0].dtype));
  ASSIGN_OR_RETURN(const std::vector<Convolution> products, Products(node));
  return Guarded([&]() -> absl::StatusOr<PreparedKernel> {
    std::vector<dnnl::matmul::primitive_desc> descriptors;
    std::vector<int> threads;
    int64_t workspace_bytes = 0;
    for (const Convolution& product : products) {
      const int64_t pixels = product.images.n * product.images.h * product.images.w;
      threads.push_back(pixels * product.weights() < kParallelProducts ? 1 : 0);
      const ThreadScope scope(threads.back());  // the primitive remembers for how many threads it was made
      descriptors.push_back(Describe(product, !descriptors.empty(), type));
      const auto bytes = static_cast<int64_t>(descriptors.back().scratchpad_desc().get_size());
      workspace_bytes = std::max(workspace_bytes, AlignUp(bytes));
    }
    const auto bind = [descriptors, threads](const KernelArguments& a) {
      return Guarded([&]() -> absl::StatusOr<Computation> {
        auto program = std::make_shared<OneDnnProgram>();
        for (size_t t = 0; t < descriptors.size(); ++t) {
          const dnnl::matmul::primitive_desc& product = descriptors[t];
          const ThreadScope scope(threads[t]);
          program->Add(
              dnnl::matmul(product),
              {{DNNL_ARG_SRC, program->Memory(product.src_desc(), const_cast<void*>(a.inputs[2 * t]))},
               {DNNL_ARG_WEIGHTS, program->Memory(product.weights_desc(), const_cast<void*>(a.inputs[2 * t + 1]))},
               {DNNL_ARG_DST, program->Memory(product.dst_desc(), a.outputs[0])},
               {DNNL_ARG_SCRATCHPAD, program->Memory(product.scratchpad_desc(), a.workspace)}},
              threads[t]);
        }
        return Computation([program] { return program->Run(); });
      });
    };
    return PreparedKernel{workspace_bytes, bind};
  });
}

}  // namespace partita
