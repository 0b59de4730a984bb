#include "graph/ir/op_definition.h"

#include "runtime/base/check.h"

namespace partita {
const AttributeDefinition* OpDefinition::FindAttribute(const std::string& attribute) const {
  for (const AttributeDefinition& definition : attributes) {
    if (definition.name == attribute) return &definition;
  }
  return nullptr;
}

OpRegistry::OpRegistry(std::vector<OpDefinition> definitions, std::vector<Fusion> fusions, Optimizers optimizers)
    : fusions_(std::move(fusions)), optimizers_(std::move(optimizers)) {
  for (OpDefinition& definition : definitions) {
    const std::string name = definition.name;
    const auto [entry, added] = definitions_.emplace(name, std::move(definition));
    CHECK(added);
    const OpDefinition& op = entry->second;
    const auto [in_role, alone] = by_role_.emplace(op.role, &op);
    if (!alone) in_role->second = nullptr;
    if (op.move) CHECK(by_move_.emplace(*op.move, &op).second);
  }
}

const OpDefinition* OpRegistry::Find(const std::string& name) const {
  auto found = definitions_.find(name);
  return found == definitions_.end() ? nullptr : &found->second;
}

const OpDefinition& OpRegistry::Get(Role role) const {
  const auto found = by_role_.find(role);
  CHECK(found != by_role_.end() && found->second != nullptr);
  return *found->second;
}

const OpDefinition& OpRegistry::Get(MoveKind move) const {
  const auto found = by_move_.find(move);
  CHECK(found != by_move_.end());
  return *found->second;
}

std::vector<std::string> OpRegistry::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, definition] : definitions_) names.push_back(name);
  return names;
}

absl::StatusOr<Attributes> CompleteAttributes(const OpDefinition& op, const Attributes& given) {
  return CompleteAttributes("op", op.name, op.attributes, given);
}

}  // namespace partita
