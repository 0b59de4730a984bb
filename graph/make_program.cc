#include "graph/make_program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "graph/derive/adjoint.h"
#include "graph/derive/choose_layout.h"
#include "graph/derive/count_votes.h"
#include "graph/derive/partition.h"
#include "graph/derive/row_gradients.h"
#include "graph/given/give_inputs.h"
#include "graph/ir/generated_name.h"
#include "graph/ir/group_key.h"
#include "graph/passes/bucket_all_reduces.h"
#include "graph/passes/choose_exchanges.h"
#include "graph/passes/convert_dtype.h"
#include "graph/passes/decompose.h"
#include "graph/passes/drop_unused.h"
#include "graph/passes/fuse_moves.h"
#include "graph/passes/mix_precision.h"
#include "graph/passes/order_pipeline.h"
#include "graph/passes/prepare_evaluation.h"
#include "graph/passes/prepare_training.h"
#include "graph/passes/run_passes.h"
#include "graph/passes/unroll_micro_batches.h"
#include "graph/recompute/recompute.h"
#include "graph/update/append_update.h"
#include "graph/value/node_name.h"
#include "runtime/base/check.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// What is reported must be whole on every rank: losses and metrics are brought to R, before the update, which asks for
// the loss.
void ResolveResults(LayoutBuilder& builder) {
  Graph& graph = builder.graph();
  const Layout replicated = Replicated(graph.mesh());
  if (graph.loss != kNoValue) graph.loss = builder.MoveTo(graph.loss, replicated, Phase::kUpdate);
  for (FurtherLoss& further : graph.further_losses) {
    further.value = builder.MoveTo(further.value, replicated, Phase::kUpdate);
  }
  for (ValueId& metric : graph.metrics) metric = builder.MoveTo(metric, replicated, Phase::kUpdate);
}

// The layouts that entries with `update` ask for.
absl::StatusOr<UpdateLayouts> LayoutsOfUpdates(const Graph& graph, const Strategy& strategy) {
  UpdateLayouts layouts;
  const StrategyIndex index(strategy);
  for (const State& state : graph.states()) {
    const Value& value = graph.value(state.value);
    const Node& node = graph.node(value.producer);
    if (node.op->role != Role::kParameter) continue;
    for (int i : index.Matching(value.name)) {
      const std::map<std::string, AxisConfig>& said = strategy.ops[i].update;
      if (said.empty()) continue;
      const Mesh& mesh = graph.mesh(state.value);
      if (mesh.AxisIndex(said.begin()->first) < 0) {
        if (strategy.ops[i].pattern != value.name) continue;  // a pattern means parameters on its mesh
        return InvalidArgument("update of '{}': the parameter lies on mesh '{}', which has no axis '{}'", value.name,
                               mesh.ToString(), said.begin()->first);
      }
      LayoutRequest request{node.op, NodeView{node.attributes, {}, {value.type}}, {}, {}, true, &mesh};
      request.configs.resize(mesh.axes.size());
      for (const auto& [axis, config] : said) request.configs[mesh.AxisIndex(axis)] = config;
      auto chosen = ChooseLayouts(request);
      if (!chosen.ok()) return WithContext(fmt::format("update of '{}'", value.name), chosen.status());
      Layout layout = value.layout;
      for (const auto& [axis, config] : said) {
        const int a = mesh.AxisIndex(axis);
        if (layout[a].replicated()) layout[a] = chosen->outputs[0][a];
      }
      RETURN_IF_ERROR(
          WithContext(fmt::format("update of '{}'", value.name), CheckLayout(layout, value.type.shape, mesh)));
      layouts[state.value] = layout;
      break;
    }
  }
  return layouts;
}

