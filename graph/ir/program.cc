#include "graph/ir/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {

const EntryPoint* Program::Find(std::string_view entry) const {
  const auto found = std::ranges::find(entries, entry, &EntryPoint::name);
  return found == entries.end() ? nullptr : &*found;
}

absl::StatusOr<int> Program::PlaceOf(std::string_view entry) const {
  if (const EntryPoint* const found = Find(entry)) return static_cast<int>(found - entries.data());
  std::vector<std::string> known;
  for (const EntryPoint& each : entries) known.push_back(fmt::format("'{}'", each.name));
  return InvalidArgument("the program has no entry point '{}'; it has {}", entry, fmt::join(known, ", "));
}

const Graph& Program::graph(std::string_view entry) const {
  const EntryPoint* const found = Find(entry);
  CHECK(found != nullptr);
  return found->graph;
}

int Program::GroupOf(const GroupKey& key, int rank) const {
  for (size_t g = 0; g < groups.size(); ++g) {
    const CommunicationGroup& group = groups[g];
    if (group.key == key && std::find(group.ranks.begin(), group.ranks.end(), rank) != group.ranks.end()) {
      return static_cast<int>(g);
    }
  }
  return -1;
}

std::string ToString(const CommunicationGroup& group, const std::vector<Mesh>& meshes) {
  return fmt::format("{}{{{}}}", fmt::join(NamesOf(group.key, meshes), group.key.between() ? "~" : ","),
                     fmt::join(group.ranks, ","));
}

}  // namespace partita
