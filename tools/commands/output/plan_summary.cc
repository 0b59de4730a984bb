// FormatPlan: a plan on a screen, 24 lines of 100 columns whatever it is of.
#include <algorithm>
#include <map>

#include "graph/recompute/recompute.h"
#include "run/plan_page/plan_parts.h"
#include "runtime/base/number.h"
#include "runtime/telemetry/progress.h"
#include "tools/commands/output/plan_text.h"

namespace partita {
namespace {

constexpr size_t kColumns = 100, kMeetings = 4, kMoves = 3;
constexpr double kMuch = 0.5;  // of computing

constexpr char kLegend[] =
    "\npayload: whole buffers; wire: what leaves ranks; along an axis: among ranks that differ on it alone\n"
    "--full: every node with its layout, all launches; --format=dot: a picture; --format=json: everything\n";

// Behind a word, where there are words.
std::string Shortened(const std::string& text, size_t width) {
  if (text.size() <= width) return text;
  const size_t space = text.rfind(' ', width - 4);
  if (space == std::string::npos || space < width / 2) return text.substr(0, width - 3) + "...";
  return text.substr(0, space) + " ...";
}

std::string Line(const std::string& title, const std::string& text) {
  return Shortened(fmt::format("{:<10} {}", title, text), kColumns) + "\n";
}

// The first rank that has most (least) of something.
template <typename Measure>
const PlanRankProto& Most(const PlanProto& plan, Measure measure) {
  return *std::max_element(plan.ranks().begin(), plan.ranks().end(),
                           [&](const auto& a, const auto& b) { return measure(a) < measure(b); });
}

template <typename Measure>
const PlanRankProto& Least(const PlanProto& plan, Measure measure) {
  return Most(plan, [&](const PlanRankProto& rank) { return -measure(rank); });
}

// "12 MFLOP (rank 3) to 15 MFLOP (rank 0)"
template <typename Measure, typename Print>
std::string Range(const PlanProto& plan, Measure measure, Print print) {
  const PlanRankProto &least = Least(plan, measure), &most = Most(plan, measure);
  if (measure(least) == measure(most)) return fmt::format("{} on each rank", print(measure(most)));
  return fmt::format("{} (rank {}) to {} (rank {})", print(measure(least)), least.rank(), print(measure(most)),
                     most.rank());
}

std::string FormatStep(const PlanProto& plan) {
  std::map<std::string, int> phases;
  int moves = 0, again = 0;
  for (const PlanNodeProto& node : plan.nodes()) {
    ++phases[node.phase()];
    again += IsComputedAgain(node.name());
    if (node.axes_size() + node.meshes_size() > 0) ++moves;
  }
  return Line("a step", fmt::format("{} nodes: {} forward, {} backward{}, {} update; {} of them are moves",
                                    plan.nodes_size(), phases["forward"], phases["backward"],
                                    again > 0 ? fmt::format(" ({} again)", again) : "", phases["update"], moves));
}

std::string FormatWork(const PlanProto& plan) {
  const auto flops = [](double value) { return fmt::format("{:.1f} MFLOP", value / 1e6); };
  const auto count = [](int64_t value) { return Counted(value, "launch"); };
  std::string text = Line("work", Range(
                                      plan, [](const PlanRankProto& rank) { return rank.flops(); }, flops));
  text += Line("", Range(
                       plan, [](const PlanRankProto& rank) { return rank.launches(); }, count));
  if (plan.ranks(0).roofline_seconds() == 0) return text;
  const auto time = [](double value) { return fmt::format("at least {:.1f} us", value * 1e6); };
  return text + Line("", Range(
                             plan, [](const PlanRankProto& rank) { return rank.roofline_seconds(); }, time));
}

// "; launches are 83 % of computing", where the least of it is arithmetic and reading and writing.
std::string FormatLaunchCost(const PlanTimeProto& time) {
  const double share = time.compute_seconds() == 0 ? 0 : time.launch_seconds() / time.compute_seconds();
  return share < kMuch ? "" : fmt::format("; launches are {:.0f} % of computing", 100 * share);
}

// On a cluster, if the plan is for one.
std::string FormatTimes(const PlanProto& plan) {
  if (!plan.ranks(0).has_time()) return "";
  const PlanRankProto& slowest = Most(plan, [](const PlanRankProto& rank) { return rank.time().step_seconds(); });
  const PlanTimeProto& time = slowest.time();
  return Line("cluster", fmt::format("{}: a step takes {:.3f} ms, rank {} longest{}", plan.cluster(),
                                     1e3 * time.step_seconds(), slowest.rank(), FormatLaunchCost(time))) +
         Line("  of it", fmt::format("computing {:.3f} ms, exposed communication {:.3f} ms (of {:.3f}), idle {:.3f} ms",
                                     1e3 * time.compute_seconds(), 1e3 * time.exposed_seconds(),
                                     1e3 * time.communication_seconds(), 1e3 * time.idle_seconds()));
}

// "; v100 has 32GiB: it fits": where the rank that has most runs, on a cluster. What the cluster has no room for was
// refused.
std::string FormatRoom(const PlanRankProto& most) {
  const PlanRoomProto& room = most.room();
  if (!most.has_room() || room.used_bytes() > room.memory_bytes()) return "";
  const std::string shared = room.sharing() > 1 ? " for " + Counted(room.sharing(), "rank") : "";
  return fmt::format("; {} has {}{}: it fits", room.device(), FormatBytes(room.memory_bytes()), shared);
}

// Of all ranks, and the parts of the one that has most.
std::string FormatMemory(const PlanProto& plan) {
  const auto total = [](const PlanRankProto& rank) { return rank.memory().total_bytes(); };
  const PlanRankProto& most = Most(plan, total);
  const PlanMemoryProto& memory = most.memory();
  return Line("memory", Range(plan, total, FormatBytes) + FormatRoom(most)) +
         Line("  the most", fmt::format("parameters {}, states {}, inputs {}, activations {}, workspace {}",
                                        FormatBytes(memory.parameter_bytes()), FormatBytes(memory.state_bytes()),
                                        FormatBytes(memory.input_bytes()), FormatBytes(memory.activation_bytes()),
                                        FormatBytes(memory.workspace_bytes())));
}

// Of the one that has most.
std::string FormatProcess(const PlanProto& plan) {
  if (plan.processes_size() == 0) return "";
  const PlanProcessProto& most = *std::ranges::max_element(plan.processes(), {}, &PlanProcessProto::total_bytes);
  return Line("process", fmt::format("{} without data sets: arenas {}, batches ahead {}, program about {}",
                                     FormatBytes(most.total_bytes()), FormatBytes(most.arena_bytes()),
                                     FormatBytes(most.batch_bytes()), FormatBytes(most.program_bytes())));
}

// What groups along the same axes do.
struct Meeting {
  std::string name;
  int64_t groups = 0, operations = 0, payload = 0, wire = 0;
};

std::vector<Meeting> Meetings(const PlanProto& plan) {
  std::map<std::string, Meeting> by_name;
  for (const PlanGroupProto& group : plan.groups()) {
    Meeting& meeting = by_name[FormatMeeting(group)];
    ++meeting.groups;
    meeting.operations += group.operations();
    meeting.payload += group.payload_bytes();
    meeting.wire += group.wire_bytes();
  }
  std::vector<Meeting> meetings;
  for (auto& [name, meeting] : by_name) {
    meeting.name = name;
    meetings.push_back(meeting);
  }
  std::ranges::stable_sort(meetings, [](const Meeting& a, const Meeting& b) { return a.wire > b.wire; });
  return meetings;
}

// All but the first ones as one.
void JoinRest(std::vector<Meeting>& meetings) {
  while (meetings.size() > kMeetings) {
    const Meeting last = meetings.back();
    meetings.pop_back();
    Meeting& rest = meetings.back();
    rest = {"others", rest.groups + last.groups, rest.operations + last.operations, rest.payload + last.payload,
            rest.wire + last.wire};
  }
}

std::string FormatCommunication(const PlanProto& plan) {
  if (plan.groups_size() == 0) return "";
  std::vector<Meeting> meetings = Meetings(plan);
  JoinRest(meetings);
  std::vector<std::vector<std::string>> rows = {{"along", "groups", "collectives", "payload", "wire"}};
  for (const Meeting& meeting : meetings) {
    rows.push_back({Shortened(meeting.name, 40), fmt::format("{}", meeting.groups),
                    fmt::format("{}", meeting.operations), FormatBytes(meeting.payload), FormatBytes(meeting.wire)});
  }
  return "\ncommunication of a step\n" + FormatTable(rows, 1);
}

// Entries are whole, to be copied.
std::string FormatGatherLines(const std::vector<std::string>& gather) {
  if (gather.empty()) return "";
  std::string text = Line("gathers", gather[0]);
  for (size_t i = 1; i < gather.size(); ++i) text += fmt::format("{:<10} {}\n", "", gather[i]);
  return text;
}

// `lines` of their place are taken.
std::string FormatLargestMoves(const PlanProto& plan, size_t lines) {
  std::vector<const PlanNodeProto*> moves;
  for (const PlanNodeProto& node : plan.nodes()) {
    if (node.wire_bytes() > 0) moves.push_back(&node);
  }
  if (moves.empty()) return "";
  std::ranges::stable_sort(moves, [](const auto* a, const auto* b) { return a->wire_bytes() > b->wire_bytes(); });
  const size_t taken = lines + (plan.ranks(0).has_time() ? 2 : 0);  // of times on a cluster
  if (taken >= kMoves) return "";
  moves.resize(std::min(moves.size(), kMoves - taken));
  std::vector<std::vector<std::string>> rows = {{"largest moves", "op", "along", "phase", "wire"}};
  for (const PlanNodeProto* const move : moves) {
    rows.push_back({Shortened(move->name(), 40), Shortened(move->op(), 16), Shortened(FormatMeeting(*move), 16),
                    move->phase(), FormatBytes(move->wire_bytes())});
  }
  return "\n" + FormatTable(rows, 4);
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string FormatPlan(const PlanProto& plan) {
  const std::string mesh = FirstLine(FormatMesh(plan)) +
                           (plan.further_meshes_size() > 0 ? fmt::format(", {} more", plan.further_meshes_size()) : "");
  const std::vector<std::string> gather = FormatGather(plan);
  return Line("model", plan.model()) + Line("ranks", fmt::format("{}, mesh{}", plan.ranks_size(), mesh)) +
         Line("made", FirstLine(FormatBackend(plan))) + FormatStep(plan) + FormatWork(plan) + FormatTimes(plan) +
         FormatMemory(plan) + FormatProcess(plan) + FormatGatherLines(gather) + FormatCommunication(plan) +
         FormatLargestMoves(plan, gather.size()) + kLegend;
}

}  // namespace partita