// Everything that is added to the partitioned forward graph: one builder, so that all of it shares its moves.
absl::StatusOr<Graph> AppendBackward(Graph graph, const Model& model, const Strategy& strategy,
                                     const OpRegistry& registry, GradientNorm norm) {
  LayoutBuilder builder(graph, registry);
  if (graph.loss != kNoValue) {
    ASSIGN_OR_RETURN(const UpdateLayouts updates, LayoutsOfUpdates(graph, strategy));
    ASSIGN_OR_RETURN(const auto gradients, AppendAdjoint(builder, updates));
    ResolveResults(builder);
    ASSIGN_OR_RETURN(const auto by_rows, AppendRowGradients(builder, gradients, updates));
    RETURN_IF_ERROR(AppendUpdate(builder, gradients, by_rows, model.optimizer, model.learning_rate,
                                 graph.Find(kIterationName), norm));
  } else {
    ResolveResults(builder);
  }
  return graph;
}

Graph WithResolvedResults(Graph graph, const OpRegistry& registry) {
  LayoutBuilder builder(graph, registry);
  ResolveResults(builder);
  return graph;
}

std::map<std::string, Layout> StateLayouts(const Graph& training) {
  std::map<std::string, Layout> layouts;
  for (const State& state : training.states()) {
    layouts[training.value(state.value).name] = training.layout(state.value);
  }
  return layouts;
}

// The passes of entry points, in their order. They borrow what they are made from. `states`: how those of the program
// lie; of the first entry point, which decides it, none.
class PassList {
 public:
  PassList(const Model& model, const Strategy& strategy, const OpRegistry& registry, const ProgramOptions& options)
      : model_(model), strategy_(strategy), registry_(registry), options_(options) {}

  std::vector<Pass> Training(const std::map<std::string, Layout>& states) const {
    std::vector<Pass> passes = {{"prepare_training", [this](Graph g) { return PrepareTraining(g, registry_); }}};
    AddDecomposition(passes);
    AddFusions(Fusion::When::kForward, passes);
    AddUnrolling(passes);
    passes.push_back({"partition", [this, &states](Graph g) { return Partition(g, strategy_, registry_, states); }});
    AddGivenForms(passes);
    AddMixedPrecision(passes);
    passes.push_back({"adjoint_and_update", [this](Graph g) {
                        return AppendBackward(std::move(g), model_, strategy_, registry_, options_.gradient_norm);
                      }});
    passes.push_back({"drop_unused", [](Graph g) { return DropUnused(g); }});
    passes.push_back({"fuse_moves",
                      [this](Graph g) { return FuseMoves(std::move(g), registry_, strategy_.input_gradients); },
                      /*optional=*/true});
    AddFusions(Fusion::When::kGradients, passes);
    AddFusions(Fusion::When::kLast, passes);
    AddPipelineOrder(passes);
    AddRecomputation(passes);
    AddBuckets(options_.bucket_bytes >= 0 ? options_.bucket_bytes : strategy_.bucket_bytes, passes);
    AddExchanges(passes);
    AddVotes(passes);
    return passes;
  }

  // `reported`: what the entry point reports beside its results.
  std::vector<Pass> Evaluation(const std::map<std::string, Layout>& states,
                               const std::vector<std::string>& reported = {}) const {
    std::vector<Pass> passes = {
        {"read_averages", [this, &states](Graph g) { return ReadAverages(std::move(g), states, registry_); }},
        {"prepare_evaluation", [=, this](Graph g) { return PreparedEvaluation(g, reported); }}};
    AddDecomposition(passes);
    AddFusions(Fusion::When::kForward, passes);
    AddUnrolling(passes);
    passes.push_back({"partition", [this, &states](Graph g) { return Partition(g, strategy_, registry_, states); }});
    AddGivenForms(passes);
    AddMixedPrecision(passes);
    passes.push_back({"resolve_results", [this](Graph g) { return WithResolvedResults(std::move(g), registry_); }});
    passes.push_back({"drop_unused", [](Graph g) { return DropUnused(g); }});
    AddFusions(Fusion::When::kLast, passes);
    AddPipelineOrder(passes);
    AddBuckets(-1, passes);
    AddExchanges(passes);
    AddVotes(passes);
    return passes;
  }

