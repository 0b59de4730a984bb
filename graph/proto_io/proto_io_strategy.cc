#include <set>

#include "graph/proto_io/proto_io.h"
#include "graph/value/limits.h"
#include "graph/value/node_name.h"
#include "proto/strategy.pb.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using MeshAxisProtos = google::protobuf::RepeatedPtrField<MeshAxisProto>;
using AxisProtos = google::protobuf::RepeatedPtrField<AxisConfigProto>;

// `names`: of axes so far.
absl::Status ReadMeshAxes(const MeshAxisProtos& protos, std::set<std::string>& names, Mesh& mesh) {
  if (protos.size() > kMostAxes) {
    return InvalidArgument("it has {} axes; at most {} are allowed", protos.size(), kMostAxes);
  }
  int64_t ranks = 1;
  for (const MeshAxisProto& axis : protos) {
    RETURN_IF_ERROR(CheckNodeName(axis.name()));
    if (!names.insert(axis.name()).second) {
      return InvalidArgument("axis {} is named twice; once is allowed", Quoted(axis.name()));
    }
    if (axis.size() < 1 || axis.size() > kMostRanks || ranks * axis.size() > kMostRanks) {
      return InvalidArgument("axis {} has size {}; at least 1, and at most {} ranks in all, are allowed",
                             Quoted(axis.name()), axis.size(), kMostRanks);
    }
    ranks *= axis.size();
    mesh.axes.push_back({axis.name(), axis.size()});
  }
  return absl::OkStatus();
}

// Whether its ranks are those of a mesh, the whole strategy is asked (CheckStrategy).
absl::StatusOr<Mesh> ReadFurtherMesh(const MeshProto& proto, std::set<std::string>& names) {
  Mesh mesh;
  RETURN_IF_ERROR(WithContext("field name", CheckNodeName(proto.name())));
  mesh.name = proto.name();
  if (proto.axes_size() == 0) return InvalidArgument("it has no axes; at least one with name and size is needed");
  RETURN_IF_ERROR(ReadMeshAxes(proto.axes(), names, mesh));
  mesh.ranks = {proto.ranks().begin(), proto.ranks().end()};
  return mesh;
}

absl::Status ReadMeshes(const StrategyProto& proto, Strategy& strategy) {
  if (proto.mesh_size() == 0)
    return InvalidArgument("field mesh is missing; at least one axis with name and size is needed");
  std::set<std::string> names;
  RETURN_IF_ERROR(WithContext("mesh", ReadMeshAxes(proto.mesh(), names, strategy.mesh)));
  if (proto.further_meshes_size() > kMostFurtherMeshes) {
    return InvalidArgument("it names {} further meshes; at most {} are allowed", proto.further_meshes_size(),
                           kMostFurtherMeshes);
  }
  for (const MeshProto& further : proto.further_meshes()) {
    absl::StatusOr<Mesh> mesh = ReadFurtherMesh(further, names);
    if (!mesh.ok()) return WithContext(fmt::format("further mesh {}", Quoted(further.name())), mesh.status());
    strategy.further_meshes.push_back(*std::move(mesh));
  }
  return absl::OkStatus();
}

absl::Status CheckCuts(const std::vector<int64_t>& cuts, int blocks) {
  bool rising = static_cast<int>(cuts.size()) == blocks + 1 && cuts[0] == 0;
  for (size_t i = 1; i < cuts.size(); ++i) rising = rising && cuts[i] >= cuts[i - 1];
  if (rising) return absl::OkStatus();
  const std::vector<int64_t> shown(cuts.begin(), cuts.begin() + std::min<size_t>(cuts.size(), 16));
  return InvalidArgument("cuts are [{}{}]; {} numbers that begin with 0 and never fall are needed, one more than ranks",
                         fmt::join(shown, ","), cuts.size() > shown.size() ? ",..." : "", blocks + 1);
}

absl::StatusOr<AxisConfig> ReadAxis(const AxisConfigProto& proto, int size) {
  RETURN_IF_ERROR(WithContext("field split", CheckNodeName(proto.split())));
  AxisConfig config{proto.split(), proto.coordinate(), {proto.cuts().begin(), proto.cuts().end()}};
  const bool at = config.split == "at", whole = at || config.split == "replicate";
  if (at && (!proto.has_coordinate() || config.coordinate < 0 || config.coordinate >= size)) {
    return InvalidArgument("split is 'at' and coordinate is {}; a coordinate from 0 to {} is needed",
                           proto.has_coordinate() ? fmt::to_string(config.coordinate) : "missing", size - 1);
  }
  if (!at && proto.has_coordinate()) {
    return InvalidArgument("coordinate is given with split {}; it belongs to split 'at'", Quoted(config.split));
  }
  if (whole && !config.cuts.empty()) {
    return InvalidArgument("cuts are given with split {}, which cuts nothing", Quoted(config.split));
  }
  if (!config.cuts.empty()) RETURN_IF_ERROR(CheckCuts(config.cuts, size));
  return config;
}

