#include "tests/ops/case_list.h"

#include "ops/registry.h"

namespace partita {

CaseInput Free(Shape shape) { return {{DType::kF64, std::move(shape)}, true}; }
CaseInput Spread(Shape shape) { return {{DType::kF64, std::move(shape)}, true, Fill::kSpread, -3, 3}; }
CaseInput Fixed(Shape shape, double low, double high) {
  return {{DType::kF64, std::move(shape)}, false, Fill::kUniform, low, high};
}
CaseInput Statistics(Shape shape, double elements) {
  return {{DType::kF64, std::move(shape)}, true, Fill::kStatistics, 0, elements};
}
CaseInput Integers(Shape shape, int64_t below) {
  return {{DType::kI32, std::move(shape)}, false, Fill::kIntegers, 0, static_cast<double>(below)};
}
CaseInput Applied() { return {{DType::kI32, {}}, false, Fill::kIntegers, 1, 2}; }

void Cases::Add(const std::string& op, const std::string& variant, const Attributes& attributes,
                std::vector<std::optional<CaseInput>> inputs, std::vector<size_t> kept) {
  const OpDefinition* definition = Ops().Find(op);
  CHECK(definition != nullptr);
  const absl::StatusOr<Attributes> complete = CompleteAttributes(*definition, attributes);
  CHECK(complete.ok());
  cases_.push_back({op + "/" + variant, op, *complete, std::move(inputs), std::move(kept)});
}

}  // namespace partita
