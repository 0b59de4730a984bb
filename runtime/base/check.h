// CHECK: for bugs of ours only. What a user, a file or a peer can cause is an absl::Status (runtime/base/status.h).
#ifndef PARTITA_RUNTIME_BASE_CHECK_H_
#define PARTITA_RUNTIME_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

#endif  // PARTITA_RUNTIME_BASE_CHECK_H_
