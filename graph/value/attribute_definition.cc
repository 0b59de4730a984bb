#include "graph/value/attribute_definition.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

const char* TypeName(const Attribute& attribute) {
  constexpr const char* kNames[] = {"a boolean", "an integer", "a number", "a word", "a list of integers"};
  return kNames[attribute.index()];
}

}  // namespace

absl::StatusOr<Attributes> CompleteAttributes(const char* kind, const std::string& owner,
                                              const std::vector<AttributeDefinition>& definitions,
                                              const Attributes& given) {
  Attributes complete = given;
  for (const auto& [name, value] : given.entries()) {
    const auto definition = std::ranges::find(definitions, name, &AttributeDefinition::name);
    if (definition == definitions.end()) {
      std::vector<std::string> names;
      for (const AttributeDefinition& known : definitions) names.push_back(known.name);
      if (names.empty()) return InvalidArgument("{} '{}' has no attribute '{}'; it takes none", kind, owner, name);
      const std::optional<std::string> nearest = NearestName(name, names);
      return InvalidArgument(
          "{} '{}' has no attribute '{}'; {}", kind, owner, name,
          nearest ? fmt::format("did you mean '{}'?", *nearest) : fmt::format("it has {}", fmt::join(names, ", ")));
    }
    const Attribute& type = definition->type_and_default;
    if (value.index() == type.index()) continue;
    if (std::holds_alternative<double>(type) && std::holds_alternative<int64_t>(value)) {
      complete.Set(name, static_cast<double>(std::get<int64_t>(value)));
    } else {
      return InvalidArgument("attribute '{}' of {} '{}' is {}; found {} ({})", name, kind, owner, TypeName(type),
                             TypeName(value), ToString(value));
    }
  }
  if (given.entries().size() == definitions.size()) return complete;
  for (const AttributeDefinition& definition : definitions) {
    if (complete.Has(definition.name) || definition.optional) continue;
    if (definition.required) {
      return InvalidArgument("{} '{}' needs attribute '{}'", kind, owner, definition.name);
    }
    complete.Set(definition.name, definition.type_and_default);
  }
  return complete;
}

absl::Status CheckRange(const std::string& field, double value, double least, double below) {
  if (std::isfinite(value) && value >= least && value < below) return absl::OkStatus();
  if (std::isfinite(below)) {
    return InvalidArgument("{} is {}; at least {} and less than {} is allowed", field, value, least, below);
  }
  return InvalidArgument("{} is {}; a finite number of at least {} is allowed", field, value, least);
}

}  // namespace partita
