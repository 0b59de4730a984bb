// XXH3-64 of what a frame carries, in the widest registers that the processor has. Debian's header knows only those
// that a file is compiled for, and with SSE2 alone a tenth of an all_reduce over TCP goes into it.
#ifndef PARTITA_RUNTIME_COMM_TRANSPORT_BODY_CHECKSUM_H_
#define PARTITA_RUNTIME_COMM_TRANSPORT_BODY_CHECKSUM_H_

#include <cstdint>
#include <span>

namespace partita {

// The same number on every machine: XXH3_64bits_withSeed's.
uint64_t BodyChecksum(std::span<const char> body, uint64_t seed);

// Only where the processor has AVX2, on x86-64.
uint64_t BodyChecksumAvx2(std::span<const char> body, uint64_t seed);

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_TRANSPORT_BODY_CHECKSUM_H_
