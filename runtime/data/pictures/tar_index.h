// An index of the files of a tar archive, so that they can be read in any order.
#ifndef PARTITA_RUNTIME_DATA_PICTURES_TAR_INDEX_H_
#define PARTITA_RUNTIME_DATA_PICTURES_TAR_INDEX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

struct TarEntry {
  std::string name;
  int64_t offset = 0;  // of its bytes in the archive
  int64_t size = 0;
  std::string link;  // of a link that leads to no file of the archive: where it leads; else empty
};

// The regular files of an archive in its order, and the links to them (hard and symbolic), which have the bytes of the
// file: ustar, with the long names and large sizes of pax and GNU. Folders and devices are skipped. Archives one behind
// the other in one file (`cat a.tar b.tar`) are read to the last one, as `tar --ignore-zeros` does. libarchive, which
// reads more forms, does not report where bytes lie. kInvalidArgument: the archive, the offset and what was found: a
// compressed one, a header whose checksum is wrong, an end in the middle.
absl::StatusOr<std::vector<TarEntry>> ReadTarIndex(const std::string& path);

}  // namespace partita

#endif  // PARTITA_RUNTIME_DATA_PICTURES_TAR_INDEX_H_
