#include "run/plan_page/plan_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "graph/ir/generated_name.h"
#include "graph/ir/group_key.h"
#include "graph/ir/node_flops.h"
#include "graph/ir/op_definition.h"
#include "graph/moves/move_bytes.h"
#include "graph/timeline/overlap.h"
#include "run/plan_page/plan_parts.h"

namespace partita {
namespace {

constexpr char kOfTheStep[] = "the whole step";

// Repeats with fewer nodes in all are no help to a reader.
constexpr size_t kFewNodes = 6;

// "block12/gelu" -> "block*/gelu", "stage2/b/sum" -> "stage*/*/sum": digits count, and so do parts of one letter.
std::string PatternOf(const std::string& name) {
  std::string pattern;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool is_digit = name[i] >= '0' && name[i] <= '9';
    const bool is_part = (i == 0 || name[i - 1] == '/') && i + 1 < name.size() && name[i + 1] == '/';
    if (is_digit && pattern.ends_with('*')) continue;
    pattern += is_digit || is_part ? '*' : name[i];
  }
  return pattern;
}

bool IsSource(const Node& node) {
  return node.op->name == "parameter" || node.op->name == "state" || node.op->name == "constant" ||
         node.op->name == "input";
}

// Of the part of the sequence; `times` 1: nothing is repeated.
Repeat LongestRepeat(const std::vector<int>& sequence, size_t begin, size_t end) {
  Repeat longest{begin, 1, 1};
  for (size_t period = 1; 2 * period <= end - begin; ++period) {
    size_t equal = 0;  // neighbours from here on that are one period apart
    for (size_t i = end - period; i-- > begin;) {
      equal = sequence[i] == sequence[i + period] ? equal + 1 : 0;
      const size_t times = equal / period + 1;
      if (times > 1 && times * period > (longest.times > 1 ? longest.times * longest.period : 0)) {
        longest = {i, period, times};
      }
    }
  }
  return longest;
}

void AddRepeats(const std::vector<int>& sequence, size_t begin, size_t end, std::vector<Repeat>& repeats) {
  const Repeat longest = LongestRepeat(sequence, begin, end);
  if (longest.times == 1 || longest.times * longest.period < kFewNodes) return;
  AddRepeats(sequence, begin, longest.begin, repeats);
  repeats.push_back(longest);
  AddRepeats(sequence, longest.begin + longest.period * longest.times, end, repeats);
}

class Blocks {
 public:
  Blocks(const Program& program, const RankTimeline& timeline) : graph_(program.graph(kTrainEntry)) {
    for (const Node& node : graph_.nodes()) {
      if (node.phase == Phase::kForward && !node.op->move && !IsSource(node)) AddForward(node);
    }
    nodes_.push_back({kOfTheStep, "", "", ""});
    for (const LaunchSpan& span : timeline.spans) AddTime(span);
    for (const Node& node : graph_.nodes()) {
      if (node.op->move) AddBytes(program, node);
    }
  }

  std::vector<PlanBlock> Folded() const {
    std::vector<PlanBlock> blocks;
    size_t done = 0;
    for (const Repeat& repeat : FindRepeats(Signatures())) {
      AddPlain(done, repeat.begin, blocks);
      AddFolded(repeat, blocks);
      done = repeat.begin + repeat.period * repeat.times;
    }
    AddPlain(done, nodes_.size() - 1, blocks);
    if (nodes_.back().sum_ns() > 0 || nodes_.back().wire_bytes > 0) blocks.push_back({kOfTheStep, 1, {nodes_.back()}});
    return blocks;
  }

 private:
  void AddForward(const Node& node) {
    const Value& output = graph_.value(node.outputs[0]);
    const std::string name = UserNameOf(output.name);
    if (name.empty() || !place_.emplace(name, nodes_.size()).second) return;
    nodes_.push_back({name, node.op->name, fmt::format("{}{}", Name(output.type.dtype), ToString(output.type.shape)),
                      ToString(output.layout, graph_.mesh(output.layout)), FlopsOf(graph_, node)});
  }