 private:
  absl::StatusOr<Graph> PreparedEvaluation(const Graph& forward, const std::vector<std::string>& reported) const {
    ASSIGN_OR_RETURN(Graph prepared, PrepareEvaluation(forward, registry_));
    for (const std::string& name : reported) {
      const ValueId value = prepared.Find(name);
      CHECK(value != kNoValue);
      prepared.metrics.push_back(value);
    }
    return prepared;
  }

  void AddDecomposition(std::vector<Pass>& passes) const {
    passes.push_back({"decompose", [this](Graph g) { return Decompose(std::move(g), strategy_, registry_); }});
  }

  void AddFusions(Fusion::When when, std::vector<Pass>& passes) const {
    if (!options_.fuse) return;
    for (const Fusion& fusion : registry_.fusions()) {
      if (fusion.when != when || (fusion.for_gpu && !options_.for_gpu)) continue;
      passes.push_back({fusion.name, [&fusion, this](Graph g) { return fusion.apply(std::move(g), registry_); },
                        /*optional=*/true});
    }
  }

  // Of the partitioned graph: what is given lies as what is read.
  void AddGivenForms(std::vector<Pass>& passes) const {
    if (options_.given.empty()) return;
    passes.push_back({"give_inputs", [this](Graph g) { return GiveInputs(g, options_.given, registry_); }});
  }

  // Of the partitioned graph: casts lie as what they cast, so that weights are split as without them.
  void AddMixedPrecision(std::vector<Pass>& passes) const {
    if (!options_.mix_precision) return;
    passes.push_back({"mix_precision", [this](Graph g) { return MixPrecision(g, registry_); }});
  }

  void AddUnrolling(std::vector<Pass>& passes) const {
    const int64_t parts = strategy_.pipeline.micro_batches;
    if (parts == 1) return;
    passes.push_back({"unroll_micro_batches", [=, this](Graph g) { return UnrollMicroBatches(g, parts, registry_); }});
  }

  // -1: chosen from what there is.
  void AddBuckets(int64_t bytes, std::vector<Pass>& passes) const {
    passes.push_back({"bucket_all_reduces",
                      [bytes, this](Graph g) { return BucketAllReduces(g, bytes >= 0 ? bytes : ChosenBucketBytes(g)); },
                      /*optional=*/true});
  }

  int64_t ChosenBucketBytes(const Graph& graph) const {
    if (!options_.speed) return BucketBytes(graph);
    const LinkSpeed& link = options_.speed->collective;
    return BucketBytes(graph, link.latency_seconds, link.bytes_per_second);
  }

  void AddPipelineOrder(std::vector<Pass>& passes) const {
    if (strategy_.pipeline.micro_batches == 1) return;
    passes.push_back({"order_pipeline", [this](Graph g) { return OrderPipeline(g, strategy_.pipeline); }});
  }

  void AddRecomputation(std::vector<Pass>& passes) const {
    if (strategy_.recompute.empty()) return;
    passes.push_back({"recompute", [this](Graph g) { return Recompute(std::move(g), strategy_.recompute); },
                      /*optional=*/true});
  }

  void AddExchanges(std::vector<Pass>& passes) const {
    std::optional<ExchangeMode> only = strategy_.exchanges;
    if (!only && !options_.speed) only = ExchangeMode::kDirect;
    LinkCost link;
    if (options_.speed) link = {options_.speed->message.latency_seconds, options_.speed->message.bytes_per_second};
    passes.push_back({"choose_exchanges", [link, only](Graph g) { return ChooseExchanges(std::move(g), link, only); }});
  }

  void AddVotes(std::vector<Pass>& passes) const {
    if (!options_.count_votes) return;
    passes.push_back({"count_votes", [this](Graph g) { return CountVotes(g, registry_); }});
  }

