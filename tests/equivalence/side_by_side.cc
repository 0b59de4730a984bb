#include "tests/equivalence/side_by_side.h"

#include <algorithm>

#include "graph/ir/group_key.h"
#include "graph/moves/move_bytes.h"
#include "ops/registry.h"
#include "runtime/api/verify_plan.h"
#include "runtime/base/status.h"

namespace partita {

absl::Status CompareBytes(const Session& session, int64_t steps) {
  const std::vector<GroupTraffic> counted = session.Traffic();
  const std::vector<MoveBytes> predicted = session.PredictedBytes(kTrainEntry);
  for (size_t group = 0; group < counted.size(); ++group) {
    if (counted[group].bytes.payload == predicted[group].payload * steps &&
        counted[group].bytes.wire == predicted[group].wire * steps) {
      continue;
    }
    return Internal("{} steps of {}: {} bytes of payload and {} on the wire counted, {} and {} predicted", steps,
                    ToString(session.program().groups[group], session.program().meshes), counted[group].bytes.payload,
                    counted[group].bytes.wire, predicted[group].payload * steps, predicted[group].wire * steps);
  }
  return absl::OkStatus();
}

absl::StatusOr<Program> StepOf(const Model& model, const Strategy& strategy) {
  ProgramOptions options;
  options.floating = DType::kF64;
  options.fuse = false;
  options.bucket_bytes = 0;
  options.verify_passes = true;
  return MakeProgram(model, strategy, Ops(), options);
}

absl::Status RunSideBySide(const Model& model, const Strategy& strategy, int steps,
                           const std::function<NamedTensors(int step)>& batch, std::optional<uint64_t> delay_seed,
                           bool same_beginning) {
  const auto named = [&batch](int step) -> std::map<std::string, HostTensor> {
    NamedTensors tensors = batch(step);
    return {{"images", std::move(tensors.images)}, {"labels", std::move(tensors.labels)}};
  };
  return RunSideBySide(model, strategy, steps, std::function<std::map<std::string, HostTensor>(int)>(named), delay_seed,
                       same_beginning);
}

absl::Status RunSideBySide(const Model& model, const Strategy& strategy, int steps,
                           const std::function<std::map<std::string, HostTensor>(int step)>& batch,
                           std::optional<uint64_t> delay_seed, bool same_beginning) {
  ASSIGN_OR_RETURN(Program serial, StepOf(model, Strategy{}));
  ASSIGN_OR_RETURN(Program plan, StepOf(model, strategy));
  VerifyPlanOptions options;
  options.session.seed = 1;
  options.session.threads_per_rank = 1;
  options.session.tests.delay_seed = delay_seed;
  options.tolerance = 1e-10;
  options.floor = 1e-6;
  options.same_beginning = same_beginning;
  ASSIGN_OR_RETURN(const auto verifier, PlanVerifier::Start(std::move(serial), std::move(plan), options));
  for (int step = 0; step < steps; ++step) {
    for (const auto& [name, tensor] : batch(step)) RETURN_IF_ERROR(verifier->StageInput(name, tensor));
    ASSIGN_OR_RETURN(const StepComparison comparison, verifier->Step());
    if (const TensorDifference* const first = comparison.First(); first != nullptr) {
      return Internal("step {}: {}", step, ToString(*first));
    }
  }
  if (verifier->gradients().empty()) return Internal("no gradient was compared");
  return CompareBytes(verifier->plan(), steps);
}

int64_t HighestPlannedEnd(const Session& session, const std::string& entry, int rank) {
  int64_t highest = 0;
  for (const Lifetime& lifetime : session.schedule(entry, rank).lifetimes) {
    highest = std::max(highest, lifetime.range.offset + lifetime.range.bytes);
  }
  return highest;
}

LayerBytes BytesOfLayers(const Program& program) {
  const Graph& graph = program.graph(kTrainEntry);
  std::vector<std::string> results;
  for (ValueId result : graph.metrics) results.push_back(graph.value(result).name);
  results.push_back(graph.value(graph.loss).name);
  LayerBytes bytes;
  for (const Node& node : graph.nodes()) {
    const std::string& output = graph.value(node.outputs[0]).name;
    if (!node.op->move || std::find(results.begin(), results.end(), output) != results.end()) continue;
    int64_t wire = 0;
    for (const CommunicationGroup& group : program.groups) {
      if (group.key == KeyOf(graph, node)) wire += BytesOfNode(graph, node, group.ranks).wire;
    }
    if (wire > 0) bytes[{node.op->name, output.substr(0, output.find('@'))}] += wire;
  }
  return bytes;
}

}  // namespace partita
