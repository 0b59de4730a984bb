// WritePlanJson: `trainer plan --format=json`.
#include "graph/proto_io/print_json.h"
#include "run/plan_report/plan_proto.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

// The JSON of a message without its last line end, in two parts: what comes before and behind the place for the
// elements of a list of the root, which is empty in the message.
struct SplitJson {
  std::string before, behind;
};

SplitJson SplitAt(const google::protobuf::Message& message, const std::string& list) {
  const std::string json = PrintJson(message);
  const std::string field = "\n \"" + list + "\": [";  // one space deep: of the root; no string has a line end
  const size_t found = json.find(field + "]");
  CHECK(found != std::string::npos);
  const size_t place = found + field.size();
  return {json.substr(0, place), json.substr(place, json.size() - place - 1)};
}

// Every line of a message's JSON `deeper` spaces deeper.
std::string Indented(const std::string& json, size_t deeper) {
  const std::string spaces(deeper, ' ');
  std::string text = spaces;
  for (const char c : json) {
    text += c;
    if (c == '\n') text += spaces;
  }
  return text;
}

// The elements of `nodes` of a rank in the list of ranks.
std::string LaunchesToJson(const PlanLaunches& launches) {
  std::string text;
  for (const PlanLocalProto& launch : launches) {
    std::string json = PrintJson(launch);
    json.pop_back();
    text += (text.empty() ? "\n" : ",\n") + Indented(json, 4);
  }
  return text.empty() ? text : text + "\n   ";
}

}  // namespace

void WritePlanJson(const Plan& plan, std::ostream& out) {
  PlanProto root = plan.proto;
  root.clear_ranks();
  const SplitJson whole = SplitAt(root, "ranks");
  std::vector<std::string> launches;
  for (const PlanLaunches& kind : plan.launches) launches.push_back(LaunchesToJson(kind));
  out << whole.before;
  for (int r = 0; r < plan.proto.ranks_size(); ++r) {
    const SplitJson rank = SplitAt(plan.proto.ranks(r), "nodes");
    out << (r == 0 ? "\n" : ",\n") << Indented(rank.before, 2) << launches[static_cast<size_t>(plan.of_rank[r])];
    out << Indented(rank.behind, 2).substr(2);
  }
  out << "\n " << whole.behind << "\n";
}

}  // namespace partita
