// FormatPlan: the tables of `trainer plan`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/commands/output/plan_proto.h"

namespace partita {
namespace {

// Rows of cells as lines with columns as wide as they must be; numbers, which is all but `left` columns, to the right.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows, size_t left) {
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      line += c < left ? fmt::format("  {:<{}}", row[c], widths[c]) : fmt::format("  {:>{}}", row[c], widths[c]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string FormatMesh(const PlanProto& plan) {
  std::string text;
  for (const PlanAxisProto& axis : plan.mesh()) text += fmt::format(" {}:{}", axis.name(), axis.size());
  if (text.empty()) text = " one rank";
  for (const PlanMeshProto& mesh : plan.further_meshes()) {
    text += fmt::format("\nmesh {}", mesh.name());
    for (const PlanAxisProto& axis : mesh.axes()) text += fmt::format(" {}:{}", axis.name(), axis.size());
    text += fmt::format(" {{{}}}", fmt::join(mesh.ranks(), ","));
  }
  return text;
}

// What the plan is made for, and whether that is here.
std::string FormatBackend(const PlanBackendProto& backend) {
  const bool host = backend.device() == "host";
  std::string text = fmt::format("for {}: {}", host ? "the host" : backend.device(),
                                 backend.processes() ? "ranks are processes" : "ranks are threads of one process");
  if (host) {
    text += fmt::format(", {} {} for the kernels of each", backend.threads_per_rank(),
                        backend.threads_per_rank() == 1 ? "thread" : "threads");
  }
  if (!host && backend.missing().empty()) text += "; asked for its kernels";
  if (!backend.missing().empty()) {
    text += fmt::format("; by its description, there is none here: {}", backend.missing());
  }
  return text + "\n";
}

// "data+model", or "all~tail" between two meshes.
template <typename Meeting>
std::string FormatMeeting(const Meeting& meeting) {
  return fmt::format("{}{}", fmt::join(meeting.axes(), "+"), fmt::join(meeting.meshes(), "~"));
}

std::string FormatGroups(const PlanProto& plan) {
  std::vector<std::vector<std::string>> rows = {{"group", "collectives", "payload bytes", "wire bytes"}};
  for (const PlanGroupProto& group : plan.groups()) {
    rows.push_back({fmt::format("{}{{{}}}", FormatMeeting(group), fmt::join(group.ranks(), ",")),
                    fmt::format("{}", group.operations()), fmt::format("{}", group.payload_bytes()),
                    fmt::format("{}", group.wire_bytes())});
  }
  return FormatTable(rows, 1);
}

std::string FormatMemory(const PlanProto& plan) {
  std::vector<std::vector<std::string>> rows = {
      {"rank", "parameters", "states", "inputs", "activations", "workspace", "total", "launches", "MFLOP"}};
  for (const PlanRankProto& rank : plan.ranks()) {
    const PlanMemoryProto& memory = rank.memory();
    std::vector<std::string> row = {fmt::format("{}", rank.rank())};
    for (const int64_t bytes : {memory.parameter_bytes(), memory.state_bytes(), memory.input_bytes(),
                                memory.activation_bytes(), memory.workspace_bytes(), memory.total_bytes()}) {
      row.push_back(fmt::format("{}", bytes));
    }
    row.push_back(fmt::format("{}", rank.launches()));
    row.push_back(fmt::format("{:.3f}", rank.flops() / 1e6));
    rows.push_back(std::move(row));
  }
  return FormatTable(rows, 1);
}

std::string FormatNodes(const PlanProto& plan) {
  std::vector<std::vector<std::string>> rows = {
      {"phase", "node", "op", "type", "layout", "MFLOP", "axes", "wire bytes"}};
  for (const PlanNodeProto& node : plan.nodes()) {
    rows.push_back({node.phase(), node.name(), node.op(), node.type(), node.layout(),
                    node.flops() > 0 ? fmt::format("{:.3f}", node.flops() / 1e6) : "", FormatMeeting(node),
                    node.axes_size() + node.meshes_size() > 0 ? fmt::format("{}", node.wire_bytes()) : ""});
  }
  return FormatTable(rows, 5);
}

// "(0,1) (1,0)": by coordinate, the elements needed before and behind the own ones.
std::string FormatWidths(const PlanGhostsProto& ghosts) {
  std::string text;
  for (int i = 0; i < ghosts.before_size(); ++i) {
    text += fmt::format("{}({},{})", i == 0 ? "" : " ", ghosts.before(i), ghosts.behind(i));
  }
  return text;
}

std::string FormatGhosts(const PlanProto& plan) {
  std::vector<std::vector<std::string>> rows = {{"move", "axis", "dimension", "before and behind each block"}};
  for (const PlanNodeProto& node : plan.nodes()) {
    if (!node.has_ghosts()) continue;
    rows.push_back(
        {node.name(), node.axes(0), fmt::format("{}", node.ghosts().dimension()), FormatWidths(node.ghosts())});
  }
  return rows.size() == 1 ? "" : "\nghosts (negative: own elements that are not needed)\n" + FormatTable(rows, 4);
}

std::string FormatLaunches(const PlanRankProto& rank) {
  std::vector<std::vector<std::string>> rows = {{"stream", "launch", "kernel", "local shape", "workspace"}};
  for (const PlanLocalProto& node : rank.nodes()) {
    const bool kernel = !node.kernel().empty();
    rows.push_back({fmt::format("{}", node.stream()), node.name(), kernel ? node.kernel() : "move",
                    kernel ? fmt::format("[{}]", fmt::join(node.shape(), ",")) : "",
                    node.workspace_bytes() > 0 ? fmt::format("{}", node.workspace_bytes()) : ""});
  }
  return FormatTable(rows, 4);
}

// What there is to say of launches: of a kernel that was not to be had, of a workspace that is an estimate.
std::string FormatRemarks(const PlanRankProto& rank) {
  std::vector<std::vector<std::string>> rows = {{"launch", "remark"}};
  for (const PlanLocalProto& node : rank.nodes()) {
    if (!node.remark().empty()) rows.push_back({node.name(), node.remark()});
  }
  return rows.size() == 1 ? "" : fmt::format("\nremarks on launches of rank {}\n", rank.rank()) + FormatTable(rows, 2);
}

// What each node takes at least, where the limits of the device are known.
std::string FormatRoofline(const PlanRankProto& rank) {
  if (rank.roofline_seconds() == 0) return "";
  std::vector<std::vector<std::string>> rows = {{"launch", "bound", "engine", "launches", "us"}};
  for (const PlanLocalProto& node : rank.nodes()) {
    if (!node.has_roofline()) continue;
    const PlanRooflineProto& roofline = node.roofline();
    rows.push_back({node.name(), roofline.bound(), node.engine(), fmt::format("{}", node.launches()),
                    fmt::format("{:.3f}", std::max(roofline.compute_seconds(), roofline.memory_seconds()) * 1e6)});
  }
  return fmt::format("\nleast time of rank {}: {:.1f} us in {} nodes of {} launches\n", rank.rank(),
                     rank.roofline_seconds() * 1e6, rank.nodes_size(), rank.launches()) +
         FormatTable(rows, 3);
}

}  // namespace

std::string FormatPlan(const PlanProto& plan) {
  std::string text = fmt::format("model {}, mesh{}\n", plan.model(), FormatMesh(plan)) + FormatBackend(plan.backend());
  if (plan.groups_size() > 0) text += "\ncommunication of a training step\n" + FormatGroups(plan);
  text += "\nmemory in bytes and work of a training step\n" + FormatMemory(plan);
  text += "\nnodes and layouts\n" + FormatNodes(plan) + FormatGhosts(plan);
  for (const PlanRankProto& rank : plan.ranks()) {
    text += fmt::format("\nlaunches of rank {}\n", rank.rank()) + FormatLaunches(rank) + FormatRemarks(rank) +
            FormatRoofline(rank);
  }
  return text;
}

}  // namespace partita
