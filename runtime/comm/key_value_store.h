// A store in which processes exchange small texts while they join.
#ifndef PARTITA_RUNTIME_COMM_KEY_VALUE_STORE_H_
#define PARTITA_RUNTIME_COMM_KEY_VALUE_STORE_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

// Thread-safe.
class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;

  // kUnavailable: the store is gone.
  virtual absl::Status Set(const std::string& key, const std::string& value) = 0;

  // Waits until another rank has set it. kUnavailable: not within `timeout`, or the store is gone.
  virtual absl::StatusOr<std::string> Get(const std::string& key, std::chrono::milliseconds timeout) = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_KEY_VALUE_STORE_H_
