#include "ops/forms/sample_weights.h"

#include <string>

#include "graph/ir/generated_name.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<ValueId> WeightsOfRows(EntryBuilder& builder, ValueId value, int64_t rows_of_sample) {
  const TensorType type = builder.graph().type(value);
  const int64_t rows = type.shape[0];
  CHECK(rows_of_sample > 0 && rows % rows_of_sample == 0);
  ASSIGN_OR_RETURN(const ValueId weights, builder.SampleWeight({type.dtype, {rows / rows_of_sample}}));
  if (rows_of_sample == 1) return weights;
  const std::string name = fmt::format("{}@rows{}", kSampleWeightName, rows_of_sample);
  const ValueId made = builder.graph().Find(name);
  if (made != kNoValue) return made;
  const Attributes repeated{{"axes", IntList{1}}, {"sizes", IntList{rows_of_sample}}};
  ASSIGN_OR_RETURN(const std::vector<ValueId> expanded, builder.Add("expand", {weights}, repeated, {name + "@apart"}));
  ASSIGN_OR_RETURN(const std::vector<ValueId> of_rows,
                   builder.Add("reshape", expanded, {{"shape", IntList{rows}}}, {name}));
  return of_rows[0];
}

}  // namespace partita
