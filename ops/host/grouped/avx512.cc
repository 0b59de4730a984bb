#include "ops/host/grouped/kinds_of_vectors.h"

#if defined(__x86_64__)
#define PARTITA_VECTORS __attribute__((target("avx512f")))

namespace partita {
namespace {
constexpr int kVectorBytes = 64;
constexpr bool kMakesTiles = true;
}  // namespace
}  // namespace partita

#include "ops/host/grouped/add_filters.h"
#include "ops/host/grouped/make_rows.h"

namespace partita {
const GroupLoops<float> kGroupedAvx512F32 = {"AVX-512", RowMakerOf<float>, FilterAdderOf<float>};
const GroupLoops<double> kGroupedAvx512F64 = {"AVX-512", RowMakerOf<double>, FilterAdderOf<double>};
const GroupLoops<Bf16> kGroupedAvx512Bf16 = {"AVX-512", RowMakerOf<Bf16>, FilterAdderOf<Bf16>};
}  // namespace partita
#endif
