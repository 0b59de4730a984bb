#include "ops/forms/sample_weights.h"

#include <string>

#include "graph/ir/generated_name.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {

absl::StatusOr<ValueId> WeightsOfRows(EntryBuilder& builder, ValueId value, const SampleRows& samples) {
  const TensorType type = builder.graph().type(value);
  const int64_t size = type.shape[samples.dimension], repeated = samples.repeats * samples.rows;
  CHECK(repeated > 0 && size % repeated == 0);
  ASSIGN_OR_RETURN(const ValueId weights, builder.SampleWeight({type.dtype, {size / repeated}}));
  if (repeated == 1) return weights;
  std::string name = fmt::format("{}@rows{}", kSampleWeightName, samples.rows);
  if (samples.repeats > 1) name += fmt::format("x{}", samples.repeats);
  const ValueId made = builder.graph().Find(name);
  if (made != kNoValue) return made;
  IntList axes, sizes;
  if (samples.repeats > 1) {
    axes.push_back(0);
    sizes.push_back(samples.repeats);
  }
  if (samples.rows > 1) {
    axes.push_back(samples.repeats > 1 ? 2 : 1);
    sizes.push_back(samples.rows);
  }
  ASSIGN_OR_RETURN(const std::vector<ValueId> expanded,
                   builder.Add("expand", {weights}, {{"axes", axes}, {"sizes", sizes}}, {name + "@apart"}));
  ASSIGN_OR_RETURN(const std::vector<ValueId> of_rows,
                   builder.Add("reshape", expanded, {{"shape", IntList{size}}}, {name}));
  return of_rows[0];
}

}  // namespace partita
