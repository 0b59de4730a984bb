// matmul on oneDNN; a transposed operand is one with its strides exchanged.
#include <memory>

#include "ops/host/kernel/parallel.h"
#include "ops/host/onednn/onednn_kernels.h"
#include "ops/host/onednn/onednn_program.h"
#include "runtime/base/alignment.h"

namespace partita {
namespace {

// [rows, columns], stored row by row, or column by column if `transposed`.
dnnl::memory::desc Matrix(int64_t rows, int64_t columns, bool transposed, dnnl::memory::data_type type) {
  return dnnl::memory::desc({rows, columns}, type,
                            transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1});
}

// Fewer products than these, some 10 microseconds, do not repay a second thread.
constexpr int64_t kParallelProducts = 1 << 20;

}  // namespace

absl::StatusOr<PreparedKernel> OneDnnMatMul(const LocalNode& node) {
  ASSIGN_OR_RETURN(const dnnl::memory::data_type type, OneDnnType(node.outputs[0].dtype));
  if (Input(node, 0).dtype != node.outputs[0].dtype) return InvalidArgument("y is wider than x");
  const auto [m, n, k, transpose_x, transpose_w] = MakeProductSizes(node);
  if (m == 0 || n == 0 || k == 0) return InvalidArgument("the block is empty");
  const NodeEpilogue epilogue = EpilogueOf(node);
  const int threads = m * n * k < kParallelProducts ? 1 : 0;
  const ThreadScope scope(threads);  // the primitive remembers for how many threads it was made
  return Guarded([&]() -> absl::StatusOr<PreparedKernel> {
    ASSIGN_OR_RETURN(const dnnl::primitive_attr attributes, UserScratchpadWith(epilogue));
    const dnnl::memory::desc x = Matrix(m, k, transpose_x, type), w = Matrix(k, n, transpose_w, type);
    const dnnl::memory::desc y = Matrix(m, n, false, type);
    const dnnl::memory::desc bias = epilogue.bias ? Matrix(1, n, false, dnnl::memory::data_type::f32) : NoMemory();
    const dnnl::matmul::primitive_desc descriptor(OneDnnEngine(), x, w, bias, y, attributes);
    const auto bind = [descriptor, bias, threads](const KernelArguments& a) {
      return Guarded([&]() -> absl::StatusOr<Computation> {
        auto program = std::make_shared<OneDnnProgram>();
        const ThreadScope scope(threads);
        program->Add(dnnl::matmul(descriptor),
                     {{DNNL_ARG_SRC, program->Memory(descriptor.src_desc(), const_cast<void*>(a.inputs[0]))},
                      {DNNL_ARG_WEIGHTS, program->Memory(descriptor.weights_desc(), const_cast<void*>(a.inputs[1]))},
                      {DNNL_ARG_BIAS, program->Memory(bias, const_cast<void*>(In<void>(a, 2)))},
                      {DNNL_ARG_DST, program->Memory(descriptor.dst_desc(), a.outputs[0])},
                      {DNNL_ARG_SCRATCHPAD, program->Memory(descriptor.scratchpad_desc(), a.workspace)}},
                     threads);
        return Computation([program] { return program->Run(); });
      });
    };
    return PreparedKernel{AlignUp(static_cast<int64_t>(descriptor.scratchpad_desc().get_size())), bind};
  });
}

}  // namespace partita
