// The interface of kernels, between the executor and the backends (ops/host, ops/cuda): computes one rank's share of a
// node.
#ifndef PARTITA_RUNTIME_EXEC_KERNEL_H_
#define PARTITA_RUNTIME_EXEC_KERNEL_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/kernel_catalogue.h"
#include "runtime/device/stream.h"

namespace partita {

// Addresses of a launch. Absent or empty inputs are nullptr. The addresses are fixed for the lifetime of the kernel.
struct KernelArguments {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  void* workspace = nullptr;
  uint64_t seed = 0;  // the run's seed: keys of counter-based random numbers derive from it
  // Where an asynchronous kernel reports invalid data: a word that is not 0, in its own encoding (Kernel::Fault).
  // Device memory; null: the kernel reports errors in another way.
  uint64_t* fault = nullptr;
  // For the node that decides whether a step is applied, if steps begin before the host knows the result of the
  // previous one. A device word shared by all kernels of a rank: a step that was not applied sets it to 1, and until
  // the host resets it no step is applied (docs/design.md 5.24). Null: no step begins that early.
  uint64_t* refused = nullptr;
};

// Bound to one launch of one schedule: created before the first step, launched once a step. Not thread-safe.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // Enqueues the work on `stream`. Returns at once; no allocation when a captured step is replayed.
  virtual absl::Status Launch(Stream& stream) = 0;
  // Decodes a word that the kernel wrote to KernelArguments::fault.
  virtual absl::Status Fault(uint64_t word) const {
    return absl::InternalError("a kernel reports fault " + std::to_string(word));
  }
};

// The least time that a node can take on a device: from its peak speed in the node's precision, and from its bandwidth
// if each operand moves once.
struct Roofline {
  double compute_seconds = 0, memory_seconds = 0;

  double seconds() const { return std::max(compute_seconds, memory_seconds); }
  bool compute_bound() const { return compute_seconds > memory_seconds; }
};

// A description of a chosen kernel, before it runs, for display.
struct KernelDetails {
  int launches = 1;                                 // pieces of work that it enqueues; a library call counts as one
  std::string engine = "";                          // the engine within a library, if the library reports it
  std::optional<Roofline> roofline = std::nullopt;  // none: the device's limits are not known
};

// A catalogue that can also create the kernels that it lists.
class KernelLibrary : public KernelCatalogue {
 public:
  virtual absl::StatusOr<std::unique_ptr<Kernel>> Create(const LocalNode& node, const KernelChoice& choice,
                                                         KernelArguments arguments) const = 0;

  // The choices so far that another process might make differently, as bytes for Adopt.
  virtual std::string Choices() const { return ""; }
  // Must be called before any choice. kInvalidArgument: not the output of Choices.
  virtual absl::Status Adopt(const std::string& choices) {
    return choices.empty() ? absl::OkStatus() : absl::InvalidArgumentError("these kernels have no choices to adopt");
  }

  // Describes the kernel that would be created on these arguments; does not dereference their addresses.
  virtual absl::StatusOr<KernelDetails> Describe(const LocalNode& /*node*/, const KernelChoice& /*choice*/,
                                                 const KernelArguments& /*arguments*/) const {
    return KernelDetails{};
  }
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_EXEC_KERNEL_H_
