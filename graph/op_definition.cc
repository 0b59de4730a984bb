#include "graph/op_definition.h"

#include <algorithm>

#include "runtime/base/status.h"

namespace partita {
namespace {

int EditDistance(const std::string& a, const std::string& b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substitution = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitution, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

const char* TypeName(const Attribute& attribute) {
  constexpr const char* kNames[] = {"a boolean", "an integer", "a number", "a word", "a list of integers"};
  return kNames[attribute.index()];
}

}  // namespace

const AttributeDefinition* OpDefinition::FindAttribute(const std::string& attribute) const {
  for (const AttributeDefinition& definition : attributes) {
    if (definition.name == attribute) return &definition;
  }
  return nullptr;
}

OpRegistry::OpRegistry(std::vector<OpDefinition> definitions) {
  for (OpDefinition& definition : definitions) {
    const std::string name = definition.name;
    CHECK(definitions_.emplace(name, std::move(definition)).second);
  }
}

const OpDefinition* OpRegistry::Find(const std::string& name) const {
  auto found = definitions_.find(name);
  return found == definitions_.end() ? nullptr : &found->second;
}

std::vector<std::string> OpRegistry::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, definition] : definitions_) names.push_back(name);
  return names;
}

absl::StatusOr<Attributes> CompleteAttributes(const OpDefinition& op, const Attributes& given) {
  Attributes complete = given;
  for (const auto& [name, value] : given.entries()) {
    const AttributeDefinition* definition = op.FindAttribute(name);
    if (definition == nullptr) {
      std::vector<std::string> names;
      for (const AttributeDefinition& known : op.attributes) names.push_back(known.name);
      const std::optional<std::string> nearest = NearestName(name, names);
      return InvalidArgument(
          "op '{}' has no attribute '{}'; {}", op.name, name,
          nearest ? fmt::format("did you mean '{}'?", *nearest) : fmt::format("it has [{}]", fmt::join(names, ", ")));
    }
    const Attribute& type = definition->type_and_default;
    if (value.index() == type.index()) continue;
    if (std::holds_alternative<double>(type) && std::holds_alternative<int64_t>(value)) {
      complete.Set(name, static_cast<double>(std::get<int64_t>(value)));
    } else {
      return InvalidArgument("attribute '{}' of op '{}' is {}; found {} ({})", name, op.name, TypeName(type),
                             TypeName(value), ToString(value));
    }
  }
  if (given.entries().size() == op.attributes.size()) return complete;
  for (const AttributeDefinition& definition : op.attributes) {
    if (complete.Has(definition.name)) continue;
    if (definition.required) return InvalidArgument("op '{}' needs attribute '{}'", op.name, definition.name);
    complete.Set(definition.name, definition.type_and_default);
  }
  return complete;
}

std::optional<std::string> NearestName(const std::string& name, const std::vector<std::string>& names) {
  constexpr size_t kLongestCompared = 64;  // a distance takes time in the product of the lengths
  if (name.size() > kLongestCompared) return std::nullopt;
  std::optional<std::string> nearest;
  int least = std::max<int>(1, static_cast<int>(name.size()) / 3) + 1;
  for (const std::string& candidate : names) {
    if (candidate.size() > kLongestCompared) continue;
    const int distance = EditDistance(name, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace partita