std::vector<std::string> AxisNames(const std::vector<Mesh>& meshes) {
  std::vector<std::string> names;
  for (const Mesh& mesh : meshes) {
    for (const MeshAxis& axis : mesh.axes) names.push_back(axis.name);
  }
  return names;
}

absl::StatusOr<std::map<std::string, AxisConfig>> ReadAxes(const AxisProtos& protos, const std::vector<Mesh>& meshes) {
  std::map<std::string, AxisConfig> axes;
  for (const AxisConfigProto& proto : protos) {
    const AxisPlace place = FindAxis(meshes, proto.axis());
    if (place.mesh < 0) {
      return InvalidArgument("{} no axis {}{}", meshes.size() == 1 ? "the mesh has" : "the meshes have",
                             Quoted(proto.axis()), Suggestion(proto.axis(), AxisNames(meshes)));
    }
    absl::StatusOr<AxisConfig> config = ReadAxis(proto, meshes[place.mesh].axes[place.axis].size);
    if (!config.ok()) return WithContext(fmt::format("axis {}", Quoted(proto.axis())), config.status());
    if (!axes.emplace(proto.axis(), *std::move(config)).second) {
      return InvalidArgument("axis {} is named twice; once is allowed", Quoted(proto.axis()));
    }
  }
  return axes;
}

absl::Status CheckPattern(const char* field, std::string pattern) {
  for (char& c : pattern) c = c == '*' || c == '?' ? '_' : c;
  return WithContext(fmt::format("field {} ('*' and '?' are allowed as well)", field), CheckNodeName(pattern));
}

absl::StatusOr<OpConfig> ReadOpConfig(const OpConfigProto& proto, const std::vector<Mesh>& meshes) {
  RETURN_IF_ERROR(CheckPattern("pattern", proto.pattern()));
  if (proto.axes().empty() && proto.update().empty())
    return InvalidArgument("it names no axis; axes or update is needed");
  OpConfig config{proto.pattern(), {}, {}};
  ASSIGN_OR_RETURN(config.axes, ReadAxes(proto.axes(), meshes));
  ASSIGN_OR_RETURN(config.update, ReadAxes(proto.update(), meshes));
  return config;
}

absl::StatusOr<Pipeline> ReadPipeline(const StrategyProto& proto) {
  Pipeline pipeline;
  if (proto.has_micro_batches()) pipeline.micro_batches = proto.micro_batches();
  if (pipeline.micro_batches < 1 || pipeline.micro_batches > kMostMicroBatches) {
    return InvalidArgument("micro_batches is {}; 1 to {} are allowed", pipeline.micro_batches, kMostMicroBatches);
  }
  if (!proto.stage_axis().empty()) RETURN_IF_ERROR(WithContext("field stage_axis", CheckNodeName(proto.stage_axis())));
  pipeline.stage_axis = proto.stage_axis();
  pipeline.stage_meshes = {proto.stage_meshes().begin(), proto.stage_meshes().end()};
  for (const std::string& stage : pipeline.stage_meshes) {
    RETURN_IF_ERROR(WithContext("field stage_meshes", CheckNodeName(stage)));
  }
  if (proto.pipeline().empty()) return pipeline;
  const std::optional<PipelineOrder> order = FindPipelineOrder(proto.pipeline());
  if (!order) {
    return InvalidArgument("pipeline is {}; allowed are {}{}", Quoted(proto.pipeline()),
                           fmt::join(PipelineOrderNames(), ", "), Suggestion(proto.pipeline(), PipelineOrderNames()));
  }
  pipeline.order = *order;
  return pipeline;
}

absl::StatusOr<std::optional<ExchangeMode>> ReadExchanges(const StrategyProto& proto) {
  if (proto.exchanges().empty() || proto.exchanges() == "auto") return std::nullopt;
  const std::optional<ExchangeMode> mode = FindExchangeMode(proto.exchanges());
  if (mode) return mode;
  return InvalidArgument("exchanges is {}; allowed are {}{}", Quoted(proto.exchanges()),
                         fmt::join(ExchangeNames(), ", "), Suggestion(proto.exchanges(), ExchangeNames()));
}

absl::StatusOr<InputGradients> ReadInputGradients(const StrategyProto& proto) {
  if (proto.input_gradients().empty()) return InputGradients::kReduceScatter;
  const std::optional<InputGradients> found = FindInputGradients(proto.input_gradients());
  if (found) return *found;
  return InvalidArgument("input_gradients is {}; allowed are {}{}", Quoted(proto.input_gradients()),
                         fmt::join(InputGradientsNames(), ", "),
                         Suggestion(proto.input_gradients(), InputGradientsNames()));
}

absl::Status ReadRecomputed(const StrategyProto& proto, Strategy& strategy) {
  for (const RecomputedBlockProto& block : proto.recompute()) {
    const std::string context = fmt::format("recompute {}", strategy.recompute.size() + 1);
    if (block.nodes().empty()) return InvalidArgument("{}: it names no node; at least one is needed", context);
    for (const std::string& pattern : block.nodes()) {
      RETURN_IF_ERROR(WithContext(context, CheckPattern("nodes", pattern)));
    }
    strategy.recompute.push_back({{block.nodes().begin(), block.nodes().end()}});
  }
  return absl::OkStatus();
}

