// Plain values one behind the other in a string: what processes of one build tell each other (Job::AllGather).
#ifndef PARTITA_RUNTIME_API_JOB_PACKED_VALUES_H_
#define PARTITA_RUNTIME_API_JOB_PACKED_VALUES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "runtime/base/check.h"

namespace partita {

class PackedValues {
 public:
  template <typename T>
  void Add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    AddBytes(&value, sizeof(value));
  }
  void AddBytes(const void* data, int64_t count) { bytes_.append(static_cast<const char*>(data), count); }

  void AddText(std::string_view text) {
    Add(static_cast<int64_t>(text.size()));
    AddBytes(text.data(), static_cast<int64_t>(text.size()));
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads them in the order in which they were added. The bytes must outlive it.
class PackedReader {
 public:
  explicit PackedReader(const std::string& bytes) : bytes_(bytes) {}

  template <typename T>
  T Next() {
    T value;
    std::memcpy(&value, NextBytes(sizeof(value)), sizeof(value));
    return value;
  }

  const char* NextBytes(int64_t count) {
    CHECK(static_cast<int64_t>(bytes_.size()) - next_ >= count);
    const char* const data = bytes_.data() + next_;
    next_ += count;
    return data;
  }

  std::string NextText() {
    const auto size = Next<int64_t>();
    return {NextBytes(size), static_cast<size_t>(size)};
  }

  bool AtEnd() const { return next_ == static_cast<int64_t>(bytes_.size()); }

 private:
  const std::string& bytes_;
  int64_t next_ = 0;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_JOB_PACKED_VALUES_H_
