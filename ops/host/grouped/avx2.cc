#include "ops/host/grouped/kinds_of_vectors.h"

#if defined(__x86_64__)
#define PARTITA_VECTORS __attribute__((target("avx2,fma")))

namespace partita {
namespace {
constexpr int kVectorBytes = 32;
constexpr bool kMakesTiles = true;
}  // namespace
}  // namespace partita

#include "ops/host/grouped/add_filters.h"
#include "ops/host/grouped/make_rows.h"

namespace partita {
const GroupLoops<float> kGroupedAvx2F32 = {"AVX2", RowMakerOf<float>, FilterAdderOf<float>};
const GroupLoops<double> kGroupedAvx2F64 = {"AVX2", RowMakerOf<double>, FilterAdderOf<double>};
const GroupLoops<Bf16> kGroupedAvx2Bf16 = {"AVX2", RowMakerOf<Bf16>, FilterAdderOf<Bf16>};
}  // namespace partita
#endif
