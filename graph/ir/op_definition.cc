#include "graph/ir/op_definition.h"

#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

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

OpRegistry::OpRegistry(std::vector<OpDefinition> definitions, std::vector<Fusion> fusions)
    : fusions_(std::move(fusions)) {
  for (OpDefinition& definition : definitions) {
    const std::string name = definition.name;
    CHECK(definitions_.emplace(name, std::move(definition)).second);
  }
}

const OpDefinition* OpRegistry::Find(const std::string& name) const {
  auto found = definitions_.find(name);
  return found == definitions_.end() ? nullptr : &found->second;
}

const OpDefinition& OpRegistry::Get(Role role) const {
  const OpDefinition* only = nullptr;
  for (const auto& [name, definition] : definitions_) {
    if (definition.role != role) continue;
    CHECK(only == nullptr);
    only = &definition;
  }
  CHECK(only != nullptr);
  return *only;
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

}  // namespace partita
