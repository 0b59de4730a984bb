// The objects that the C interface has given to its callers and that are not freed yet: an address that is none of them
// is refused instead of read.
#ifndef PARTITA_PARTITA_C_LIVE_H_
#define PARTITA_PARTITA_C_LIVE_H_

#include <memory>
#include <mutex>
#include <unordered_map>

namespace partita::c {

// Of one type. Thread-safe. A call keeps its object alive, so that freeing it meanwhile is safe.
template <typename T>
class Live {
 public:
  static T* Add(std::shared_ptr<T> object) {
    T* const address = object.get();
    const std::lock_guard lock(Mutex());
    Objects().emplace(address, std::move(object));
    return address;
  }
  // Null: there is no such object.
  static std::shared_ptr<T> Find(const T* address) {
    const std::lock_guard lock(Mutex());
    const auto found = Objects().find(address);
    return found == Objects().end() ? nullptr : found->second;
  }
  // Null: there was no such object. The object dies with what is returned, or with the last call of it, and after the
  // lock is released: its end may take long.
  static std::shared_ptr<T> Remove(const T* address) {
    std::shared_ptr<T> removed;
    const std::lock_guard lock(Mutex());
    const auto found = Objects().find(address);
    if (found == Objects().end()) return removed;
    removed = std::move(found->second);
    Objects().erase(found);
    return removed;
  }

 private:
  // Never destroyed: a caller's static objects may free theirs after ours.
  static std::mutex& Mutex() {
    static auto* const mutex = new std::mutex;
    return *mutex;
  }
  static std::unordered_map<const T*, std::shared_ptr<T>>& Objects() {
    static auto* const objects = new std::unordered_map<const T*, std::shared_ptr<T>>;
    return *objects;
  }
};

}  // namespace partita::c

#endif  // PARTITA_PARTITA_C_LIVE_H_
