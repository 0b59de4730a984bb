#include "partitioner/repair/stretches.h"

#include <algorithm>
#include <map>
#include <utility>

namespace partita {
namespace {

// For each value that a node computes the last node that reads it; -1: none does.
std::vector<NodeId> LastReaders(const Graph& forward) {
  std::vector<NodeId> last(forward.values().size(), -1);
  for (NodeId id = 0; id < static_cast<NodeId>(forward.nodes().size()); ++id) {
    for (const ValueId input : forward.node(id).inputs) {
      if (input != kNoValue) last[input] = id;
    }
  }
  return last;
}

// "a/b/c" -> "a/", "a/b/"
std::vector<std::string> FoldersOf(const std::string& name) {
  std::vector<std::string> folders;
  for (size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1)) {
    folders.push_back(name.substr(0, end + 1));
  }
  return folders;
}

std::map<std::string, int> NodesByFolder(const std::vector<Stretch>& stretches, int first, int last) {
  std::map<std::string, int> nodes;
  for (int s = first; s <= last; ++s) {
    for (const std::string& name : stretches[s]) {
      for (const std::string& folder : FoldersOf(name)) ++nodes[folder];
    }
  }
  return nodes;
}

}  // namespace

std::vector<Stretch> StretchesOf(const Graph& forward) {
  const std::vector<NodeId> last_reader = LastReaders(forward);
  std::map<NodeId, int> ending;  // by their last reader: values of several elements that are still to be read
  int passing = 0;
  std::vector<Stretch> stretches(1);
  for (NodeId id = 0; id < static_cast<NodeId>(forward.nodes().size()); ++id) {
    if (const auto read = ending.find(id); read != ending.end()) passing -= read->second;
    if (forward.node(id).inputs.empty()) continue;
    stretches.back().push_back(forward.name(id));
    int own = 0;
    for (const ValueId output : forward.node(id).outputs) {
      if (last_reader[output] < 0 || Elements(forward.type(output).shape) <= 1) continue;
      ++ending[last_reader[output]];
      ++own;
    }
    passing += own;
    if (passing == 1 && own == 1) stretches.emplace_back();
  }
  if (stretches.back().empty()) stretches.pop_back();
  return stretches;
}

std::vector<RecomputedBlock> BlocksOf(const std::vector<Stretch>& stretches, const RecomputePlan& plan) {
  const std::map<std::string, int> all = NodesByFolder(stretches, 0, static_cast<int>(stretches.size()) - 1);
  std::vector<RecomputedBlock> blocks;
  for (const RecomputeRange& range : plan) {
    const std::map<std::string, int> own = NodesByFolder(stretches, range.first, range.last);
    std::vector<std::string> nodes;
    for (int s = range.first; s <= range.last; ++s) {
      for (const std::string& name : stretches[s]) {
        const std::vector<std::string> folders = FoldersOf(name);
        const auto whole = std::ranges::find_if(
            folders, [&](const std::string& folder) { return own.at(folder) > 1 && own.at(folder) == all.at(folder); });
        const std::string said = whole == folders.end() ? name : *whole + "*";
        if (std::ranges::find(nodes, said) == nodes.end()) nodes.push_back(said);
      }
    }
    blocks.push_back({std::move(nodes)});
  }
  return blocks;
}

}  // namespace partita