  const Model& model_;
  const Strategy& strategy_;
  const OpRegistry& registry_;
  const ProgramOptions& options_;
};

// What is not there or lies otherwise would be another state than that of training.
absl::Status CheckStates(const Graph& training, const Graph& entry) {
  for (const State& state : entry.states()) {
    const Value& value = entry.value(state.value);
    const ValueId trained = training.Find(value.name);
    if (trained == kNoValue) return InvalidArgument("state {} is none of training", Quoted(value.name));
    const auto printed = [](const Graph& graph, ValueId id) {
      const TensorType& type = graph.type(id);
      return fmt::format("{}{} {}", Name(type.dtype), ToString(type.shape), ToString(graph.layout(id), graph.mesh(id)));
    };
    if (training.type(trained) == value.type && training.layout(trained) == value.layout) continue;
    return InvalidArgument("state {} is {}; in training it is {}", Quoted(value.name), printed(entry, state.value),
                           printed(training, trained));
  }
  return absl::OkStatus();
}

// Makes the entry points one after the other. Borrows all that it is given.
class ProgramMaker {
 public:
  ProgramMaker(const Model& model, const Strategy& strategy, const OpRegistry& registry, const ProgramOptions& options)
      : model_(model), registry_(registry), options_(options), passes_(model, strategy, registry, options) {
    program_.meshes = MeshesOf(strategy);
    program_.learning_rate = model.learning_rate;
  }

  absl::StatusOr<Program> Make() {
    RETURN_IF_ERROR(CheckDisabledPasses());
    RETURN_IF_ERROR(AddSize(model_.graph, ""));
    if (options_.entries) RETURN_IF_ERROR(AddEntries());
    for (const EntryPoint& entry : program_.entries) CollectGroups(entry.graph, program_);
    return std::move(program_);
  }

 private:
  absl::Status CheckDisabledPasses() const {
    std::vector<std::string> optional;
    for (const PassName& pass : AllPasses(registry_)) {
      if (pass.optional) optional.push_back(pass.name);
    }
    for (const std::string& name : options_.disabled_passes) {
      if (std::ranges::find(optional, name) != optional.end()) continue;
      return InvalidArgument("pass {} cannot be disabled; expected one of {}", Quoted(name), fmt::join(optional, ", "));
    }
    return absl::OkStatus();
  }

  absl::Status AddEntries() {
    for (const ModelEntry& entry : model_.entries) {
      RETURN_IF_ERROR(WithContext(fmt::format("entry point {}", Quoted(entry.name)),
                                  entry.is_size() ? AddSize(entry.graph, entry.name) : AddResults(entry)));
    }
    return absl::OkStatus();
  }

  absl::Status AddSize(const Graph& graph, const std::string& size) {
    Graph forward = Typed(graph);
    RETURN_IF_ERROR(Add(EntryName(kTrainEntry, size), forward, ResultNamesOf(graph), passes_.Training(states_)));
    if (size.empty()) states_ = StateLayouts(program_.state_graph());
    std::optional<Graph> predicted;
    if (!options_.predictions.empty()) {
      ASSIGN_OR_RETURN(predicted, OnlyResults(forward, options_.predictions));
    }
    Graph evaluated = DropTrainingOnly(std::move(forward));
    std::vector<std::string> results = ResultNamesOf(evaluated);
    results.insert(results.end(), options_.evaluated.begin(), options_.evaluated.end());
    RETURN_IF_ERROR(Add(EntryName(kEvaluateEntry, size), std::move(evaluated), results,
                        passes_.Evaluation(states_, options_.evaluated)));
    if (!predicted) return absl::OkStatus();
    results = ResultNamesOf(*predicted);
    return Add(EntryName(kPredictEntry, size), *std::move(predicted), results, passes_.Evaluation(states_));
  }

