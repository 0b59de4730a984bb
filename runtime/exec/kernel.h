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

// Addresses of a launch. Inputs that are absent or empty are nullptr. They stay the same for the life of the kernel.
struct KernelArguments {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  void* workspace = nullptr;
  uint64_t seed = 0;  // of the run: keys of counter-based random numbers derive from it
  // Where a kernel that runs out of the host's sight says that its data are wrong: a word that is not 0, in its own
  // language (Kernel::Fault). Memory of the device; null: it has other ways to say so.
  uint64_t* fault = nullptr;
  // For the node that decides whether a step is applied, where steps begin before the host has heard of the one before:
  // a word of the device, the same for all kernels of a rank, that stays 1 from a step that was not applied until the
  // host takes it back; meanwhile no step is applied (docs/design.md 5.24). Null: no step begins so early.
  uint64_t* refused = nullptr;
};

// Bound to one launch of one schedule: created before the first step, launched once a step. Not thread-safe.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // Enqueues the work on `stream`. Returns at once; no allocation when a captured step is replayed.
  virtual absl::Status Launch(Stream& stream) = 0;
  // What a word says that the kernel left at KernelArguments::fault.
  virtual absl::Status Fault(uint64_t word) const {
    return absl::InternalError("a kernel reports fault " + std::to_string(word));
  }
};

// The least time that a node can take on a device: by how fast that computes in the node's precision, and by its
// bandwidth where each operand goes by once.
struct Roofline {
  double compute_seconds = 0, memory_seconds = 0;

  double seconds() const { return std::max(compute_seconds, memory_seconds); }
  bool compute_bound() const { return compute_seconds > memory_seconds; }
};

// A description of a chosen kernel, before it runs, for display.
struct KernelDetails {
  int launches = 1;         // pieces of work that it enqueues; what a library does in one call is one
  std::string engine = "";  // what computes it within a library, where that says so
  std::optional<Roofline> roofline = std::nullopt;  // none: the limits of the device are not known
};

// A catalogue that can also make what it names.
class KernelLibrary : public KernelCatalogue {
 public:
  virtual absl::StatusOr<std::unique_ptr<Kernel>> Create(const LocalNode& node, const KernelChoice& choice,
                                                         KernelArguments arguments) const = 0;

  // What was chosen so far beyond what any process would choose, as bytes by which another process chooses alike.
  virtual std::string Choices() const { return ""; }
  // Before anything is chosen. kInvalidArgument: not what Choices wrote.
  virtual absl::Status Adopt(const std::string& choices) {
    return choices.empty() ? absl::OkStatus() : absl::InvalidArgumentError("these kernels have no choices to adopt");
  }

  // Of a kernel that would be created on these arguments, whose addresses are not looked behind.
  virtual absl::StatusOr<KernelDetails> Describe(const LocalNode& /*node*/, const KernelChoice& /*choice*/,
                                                 const KernelArguments& /*arguments*/) const {
    return KernelDetails{};
  }
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_EXEC_KERNEL_H_
