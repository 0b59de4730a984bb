// Named attributes of a node. Sorted by name, so that printing is deterministic.
#ifndef PARTITA_GRAPH_VALUE_ATTRIBUTES_H_
#define PARTITA_GRAPH_VALUE_ATTRIBUTES_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/value/int_list.h"
#include "runtime/base/check.h"

namespace partita {

using Attribute = std::variant<bool, int64_t, double, std::string, IntList>;

// A value type whose copies share their entries until one of them is changed, so that passes copy nodes cheaply. Copies
// may be used by different threads.
class Attributes {
 public:
  using Entries = std::vector<std::pair<std::string, Attribute>>;  // by name, each once; a node has a few

  Attributes() = default;
  Attributes(std::initializer_list<Entries::value_type> entries) {
    for (const auto& [name, value] : entries) Set(name, value);
  }

  // nullptr: there is none of that name.
  const Attribute* Find(std::string_view name) const {
    const auto found = std::ranges::find(entries(), name, &Entries::value_type::first);
    return found == entries().end() ? nullptr : &found->second;
  }
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  void Set(const std::string& name, Attribute value) {
    Entries& own = Own();
    const auto at = std::ranges::lower_bound(own, name, {}, &Entries::value_type::first);
    if (at != own.end() && at->first == name) {
      at->second = std::move(value);
    } else {
      own.emplace(at, name, std::move(value));
    }
  }
  void Remove(const std::string& name) {
    std::erase_if(Own(), [&](const auto& entry) { return entry.first == name; });
  }

  // The value of a required attribute. The op's definition has filled in defaults and checked types, so a missing one
  // is a bug of ours.
  bool Bool(std::string_view name) const { return Get<bool>(name); }
  int64_t Int(std::string_view name) const { return Get<int64_t>(name); }
  double Float(std::string_view name) const { return Get<double>(name); }
  const std::string& String(std::string_view name) const { return Get<std::string>(name); }
  const IntList& Ints(std::string_view name) const { return Get<IntList>(name); }

  const Entries& entries() const {
    static const auto& none = *new Entries;
    return entries_ ? *entries_ : none;
  }
  bool operator==(const Attributes& other) const { return entries_ == other.entries_ || entries() == other.entries(); }

 private:
  template <typename T>
  const T& Get(std::string_view name) const {
    const Attribute* const found = Find(name);
    CHECK(found != nullptr);
    const T* value = std::get_if<T>(found);
    CHECK(value != nullptr);
    return *value;
  }

  // The entries, shared with no copy any more. Only the owner of the last reference sees a count of 1.
  Entries& Own() {
    if (!entries_ || entries_.use_count() > 1) entries_ = std::make_shared<Entries>(entries());
    return *entries_;
  }

  std::shared_ptr<Entries> entries_;  // nullptr: none
};

// "stride=[2,2]", "rate=0.2", "transpose_x=true", "schedule=one_cycle": how an attribute is written in the text form.
std::string ToString(const Attribute& attribute);

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_ATTRIBUTES_H_
