#include "runtime/admission/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "runtime/base/status.h"

namespace partita {
namespace {

// Stops at `most`, so a huge limit takes no time.
int64_t FreeDescriptors(rlim_t limit, int64_t most) {
  int64_t free = 0;
  for (rlim_t descriptor = 0; descriptor < limit && free < most; ++descriptor) {
    if (fcntl(static_cast<int>(descriptor), F_GETFD) < 0) ++free;
  }
  return free;
}

}  // namespace

absl::Status CheckDescriptors(const std::string& what, int64_t needed) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::OkStatus();
  const int64_t free = FreeDescriptors(limit.rlim_cur, needed);
  if (free >= needed) return absl::OkStatus();
  return ResourceExhausted("{} needs {} descriptors, and only {} are left of the limit of {}; raise it (ulimit -n)",
                           what, needed, free, limit.rlim_cur);
}

}  // namespace partita
