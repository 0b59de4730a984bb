#include "importer/refusals.h"

#include <algorithm>
#include <string_view>

#include "runtime/base/file_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// run_decompositions makes these of whole ops, which are read.
bool IsDecomposed(const std::string& target) {
  constexpr std::string_view kMade[] = {
      "convolution",        "native_",          "_native_",           "max_pool2d_with_indices",
      "_adaptive_avg_pool", "nll_loss_forward", "nll_loss2d_forward", "_scaled_dot_product_"};
  constexpr std::string_view kOps = "torch.ops.aten.";
  if (!target.starts_with(kOps)) return false;
  return std::ranges::any_of(kMade, [&](std::string_view op) { return target.substr(kOps.size()).starts_with(op); });
}

}  // namespace

absl::Status NoTranslation(const std::string& target) {
  if (IsDecomposed(target)) {
    return InvalidArgument(
        "there is no translation of this op, of which programs consist after run_decompositions; save what "
        "torch.export.export returns as it is");
  }
  if (!target.starts_with("torch.ops.aten.") && target.starts_with("torch.ops.")) {
    return InvalidArgument(
        "there is no translation of this op, which is not PyTorch's own; write the module with ops that "
        "docs/guide/pytorch.md (5) lists");
  }
  return InvalidArgument(
      "there is no translation of this op; write the module with ops that docs/guide/pytorch.md (5) lists");
}

absl::Status CheckHasGraph(const std::string& path) {
  for (const char* const ending : {".pt", ".pth", ".ckpt", ".bin"}) {
    if (!HasEnding(path, ending)) continue;
    return InvalidArgument(
        "{}: is a PyTorch checkpoint by its name, not an exported program, and pickles are not opened; load it in "
        "PyTorch and write the module with torch.export.save to a .pt2 file (docs/guide/pytorch.md 1)",
        path);
  }
  if (!HasEnding(path, ".safetensors")) return absl::OkStatus();
  return InvalidArgument("{}: has weights and no graph; expected a graph or an exported program, and --load={}", path,
                         path);
}

}  // namespace partita
