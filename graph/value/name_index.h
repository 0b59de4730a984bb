// Finds values by their names without a second copy of these: a table of hashes and ids with open addressing.
#ifndef PARTITA_GRAPH_VALUE_NAME_INDEX_H_
#define PARTITA_GRAPH_VALUE_NAME_INDEX_H_

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace partita {

// The names themselves stay with their owner; `name_of(id)` gives the one of an id that was added. Copied with its
// owner. A const index may be read by many threads.
class NameIndex {
 public:
  static constexpr int32_t kNone = -1;

  void Reserve(size_t names) {
    size_t slots = slots_.size();
    while (slots < 2 * names) slots = slots == 0 ? 16 : 2 * slots;
    if (slots > slots_.size()) Grow(slots);
  }

  template <typename NameOf>
  int32_t Find(std::string_view name, const NameOf& name_of) const {
    if (slots_.empty()) return kNone;
    const uint32_t hash = Hash(name);
    for (size_t s = hash & (slots_.size() - 1); slots_[s].id != kNone; s = (s + 1) & (slots_.size() - 1)) {
      if (slots_[s].hash == hash && name_of(slots_[s].id) == name) return slots_[s].id;
    }
    return kNone;
  }

  // False, and nothing changes, if the name is there already.
  template <typename NameOf>
  bool Add(std::string_view name, int32_t id, const NameOf& name_of) {
    if (Find(name, name_of) != kNone) return false;
    Reserve(size_ + 1);
    Insert({Hash(name), id});
    ++size_;
    return true;
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    int32_t id = kNone;
  };

  static uint32_t Hash(std::string_view name) { return static_cast<uint32_t>(std::hash<std::string_view>()(name)); }

  void Insert(const Slot& slot) {
    size_t s = slot.hash & (slots_.size() - 1);
    while (slots_[s].id != kNone) s = (s + 1) & (slots_.size() - 1);
    slots_[s] = slot;
  }

  void Grow(size_t slots) {
    const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(slots));
    for (const Slot& slot : before) {
      if (slot.id != kNone) Insert(slot);
    }
  }

  std::vector<Slot> slots_;  // a power of two of them, at most half of them taken
  size_t size_ = 0;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_NAME_INDEX_H_
