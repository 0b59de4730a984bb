// Named attributes of a node. Sorted by name, so that printing is deterministic.
#ifndef PARTITA_GRAPH_ATTRIBUTES_H_
#define PARTITA_GRAPH_ATTRIBUTES_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/check.h"

namespace partita {

using Attribute = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> entries) : entries_(entries) {}

  bool Has(const std::string& name) const { return entries_.count(name) > 0; }
  void Set(const std::string& name, Attribute value) { entries_[name] = std::move(value); }
  void Remove(const std::string& name) { entries_.erase(name); }

  // The value of a required attribute. The op's definition has filled in defaults and checked types, so a missing one
  // is a bug of ours.
  bool Bool(const std::string& name) const { return Get<bool>(name); }
  int64_t Int(const std::string& name) const { return Get<int64_t>(name); }
  double Float(const std::string& name) const { return Get<double>(name); }
  const std::string& String(const std::string& name) const { return Get<std::string>(name); }
  const std::vector<int64_t>& Ints(const std::string& name) const { return Get<std::vector<int64_t>>(name); }

  const std::map<std::string, Attribute>& entries() const { return entries_; }
  bool operator==(const Attributes&) const = default;

 private:
  template <typename T>
  const T& Get(const std::string& name) const {
    auto found = entries_.find(name);
    CHECK(found != entries_.end());
    const T* value = std::get_if<T>(&found->second);
    CHECK(value != nullptr);
    return *value;
  }

  std::map<std::string, Attribute> entries_;
};

// "stride=[2,2]", "rate=0.2", "transpose_x=true", "schedule=one_cycle": how an attribute is written in the text form.
std::string ToString(const Attribute& attribute);

}  // namespace partita

#endif  // PARTITA_GRAPH_ATTRIBUTES_H_
