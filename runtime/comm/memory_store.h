// A key-value store for ranks that are threads of one process. Thread-safe.
#ifndef PARTITA_RUNTIME_COMM_MEMORY_STORE_H_
#define PARTITA_RUNTIME_COMM_MEMORY_STORE_H_

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "runtime/comm/key_value_store.h"

namespace partita {

class MemoryStore : public KeyValueStore {
 public:
  absl::Status Set(const std::string& key, const std::string& value) override {
    std::lock_guard lock(mutex_);
    values_[key] = value;
    changed_.notify_all();
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Get(const std::string& key, std::chrono::milliseconds timeout) override {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [&] { return values_.count(key) > 0; })) {
      return absl::UnavailableError("nobody has set " + key);
    }
    return values_[key];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_MEMORY_STORE_H_
