// A copy of much data that is not read soon.
#ifndef PARTITA_RUNTIME_COMM_SHARED_STREAM_COPY_H_
#define PARTITA_RUNTIME_COMM_SHARED_STREAM_COPY_H_

#include <cstdint>

namespace partita {

// As memcpy, but past the caches where the processor can: what is overwritten is not read first, and what others use
// stays there.
void StreamCopy(void* to, const void* from, int64_t bytes);

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_SHARED_STREAM_COPY_H_
