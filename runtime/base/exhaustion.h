// Turns a lack of memory, threads or descriptors into errors that name the limit.
#ifndef PARTITA_RUNTIME_BASE_EXHAUSTION_H_
#define PARTITA_RUNTIME_BASE_EXHAUSTION_H_

#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include "runtime/base/status.h"

namespace partita {

// Whether errno says that the process or the machine has no file descriptor left (EMFILE, ENFILE).
bool LacksDescriptors(int error);

// kResourceExhausted, of such a call; `what`: "FILE: cannot open".
absl::Status NoDescriptors(const std::string& what);

// Names the limit that was met and its value: pids.max of a control group that is full or has refused threads, else
// `ulimit -u` (`of_user`; none: unlimited), else what else it can be, and says what to do. `root`: memory.h.
std::string DescribeThreadLimit(std::optional<int64_t> of_user, const std::string& root);

// kResourceExhausted, of a call that failed with this errno; `what`: "FOLDER: cannot start a thread". Names the limit,
// as it is now: call it before anything else ends.
absl::Status NoThread(const std::string& what, int error);

// kResourceExhausted, of what the standard library could not do: of a thread that it could not start, the limit.
absl::Status SystemRefuses(const char* what, const std::system_error& error);

// What `work` returns (a Status or a StatusOr). kResourceExhausted, which begins with `what`, if memory or threads ran
// out. Wrap every function that a caller of the library calls, and every thread's function: an uncaught exception ends
// the process.
template <typename Work>
auto OrExhausted(const char* what, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("{}: there is no more memory", what);
  } catch (const std::length_error&) {
    return ResourceExhausted("{}: there is no memory for so much at once", what);
  } catch (const std::system_error& error) {
    return SystemRefuses(what, error);
  }
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_EXHAUSTION_H_