  absl::Status AddResults(const ModelEntry& entry) {
    std::vector<std::string> names;
    for (const ModelEntry::Result& result : entry.results) names.push_back(result.name);
    return Add(entry.name, Typed(entry.graph), names, passes_.Evaluation(states_));
  }

  // `results`: the names of the results, but for the one that the update adds.
  absl::Status Add(const std::string& name, Graph forward, std::vector<std::string> results,
                   const std::vector<Pass>& passes) {
    const PassOptions options{options_.verify_passes, options_.disabled_passes, options_.after_pass};
    ASSIGN_OR_RETURN(Graph made, RunPasses(std::move(forward), passes, name, options));
    if (!program_.entries.empty()) RETURN_IF_ERROR(CheckStates(program_.state_graph(), made));
    if (ResultsOf(made).size() > results.size()) results.emplace_back(kGradientSquaresName);
    program_.entries.push_back(MakeEntryPoint(name, std::move(made), results));
    return absl::OkStatus();
  }

  Graph Typed(const Graph& graph) const {
    return options_.floating == DType::kF32 ? graph : ConvertDType(graph, options_.floating);
  }

  const Model& model_;
  const OpRegistry& registry_;
  const ProgramOptions& options_;
  const PassList passes_;
  Program program_;
  std::map<std::string, Layout> states_;  // of training
};

}  // namespace

// Those of a program that needs them all.
std::vector<PassName> AllPasses(const OpRegistry& registry) {
  const Model model;
  Strategy strategy;
  strategy.pipeline.micro_batches = 2;
  strategy.recompute.emplace_back();
  ProgramOptions options;
  options.mix_precision = options.for_gpu = options.count_votes = true;
  options.given["x"] = {};
  const PassList passes(model, strategy, registry, options);
  std::vector<PassName> names;
  for (const std::vector<Pass>& list : {passes.Training({}), passes.Evaluation({})}) {
    for (const Pass& pass : list) {
      if (std::ranges::find(names, pass.name, &PassName::name) == names.end()) {
        names.push_back({pass.name, pass.optional});
      }
    }
  }
  return names;
}

absl::StatusOr<Program> MakeProgram(const Model& model, const Strategy& strategy, const OpRegistry& registry,
                                    const ProgramOptions& options) {
  return OrExhausted("the program", [&]() -> absl::StatusOr<Program> {
    RETURN_IF_ERROR(CheckStrategy(strategy, model.graph));
    CHECK(!options.mix_precision || options.floating == DType::kF32);
    return ProgramMaker(model, strategy, registry, options).Make();
  });
}

Program OnlyEntries(Program program, const std::vector<std::string>& entries) {
  std::erase_if(program.entries,
                [&](const EntryPoint& each) { return std::ranges::find(entries, each.name) == entries.end(); });
  CHECK(program.entries.size() == entries.size());
  program.groups.clear();
  for (const EntryPoint& entry : program.entries) CollectGroups(entry.graph, program);
  return program;
}

void CollectGroups(const Graph& graph, Program& program) {
  std::set<GroupKey> seen;
  for (const CommunicationGroup& group : program.groups) seen.insert(group.key);
  for (const Node& node : graph.nodes()) {
    if (!node.op->move || !Communicates(graph, node)) continue;
    const GroupKey key = KeyOf(graph, node);
    if (!seen.insert(key).second) continue;
    for (std::vector<int>& ranks : GroupsOf(key, graph.meshes())) program.groups.push_back({key, std::move(ranks)});
  }
}

std::vector<MoveBytes> PredictBytes(const Program& program, const Graph& entry) {
  std::vector<MoveBytes> bytes(program.groups.size());
  for (const Node& node : entry.nodes()) {
    if (!node.op->move) continue;
    const GroupKey key = KeyOf(entry, node);
    for (size_t g = 0; g < program.groups.size(); ++g) {
      if (program.groups[g].key == key) bytes[g] += BytesOfNode(entry, node, program.groups[g].ranks);
    }
  }
  return bytes;
}

}  // namespace partita
