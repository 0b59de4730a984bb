#include "partitioner/search/elimination/cost_tables.h"

#include <algorithm>
#include <utility>

#include "runtime/base/status.h"

namespace partita {
namespace {

bool AreCosts(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return value >= 0; });
}

absl::Status CheckOp(const OpTable& op) {
  if (op.seconds.empty()) return InvalidArgument("op '{}' has no config: at least one is needed", op.op);
  if (op.bytes.size() != op.seconds.size() || op.configs.size() != op.seconds.size()) {
    return InvalidArgument("op '{}' has {} configs, but the seconds of {} and the bytes of {}", op.op,
                           op.configs.size(), op.seconds.size(), op.bytes.size());
  }
  if (!AreCosts(op.seconds) || !AreCosts(op.bytes))
    return InvalidArgument("op '{}' has a cost that is below zero or not a number", op.op);
  return absl::OkStatus();
}

absl::Status CheckEdge(const CostTables& tables, const EdgeTable& edge) {
  const int ops = static_cast<int>(tables.ops.size());
  if (std::min(edge.from, edge.to) < 0 || std::max(edge.from, edge.to) >= ops || edge.from == edge.to)
    return InvalidArgument("an edge goes from op {} to op {}: there are {} ops", edge.from, edge.to, ops);
  const std::string name = fmt::format("the edge from '{}' to '{}'", tables.ops[edge.from].op, tables.ops[edge.to].op);
  const size_t wanted = tables.ops[edge.from].seconds.size() * tables.ops[edge.to].seconds.size();
  if (!edge.seconds || edge.seconds->size() != wanted)
    return InvalidArgument("{} has {} entries: {} are needed", name, edge.seconds ? edge.seconds->size() : 0, wanted);
  if (!AreCosts(*edge.seconds)) return InvalidArgument("{} has a cost that is below zero or not a number", name);
  return absl::OkStatus();
}

}  // namespace

EdgeMatrix EdgeMatrices::Of(const std::string& signature, const std::function<std::vector<double>()>& make) {
  EdgeMatrix& matrix = by_signature_[signature];
  if (!matrix) matrix = std::make_shared<const std::vector<double>>(make());
  return matrix;
}

Cost CostOf(const CostTables& tables, const std::vector<int>& configs) {
  Cost cost;
  for (size_t i = 0; i < tables.ops.size(); ++i) {
    cost.seconds += tables.ops[i].seconds[configs[i]];
    cost.bytes += tables.ops[i].bytes[configs[i]];
  }
  for (const EdgeTable& edge : tables.edges) {
    const auto columns = static_cast<int64_t>(tables.configs(edge.to));
    cost.seconds += (*edge.seconds)[configs[edge.from] * columns + configs[edge.to]];
  }
  return cost;
}

absl::Status CheckTables(const CostTables& tables) {
  for (const OpTable& op : tables.ops) RETURN_IF_ERROR(CheckOp(op));
  for (const EdgeTable& edge : tables.edges) RETURN_IF_ERROR(CheckEdge(tables, edge));
  return absl::OkStatus();
}

}  // namespace partita