absl::StatusOr<Strategy> ReadStrategy(const StrategyProto& proto) {
  Strategy strategy;
  RETURN_IF_ERROR(ReadMeshes(proto, strategy));
  const std::vector<Mesh> meshes = MeshesOf(strategy);
  for (int i = 0; i < proto.ops_size(); ++i) {
    absl::StatusOr<OpConfig> config = ReadOpConfig(proto.ops(i), meshes);
    const std::string context = fmt::format("entry {} ({})", i + 1, Quoted(proto.ops(i).pattern()));
    if (!config.ok()) return WithContext(context, config.status());
    strategy.ops.push_back(*std::move(config));
  }
  ASSIGN_OR_RETURN(strategy.pipeline, ReadPipeline(proto));
  ASSIGN_OR_RETURN(strategy.exchanges, ReadExchanges(proto));
  ASSIGN_OR_RETURN(strategy.input_gradients, ReadInputGradients(proto));
  RETURN_IF_ERROR(ReadRecomputed(proto, strategy));
  if (!proto.has_bucket_bytes()) return strategy;
  strategy.bucket_bytes = proto.bucket_bytes();
  if (strategy.bucket_bytes >= 0) return strategy;
  return InvalidArgument("bucket_bytes is {}; at least 0 is allowed", strategy.bucket_bytes);
}

void WriteAxes(const std::map<std::string, AxisConfig>& axes, AxisProtos& protos) {
  for (const auto& [name, config] : axes) {
    AxisConfigProto& proto = *protos.Add();
    proto.set_axis(name);
    proto.set_split(config.split);
    if (config.split == "at") proto.set_coordinate(config.coordinate);
    for (int64_t cut : config.cuts) proto.add_cuts(cut);
  }
}

void WriteMeshAxes(const Mesh& mesh, MeshAxisProtos& protos) {
  for (const MeshAxis& axis : mesh.axes) {
    MeshAxisProto& written = *protos.Add();
    written.set_name(axis.name);
    written.set_size(axis.size);
  }
}

StrategyProto WriteStrategy(const Strategy& strategy) {
  StrategyProto proto;
  proto.set_schema_version(1);
  WriteMeshAxes(strategy.mesh, *proto.mutable_mesh());
  for (const Mesh& mesh : strategy.further_meshes) {
    MeshProto& written = *proto.add_further_meshes();
    written.set_name(mesh.name);
    WriteMeshAxes(mesh, *written.mutable_axes());
    for (int rank : mesh.ranks) written.add_ranks(rank);
  }
  for (const OpConfig& config : strategy.ops) {
    OpConfigProto& written = *proto.add_ops();
    written.set_pattern(config.pattern);
    WriteAxes(config.axes, *written.mutable_axes());
    WriteAxes(config.update, *written.mutable_update());
  }
  if (strategy.bucket_bytes >= 0) proto.set_bucket_bytes(strategy.bucket_bytes);
  if (strategy.pipeline.micro_batches != 1) {
    proto.set_micro_batches(strategy.pipeline.micro_batches);
    proto.set_pipeline(Name(strategy.pipeline.order));
  }
  proto.set_stage_axis(strategy.pipeline.stage_axis);
  for (const std::string& stage : strategy.pipeline.stage_meshes) proto.add_stage_meshes(stage);
  if (strategy.exchanges) proto.set_exchanges(Name(*strategy.exchanges));
  if (strategy.input_gradients != InputGradients::kReduceScatter) {
    proto.set_input_gradients(Name(strategy.input_gradients));
  }
  for (const RecomputedBlock& block : strategy.recompute) {
    RecomputedBlockProto& written = *proto.add_recompute();
    for (const std::string& pattern : block.nodes) written.add_nodes(pattern);
  }
  return proto;
}

}  // namespace

absl::StatusOr<Strategy> LoadStrategy(const std::string& path) {
  ASSIGN_OR_RETURN(const ProtoFile file, ReadProtoFile(path));
  return ParseStrategy(file.bytes, file.format, path);
}

absl::StatusOr<Strategy> ParseStrategy(const std::string& bytes, ProtoFormat format, const std::string& source) {
  return OrExhausted("a strategy", [&]() -> absl::StatusOr<Strategy> {
    StrategyProto proto;
    RETURN_IF_ERROR(ParseMessage(bytes, format, source, proto));
    absl::StatusOr<Strategy> strategy = ReadStrategy(proto);
    if (!strategy.ok()) return WithContext(source, strategy.status());
    return strategy;
  });
}

std::string PrintStrategy(const Strategy& strategy, ProtoFormat format) {
  return PrintMessage(WriteStrategy(strategy), format);
}

absl::Status SaveStrategy(const Strategy& strategy, const std::string& path) {
  return SaveMessage(WriteStrategy(strategy), path);
}

}  // namespace partita
