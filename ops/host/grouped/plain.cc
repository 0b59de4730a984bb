#include "ops/host/grouped/kinds_of_vectors.h"

#define PARTITA_VECTORS

namespace partita {
namespace {
constexpr int kVectorBytes = 16;
constexpr bool kMakesTiles = false;
}  // namespace
}  // namespace partita

#include "ops/host/grouped/add_filters.h"
#include "ops/host/grouped/make_rows.h"

namespace partita {
const GroupLoops<float> kGroupedPlainF32 = {"plain", RowMakerOf<float>, FilterAdderOf<float>};
const GroupLoops<double> kGroupedPlainF64 = {"plain", RowMakerOf<double>, FilterAdderOf<double>};
const GroupLoops<Bf16> kGroupedPlainBf16 = {"plain", RowMakerOf<Bf16>, FilterAdderOf<Bf16>};
}  // namespace partita
