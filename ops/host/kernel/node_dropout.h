// What a node drops in a step, read off its attributes and arguments.
#ifndef PARTITA_OPS_HOST_KERNEL_NODE_DROPOUT_H_
#define PARTITA_OPS_HOST_KERNEL_NODE_DROPOUT_H_

#include <cstdint>
#include <string>

#include "ops/functors/dropout.h"
#include "ops/host/kernel/host_kernel.h"

namespace partita {

struct NodeDropout {
  // `rate_name`: of the attribute; `iteration_input`: the step's number, 0 where it is absent.
  NodeDropout(const LocalNode& node, const char* rate_name, size_t iteration_input)
      : rate(node.attributes.Float(rate_name)),
        name(node.attributes.String("key").empty() ? node.name : node.attributes.String("key")),
        iteration(iteration_input) {}

  bool drops() const { return rate > 0; }
  DropoutStep Of(const KernelArguments& arguments) const {
    const auto* const step = In<int32_t>(arguments, iteration);
    return {PhiloxKey(arguments.seed, name), step == nullptr ? 0 : static_cast<uint64_t>(*step), DropoutThreshold(rate),
            1 / (1 - rate)};
  }

  double rate;
  std::string name;
  size_t iteration;
};

}  // namespace partita

#endif  // PARTITA_OPS_HOST_KERNEL_NODE_DROPOUT_H_
