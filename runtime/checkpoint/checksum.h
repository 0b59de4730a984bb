// The checksum of our files: XXH3-128 over the header without it, as we would write it, and then over all tensors.
#ifndef PARTITA_RUNTIME_CHECKPOINT_CHECKSUM_H_
#define PARTITA_RUNTIME_CHECKPOINT_CHECKSUM_H_

#include <xxhash.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/header.h"

namespace partita {

// Of bytes that come piece by piece.
class FileHash {
 public:
  FileHash() { XXH3_128bits_reset(&state_); }
  void Add(const void* bytes, size_t count) { XXH3_128bits_update(&state_, bytes, count); }
  std::string Text() const;

 private:
  XXH3_state_t state_;
};

// Of all of these.
std::string HashOfBytes(std::string_view bytes);

// What the tensors are still to be added to. kInvalidArgument: a name or text that is not UTF-8.
absl::StatusOr<FileHash> HashOfHeader(const std::string& file, Header header);

// `hash`: of the header and all tensors. kInvalidArgument: the metadata says another one, or none though the file is
// ours.
absl::Status CheckChecksum(const std::string& file, const std::map<std::string, std::string>& metadata,
                           const FileHash& hash);

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_CHECKSUM_H_
