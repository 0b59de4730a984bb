// A few oneDNN primitives run one after the other. Primitives, memories and argument lists are made once; running them
// allocates nothing of ours. oneDNN's exceptions end in this file and the callers of Guarded.
#ifndef PARTITA_OPS_HOST_ONEDNN_ONEDNN_PROGRAM_H_
#define PARTITA_OPS_HOST_ONEDNN_ONEDNN_PROGRAM_H_

#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/dtype.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "ops/values/node_geometry.h"
#include "runtime/base/status.h"

namespace partita {

// The one CPU engine of the process.
const dnnl::engine& OneDnnEngine();

// f32, or bf16 with f32 sums; other types are refused, by oneDNN also bf16 on a machine without instructions for it.
absl::StatusOr<dnnl::memory::data_type> OneDnnType(DType dtype);

// Attributes that put the scratchpad into memory of the caller, and compute f32 as f32.
dnnl::primitive_attr UserScratchpad();

// The same, and the epilogue's activation on what is made; refuses one that oneDNN does not know.
absl::StatusOr<dnnl::primitive_attr> UserScratchpadWith(const NodeEpilogue& epilogue);

// f(), with oneDNN's exceptions as kInvalidArgument: "oneDNN: could not create a primitive descriptor ...".
template <typename F>
auto Guarded(const F& f) -> decltype(f()) {
  try {
    return f();
  } catch (const dnnl::error& error) {
    return InvalidArgument("oneDNN: {}", error.message);
  }
}

// The form of what is absent: a bias that a convolution or a product does not have.
inline dnnl::memory::desc NoMemory() { return {}; }

class OneDnnProgram {
 public:
  OneDnnProgram();

  // A memory of form `description` at `address`; valid for the lifetime of the program. Null if the form is NoMemory().
  dnnl_memory_t Memory(const dnnl::memory::desc& description, void* address);
  // Appends a primitive with its arguments (DNNL_ARG_SRC, ...; null: it has none there), run on this number of threads;
  // 0: the calling thread's. (oneDNN wakes all threads even for the smallest work.)
  void Add(dnnl::primitive primitive, std::initializer_list<std::pair<int, dnnl_memory_t>> arguments, int threads = 0);

  absl::Status Run() const;

 private:
  struct Step {
    dnnl::primitive primitive;
    std::vector<dnnl_exec_arg_t> arguments;
    int threads;
  };

  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_;
  std::vector<Step> steps_;
};

}  // namespace partita

#endif  // PARTITA_OPS_HOST_ONEDNN_ONEDNN_PROGRAM_H_
