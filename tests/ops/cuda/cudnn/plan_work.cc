#include "tests/ops/cuda/cudnn/plan_work.h"

#include <algorithm>
#include <cstring>

#include "tests/ops/cuda/cudnn/host_convolution.h"

namespace partita::fake_cudnn {

std::string PlanWork::Run(const std::function<bool(const void*, int64_t)>& reaches) const {
  if (reaches) {
    if (workspace_bytes > 0 && !reaches(workspace, workspace_bytes)) return "the GPU does not reach the workspace";
    for (size_t i = 0; i < data.size(); ++i) {
      const Tensor& tensor = graph->tensors[i];
      if (!tensor.is_virtual && !reaches(data[i], tensor.bytes())) {
        return fmt::format("the GPU does not reach tensor {}", tensor.id);
      }
    }
  }
  if (workspace_bytes > 0) std::memset(workspace, 0xFF, static_cast<size_t>(workspace_bytes));
  if (code.has_value() && code->expired()) {
    Spoil(*graph, data);
    return "the code of a plan was gone when its work came";
  }
  Compute(*graph, data);
  return "";
}

Verdict FindData(const Descriptor& pack, const Graph& graph, std::vector<void*>* data) {
  const auto ids = pack.All<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto addresses = pack.All<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  size_t known = 0;
  for (const Tensor& tensor : graph.tensors) {
    data->push_back(nullptr);
    if (tensor.is_virtual) continue;
    const size_t i = static_cast<size_t>(std::ranges::find(ids, tensor.id) - ids.begin());
    const auto refuse = [&](cudnnStatus_t status, const char* why) {
      return Verdict{status, fmt::format("tensor {} {}", tensor.id, why)};
    };
    if (i == ids.size()) return refuse(CUDNN_STATUS_BAD_PARAM, "has no address in the pack");
    if (addresses[i] == nullptr) return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "lies nowhere");
    if (reinterpret_cast<uintptr_t>(addresses[i]) % static_cast<uintptr_t>(tensor.alignment) != 0) {
      return refuse(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "lies off the bytes that it was declared at");
    }
    data->back() = addresses[i];
    ++known;
  }
  if (known == ids.size()) return {};
  return Bad("the pack has an id that no tensor of the graph has");
}

}  // namespace partita::fake_cudnn
