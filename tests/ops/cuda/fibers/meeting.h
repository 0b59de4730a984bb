// What a thread of a kernel may ask of the block that runs it (block.h). All are called on a fiber of a block.
#ifndef PARTITA_TESTS_OPS_CUDA_FIBERS_MEETING_H_
#define PARTITA_TESTS_OPS_CUDA_FIBERS_MEETING_H_

#include <cstdint>

namespace partita::fibers {

unsigned Lane();        // threadIdx.x
unsigned Depth();       // threadIdx.y
unsigned BlockIndex();  // blockIdx.x
unsigned Lanes();       // blockDim.x
unsigned Depths();      // blockDim.y
unsigned Blocks();      // gridDim.x
int LaneOfWarp();

// Returns when all threads of the block have arrived; fails if some are elsewhere or have ended.
void MeetBlock(const char* file, int line);

// These return when all lanes of `mask` are in the same call: what lane `from` has given, which must be in `mask`; the
// lanes that have given a number other than 0.
uint64_t MeetWarp(const char* call, unsigned mask, uint64_t given, int from);
unsigned Ballot(const char* call, unsigned mask, uint64_t given);

}  // namespace partita::fibers

#endif  // PARTITA_TESTS_OPS_CUDA_FIBERS_MEETING_H_
