// The conversions that a program must apply to the bytes of a data set.
#ifndef PARTITA_RUN_PLAN_PIXEL_FORMS_H_
#define PARTITA_RUN_PLAN_PIXEL_FORMS_H_

#include "graph/given/give_inputs.h"
#include "graph/ir/graph.h"
#include "graph/value/dtype.h"
#include "runtime/data/normalization.h"
#include "runtime/train/image_inputs.h"
#include "runtime/train/trainer.h"

namespace partita {

// In what type pictures for these inputs go into batches: bytes, unless their channels are not those of the input (one
// that takes them flat) or too many for the op that makes numbers of them; then `floating`.
DType PixelTypeOf(const ImageInputs& inputs, const Normalization& normalization, DType floating);

// For ProgramOptions::given.
GivenForms GivenFormsOf(const TrainingData& data);

// For commands that read no data: as if --mock-data provided the pictures of a graph that takes pictures.
GivenForms AssumedForms(const Graph& graph);

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_PIXEL_FORMS_H_
