// WriteWholePlan: the tables of `trainer plan --full`.
#include "tools/commands/output/plan_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "run/plan_page/plan_parts.h"
#include "runtime/base/number.h"

namespace partita {
namespace {

constexpr char kLayoutLegend[] =
    "  layout: what lies where, for each axis of the mesh. R: all of it on every rank; S1: dimension 1 (from 0) in\n"
    "  parts, S1[0,3,8]: cut there, S1(28x3/1-1): also what windows of 3 by steps of 1 reach of the neighbours, "
    "padded\n"
    "  by 1; P: on every rank a summand; At2: only where the axis has coordinate 2. type: of the whole.\n";

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
  std::vector<std::vector<std::string>> rows = {{"rank", "parameters", "states", "inputs", "activations", "workspace",
                                                 "largest one", "total", "launches", "MFLOP"}};
  for (const PlanRankProto& rank : plan.ranks()) {
    const PlanMemoryProto& memory = rank.memory();
    std::vector<std::string> row = {fmt::format("{}", rank.rank())};
    for (const int64_t bytes :
         {memory.parameter_bytes(), memory.state_bytes(), memory.input_bytes(), memory.activation_bytes(),
          memory.workspace_bytes(), memory.largest_workspace_bytes(), memory.total_bytes()}) {
      row.push_back(fmt::format("{}", bytes));
    }
    row.push_back(fmt::format("{}", rank.launches()));
    row.push_back(fmt::format("{:.3f}", rank.flops() / 1e6));
    rows.push_back(std::move(row));
  }
  return FormatTable(rows, 1);
}

std::string FormatProcesses(const PlanProto& plan) {
  if (plan.processes_size() == 0) return "";
  std::vector<std::vector<std::string>> rows = {{"process of ranks", "arenas", "batches ahead", "program", "total"}};
  for (const PlanProcessProto& process : plan.processes()) {
    std::vector<std::string> row = {fmt::format("{}", fmt::join(process.ranks(), ","))};
    for (const int64_t bytes :
         {process.arena_bytes(), process.batch_bytes(), process.program_bytes(), process.total_bytes()}) {
      row.push_back(fmt::format("{}", bytes));
    }
    rows.push_back(std::move(row));
  }
  return "\nmemory of processes in bytes, but for a data set that is kept whole\n" + FormatTable(rows, 1);
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

std::string FormatLaunches(const PlanLaunches& launches) {
  std::vector<std::vector<std::string>> rows = {{"stream", "launch", "kernel", "local shape", "workspace"}};
  for (const PlanLocalProto& node : launches) {
    const bool kernel = !node.kernel().empty();
    rows.push_back({fmt::format("{}", node.stream()), node.name(), kernel ? node.kernel() : "move",
                    kernel ? fmt::format("[{}]", fmt::join(node.shape(), ",")) : "",
                    node.workspace_bytes() > 0 ? fmt::format("{}", node.workspace_bytes()) : ""});
  }
  return FormatTable(rows, 4);
}

// What there is to say of launches: of a kernel that was not to be had, of a workspace that is an estimate.
std::string FormatRemarks(const PlanRankProto& rank, const PlanLaunches& launches) {
  std::vector<std::vector<std::string>> rows = {{"launch", "remark"}};
  for (const PlanLocalProto& node : launches) {
    if (!node.remark().empty()) rows.push_back({node.name(), node.remark()});
  }
  return rows.size() == 1 ? "" : fmt::format("\nremarks on launches of rank {}\n", rank.rank()) + FormatTable(rows, 2);
}

// What each node takes at least, where the limits of the device are known.
std::string FormatRoofline(const PlanRankProto& rank, const PlanLaunches& launches) {
  if (rank.roofline_seconds() == 0) return "";
  std::vector<std::vector<std::string>> rows = {{"launch", "bound", "engine", "launches", "us"}};
  for (const PlanLocalProto& node : launches) {
    if (!node.has_roofline()) continue;
    const PlanRooflineProto& roofline = node.roofline();
    rows.push_back({node.name(), roofline.bound(), node.engine(), fmt::format("{}", node.launches()),
                    fmt::format("{:.3f}", std::max(roofline.compute_seconds(), roofline.memory_seconds()) * 1e6)});
  }
  return fmt::format("\nleast time of rank {}: {:.1f} us in {} of {}\n", rank.rank(), rank.roofline_seconds() * 1e6,
                     Counted(launches.size(), "node"), Counted(rank.launches(), "launch")) +
         FormatTable(rows, 3);
}

// On a cluster, if the plan is for one.
std::string FormatTimes(const PlanProto& plan) {
  if (!plan.ranks(0).has_time()) return "";
  const auto us = [](double seconds) { return fmt::format("{:.3f}", seconds * 1e6); };
  std::vector<std::vector<std::string>> rows = {
      {"rank", "step us", "computing us", "communicating us", "of it exposed us", "idle us"}};
  for (const PlanRankProto& rank : plan.ranks()) {
    const PlanTimeProto& time = rank.time();
    rows.push_back({fmt::format("{}", rank.rank()), us(time.step_seconds()), us(time.compute_seconds()),
                    us(time.communication_seconds()), us(time.exposed_seconds()), us(time.idle_seconds())});
  }
  return fmt::format("\ntimes of a step on cluster {}, simulated\n", plan.cluster()) + FormatTable(rows, 1);
}

}  // namespace

void WriteWholePlan(const Plan& made, std::ostream& out) {
  const PlanProto& plan = made.proto;
  out << fmt::format("model {}, mesh{}\n", plan.model(), FormatMesh(plan)) << FormatBackend(plan);
  if (plan.groups_size() > 0) {
    out << "\ncommunication of a training step (payload: whole buffers; wire: what leaves a rank)\n"
        << FormatGroups(plan);
  }
  const std::vector<std::string> gather = FormatGather(plan);
  for (size_t i = 0; i < gather.size(); ++i) out << (i == 0 ? "\ngathers " : "  ") << gather[i] << "\n";
  out << "\nmemory in bytes and work of a training step\n" << FormatMemory(plan) << FormatProcesses(plan);
  out << FormatTimes(plan) << "\nnodes and layouts\n" << FormatNodes(plan) << kLayoutLegend << FormatGhosts(plan);
  std::vector<std::string> tables;
  for (const PlanLaunches& launches : made.launches) tables.push_back(FormatLaunches(launches));
  for (int r = 0; r < plan.ranks_size(); ++r) {
    const PlanRankProto& rank = plan.ranks(r);
    const PlanLaunches& launches = made.LaunchesOf(r);
    out << fmt::format("\nlaunches of rank {}\n", rank.rank()) << tables[static_cast<size_t>(made.of_rank[r])]
        << FormatRemarks(rank, launches) << FormatRoofline(rank, launches);
  }
}

}  // namespace partita
