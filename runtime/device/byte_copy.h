// A run of bytes and where it goes.
#ifndef PARTITA_RUNTIME_DEVICE_BYTE_COPY_H_
#define PARTITA_RUNTIME_DEVICE_BYTE_COPY_H_

#include <cstdint>

namespace partita {

struct ByteCopy {
  void* to;
  const void* from;
  int64_t bytes;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_BYTE_COPY_H_
