#include "tools/commands/convert/onnx_output.h"

#include <fmt/format.h>

#include "exporter/onnx/export_model.h"
#include "exporter/onnx/write_model.h"
#include "graph/ir/entry_point.h"
#include "ops/registry.h"
#include "run/host/version.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "tools/commands/predictions/predicted_value.h"

namespace partita {

absl::StatusOr<std::string> WriteOnnx(const RunSpec& spec, const Model& model, const onnx_export::ReadState& read) {
  const std::string &graph = spec.model().graph(), &output = spec.predict().output();
  ASSIGN_OR_RETURN(const std::string value, PredictedValue(spec, model.graph));
  const absl::StatusOr<onnx_export::ExportedModel> exported =
      onnx_export::ExportOnnx(model, Ops(), {.value = value, .producer_version = kToolVersion, .read = read});
  if (!exported.ok()) return WithContext(graph, exported.status());
  RETURN_IF_ERROR(onnx_export::WriteOnnxModel(exported->model, output));
  const int64_t batch = model.graph.type(InputsOf(model.graph)[0].values[0]).shape[0];
  return fmt::format("{}: value '{}' of {}, {} of ONNX opset {}, for {}\n", output, value, graph,
                     Counted(static_cast<int64_t>(exported->model.nodes.size()), "node"), onnx_export::kWrittenOpset,
                     exported->any_batch ? "any batch" : fmt::format("batches of {}", batch));
}

}  // namespace partita
