// Turns a lack of memory or of threads, which the standard library tells by exceptions, into errors.
#ifndef PARTITA_RUNTIME_BASE_EXHAUSTION_H_
#define PARTITA_RUNTIME_BASE_EXHAUSTION_H_

#include <new>
#include <stdexcept>
#include <system_error>

#include "runtime/base/status.h"

namespace partita {

// What `work` returns (a Status or a StatusOr). kResourceExhausted, which begins with `what`, if it ended for want of
// memory or of a thread. To be put around what a caller of the library calls, and around what a thread runs: an
// exception that nobody takes ends the process.
template <typename Work>
auto OrExhausted(const char* what, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("{}: there is no more memory", what);
  } catch (const std::length_error&) {
    return ResourceExhausted("{}: there is no memory for so much at once", what);
  } catch (const std::system_error& error) {
    return ResourceExhausted("{}: the system refuses: {}", what, error.what());
  }
}

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_EXHAUSTION_H_
