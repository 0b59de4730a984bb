#include "importer/program/united_samples.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <variant>

namespace partita::torch_export {
namespace {

class Renaming {
 public:
  Renaming(std::string samples, std::set<std::string> others)
      : samples_(std::move(samples)), others_(std::move(others)) {}

  void Apply(Size& size) const {
    if (size.symbol.empty()) return;
    for (const std::string& other : others_) {
      if (size.symbol == other) size.symbol = samples_;
      if (!other.starts_with("Symbol(")) continue;  // a part of another name
      for (size_t at = size.symbol.find(other); at != std::string::npos; at = size.symbol.find(other, at)) {
        size.symbol.replace(at, other.size(), samples_);
        at += samples_.size();
      }
    }
    // A sum of batches is a multiple.
    std::string sum = samples_;
    for (size_t count = 2; count <= others_.size() + 1; ++count) {
      sum += ", " + samples_;
      if (size.symbol == "Add(" + sum + ")") size.symbol = fmt::format("Mul(Integer({}), {})", count, samples_);
    }
  }

 private:
  std::string samples_;
  std::set<std::string> others_;
};

}  // namespace

void UniteSamples(ExportedProgram& program) {
  Size samples;
  std::set<std::string> others;
  for (const Input& input : program.inputs) {
    const auto meta = program.tensors.find(input.name);
    if (input.kind != InputKind::kUser || meta == program.tensors.end() || meta->second.sizes.empty()) continue;
    const Size& first = meta->second.sizes[0];
    if (first.symbol.empty()) continue;
    if (samples.symbol.empty()) samples = first;
    const bool expression = first.symbol.find('(') != std::string::npos && !first.symbol.starts_with("Symbol(");
    if (first.symbol != samples.symbol && first.value == samples.value && !expression) others.insert(first.symbol);
  }
  if (others.empty()) return;
  const Renaming renaming(samples.symbol, others);
  for (auto& [name, meta] : program.tensors) {
    for (Size& size : meta.sizes) renaming.Apply(size);
  }
  for (Node& node : program.nodes) {
    for (auto& [name, argument] : node.arguments) {
      if (auto* const size = std::get_if<Size>(&argument)) renaming.Apply(*size);
      if (auto* const integers = std::get_if<Integers>(&argument)) {
        for (Size& size : integers->sizes) renaming.Apply(size);
      }
    }
  }
}

}  // namespace partita::torch_export
