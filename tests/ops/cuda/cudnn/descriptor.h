// The descriptors of cuDNN's graph, and what the library refuses of them. What finalizing one refuses is what
// cuDNN 9.19 itself refuses (refusals_test runs both); a few things that it would take are refused as well, and say so.
#ifndef PARTITA_TESTS_OPS_CUDA_CUDNN_DESCRIPTOR_H_
#define PARTITA_TESTS_OPS_CUDA_CUDNN_DESCRIPTOR_H_

#include <cudnn.h>
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/ops/cuda/cudnn/convolution_graph.h"

namespace partita::fake_cudnn {

struct Verdict {
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  std::string why = "";

  bool ok() const { return status == CUDNN_STATUS_SUCCESS; }
};

// Refusals.
template <typename... Arguments>
Verdict Bad(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return {CUDNN_STATUS_BAD_PARAM, fmt::format(text, std::forward<Arguments>(arguments)...)};
}
template <typename... Arguments>
Verdict NotSupported(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return {CUDNN_STATUS_NOT_SUPPORTED, fmt::format(text, std::forward<Arguments>(arguments)...)};
}

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  bool final = false;
  std::map<int, std::string> bytes = {};                                     // values, by attribute
  std::map<int, std::vector<std::shared_ptr<const Descriptor>>> parts = {};  // descriptors by attribute
  std::shared_ptr<const Graph> graph = nullptr;                              // that it is, or is about
  int engine = -1;                                                           // of engines, configurations and plans
  std::shared_ptr<const int> code = nullptr;  // of plans: what was loaded for it, gone with its descriptor

  bool has(int name) const { return bytes.count(name) > 0 || parts.count(name) > 0; }

  // Empty: not set.
  template <typename T>
  std::vector<T> All(int name) const {
    const auto found = bytes.find(name);
    if (found == bytes.end()) return {};
    std::vector<T> values(found->second.size() / sizeof(T));
    std::memcpy(values.data(), found->second.data(), values.size() * sizeof(T));
    return values;
  }
  template <typename T>
  T One(int name, T otherwise) const {
    const std::vector<T> all = All<T>(name);
    return all.empty() ? otherwise : all[0];
  }
  const Descriptor& Part(int name) const { return *parts.at(name)[0]; }
};

// The attributes of a convolution, by the names of Step; none: it is another descriptor.
struct ConvolutionNames {
  Kind kind;
  int x, w, y, window, alpha, beta;
};
std::optional<ConvolutionNames> NamesOf(cudnnBackendDescriptorType_t type);

size_t SizeOfType(cudnnBackendAttributeType_t type);

// Whether such a descriptor has the attribute, of that type and with this number of values.
Verdict CheckAttribute(cudnnBackendDescriptorType_t type, int name, cudnnBackendAttributeType_t value_type,
                       int64_t count);

// What is missing or does not fit. An operation's shapes are its own; GraphOf checks how operations fit.
Verdict CheckFinal(const Descriptor& descriptor);

}  // namespace partita::fake_cudnn

#endif  // PARTITA_TESTS_OPS_CUDA_CUDNN_DESCRIPTOR_H_
