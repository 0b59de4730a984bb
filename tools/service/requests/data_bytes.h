// The memory that a run's data set takes while it trains.
#ifndef PARTITA_TOOLS_SERVICE_REQUESTS_DATA_BYTES_H_
#define PARTITA_TOOLS_SERVICE_REQUESTS_DATA_BYTES_H_

#include <cstdint>

#include "proto/run.pb.h"

namespace partita::service {

// The bytes of the files that a run keeps in memory as a whole, unpacked where they are .gz: IDX files, arrays, texts.
// 0 of pictures, which stay on the disk, of random data, and of what cannot be read, which the run says when it starts.
int64_t DataBytes(const DataSpec& data);

}  // namespace partita::service

#endif  // PARTITA_TOOLS_SERVICE_REQUESTS_DATA_BYTES_H_