  // The forward node that something was made for, by its name: "block1/query/weights@d" is of "block1/query".
  BlockNode& NodeOf(const std::string& name) {
    std::string of = UserNameOf(name);
    while (true) {
      const auto found = place_.find(of);
      if (found != place_.end()) return nodes_[found->second];
      // "block1/query" may be a part of a fused node "block1/query/bias".
      const auto within = place_.lower_bound(of + "/");
      if (within != place_.end() && within->first.starts_with(of + "/")) return nodes_[within->second];
      const size_t slash = of.rfind('/');
      if (slash == std::string::npos) return nodes_.back();
      of.resize(slash);
    }
  }

  void AddTime(const LaunchSpan& span) {
    const Launch& launch = *span.launch;
    if (launch.node < 0) return;
    const TimeRange range = RangeOf(span);
    const bool is_collective = std::holds_alternative<CollectiveLaunch>(launch.work);
    const size_t kind = is_collective                      ? 3
                        : launch.phase == Phase::kForward  ? 0
                        : launch.phase == Phase::kBackward ? 1
                                                           : 2;
    NodeOf(graph_.value(graph_.node(launch.node).outputs[0]).name).ns[kind] += range.end_ns - range.begin_ns;
  }

  void AddBytes(const Program& program, const Node& move) {
    BlockNode& node = NodeOf(graph_.value(move.outputs[0]).name);
    const GroupKey key = KeyOf(graph_, move);
    for (const CommunicationGroup& group : program.groups) {
      if (group.key == key) node.wire_bytes += BytesOfNode(graph_, move, group.ranks).wire;
    }
  }

  // Equal numbers of equal nodes.
  std::vector<int> Signatures() const {
    std::map<std::string, int> known;
    std::vector<int> signatures;
    for (size_t n = 0; n + 1 < nodes_.size(); ++n) {
      const BlockNode& node = nodes_[n];
      const std::string text =
          fmt::format("{}\n{}\n{}\n{}\n{}", PatternOf(node.name), node.op, node.type, node.layout, node.flops);
      signatures.push_back(known.emplace(text, static_cast<int>(known.size())).first->second);
    }
    return signatures;
  }

  // One block for each beginning of neighbours' names.
  void AddPlain(size_t begin, size_t end, std::vector<PlanBlock>& blocks) const {
    for (size_t n = begin; n < end; ++n) {
      const std::string name = BlockOf(nodes_[n].name);
      if (n == begin || blocks.back().name != name) blocks.push_back({name, 1, {}});
      blocks.back().nodes.push_back(nodes_[n]);
    }
  }

  void AddFolded(const Repeat& repeat, std::vector<PlanBlock>& blocks) const {
    const std::string first = Common(repeat, 0), last = Common(repeat, repeat.times - 1);
    PlanBlock block{first == last ? first : first + " ... " + last, static_cast<int>(repeat.times), {}};
    for (size_t n = 0; n < repeat.period; ++n) {
      BlockNode sum = nodes_[repeat.begin + n];
      sum.name = PatternOf(sum.name);
      for (size_t time = 1; time < repeat.times; ++time) {
        const BlockNode& node = nodes_[repeat.begin + time * repeat.period + n];
        for (size_t kind = 0; kind < sum.ns.size(); ++kind) sum.ns[kind] += node.ns[kind];
        sum.wire_bytes += node.wire_bytes;
      }
      block.nodes.push_back(std::move(sum));
    }
    blocks.push_back(std::move(block));
  }

  // What all names of one repetition begin with, up to a '/'; else the first name.
  std::string Common(const Repeat& repeat, size_t time) const {
    const size_t first = repeat.begin + time * repeat.period;
    std::string common = nodes_[first].name;
    for (size_t n = 1; n < repeat.period; ++n) {
      const std::string& name = nodes_[first + n].name;
      while (!common.empty() && name != common && !name.starts_with(common + "/")) {
        common.resize(common.rfind('/') == std::string::npos ? 0 : common.rfind('/'));
      }
    }
    return common.empty() ? nodes_[first].name : common;
  }

  const Graph& graph_;
  std::vector<BlockNode> nodes_;  // forward nodes in order; the last one is of the whole step
  std::map<std::string, size_t> place_;
};

}  // namespace

std::vector<Repeat> FindRepeats(const std::vector<int>& sequence) {
  std::vector<Repeat> repeats;
  AddRepeats(sequence, 0, sequence.size(), repeats);
  return repeats;
}

std::vector<PlanBlock> BlocksOf(const Program& program, const RankTimeline& timeline) {
  return Blocks(program, timeline).Folded();
}

}  // namespace partita
