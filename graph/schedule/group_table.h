// A program's groups, indexed by key and rank.
#ifndef PARTITA_GRAPH_SCHEDULE_GROUP_TABLE_H_
#define PARTITA_GRAPH_SCHEDULE_GROUP_TABLE_H_

#include <vector>

#include "graph/ir/program.h"

namespace partita {

class GroupTable {
 public:
  explicit GroupTable(const Program& program);

  int keys() const { return static_cast<int>(by_rank_.size()); }
  // The index of a group's key among all keys.
  int KeyOf(int group) const { return keys_[static_cast<size_t>(group)]; }
  // The group by that key that contains the rank; -1: none.
  int GroupOf(int key, int rank) const { return by_rank_[static_cast<size_t>(key)][static_cast<size_t>(rank)]; }

 private:
  std::vector<int> keys_;                  // by group
  std::vector<std::vector<int>> by_rank_;  // by key
};

}  // namespace partita

#endif  // PARTITA_GRAPH_SCHEDULE_GROUP_TABLE_H_
