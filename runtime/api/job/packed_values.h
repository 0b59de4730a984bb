// Plain values one after the other: what a message between processes of one build holds (message.h).
#ifndef PARTITA_RUNTIME_API_JOB_PACKED_VALUES_H_
#define PARTITA_RUNTIME_API_JOB_PACKED_VALUES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/api/job/message.h"
#include "runtime/base/status.h"
#include "runtime/comm/peer_status.h"

namespace partita {

// Any bytes are a value of the type: of a bool or an enumeration most are not.
template <typename T>
inline constexpr bool kIsPackable =
    std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool> && !std::is_enum_v<T> && !std::is_pointer_v<T>;

class PackedValues {
 public:
  template <typename T>
  void Add(const T& value) {
    static_assert(kIsPackable<T>);
    AddBytes(&value, sizeof(value));
  }
  void AddBytes(const void* data, int64_t count) { bytes_.append(static_cast<const char*>(data), count); }

  void AddText(std::string_view text) {
    Add(static_cast<int64_t>(text.size()));
    AddBytes(text.data(), static_cast<int64_t>(text.size()));
  }

  void AddStatus(const absl::Status& status) {
    Add(static_cast<int>(status.code()));
    AddText(std::string(status.message()));
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads them in the order in which they were added. The bytes come from another process and may be anything: after the
// first flaw all values are zero and nothing is left to read, and Finish returns the flaw. No value may be used before
// Finish was asked, but where zero would do. The bytes must outlive it.
class PackedReader {
 public:
  PackedReader(MessageKind kind, size_t process, std::string_view bytes)
      : kind_(kind), process_(process), bytes_(bytes) {}

  template <typename T>
  T Next() {
    static_assert(kIsPackable<T>);
    T value{};
    if (const char* const data = NextBytes(sizeof(value)); data != nullptr) std::memcpy(&value, data, sizeof(value));
    return value;
  }

  // A number in [0, limit), where limit is at least 1: an index, or a count.
  int64_t NextBelow(int64_t limit) {
    const auto value = Next<int64_t>();
    if (value >= 0 && value < limit) return value;
    Refuse(fmt::format("the number {}; expected one below {}", value, limit));
    return 0;
  }

  // Null: fewer are left.
  const char* NextBytes(int64_t count) {
    const int64_t left = static_cast<int64_t>(bytes_.size()) - next_;
    if (count < 0 || count > left) Refuse(fmt::format("{} bytes at byte {}; expected {}", left, next_, count));
    if (!flaw_.empty()) return nullptr;
    const char* const data = bytes_.data() + next_;
    next_ += count;
    return data;
  }

  std::string NextText() {
    const auto size = Next<int64_t>();
    const char* const data = NextBytes(size);
    return data == nullptr ? "" : std::string(data, static_cast<size_t>(size));
  }

  absl::Status NextStatus() {
    const auto code = Next<int>();
    const std::string message = NextText();
    return code == static_cast<int>(absl::StatusCode::kOk) ? absl::OkStatus() : PeerStatus(code, message);
  }

  bool AtEnd() const { return !flaw_.empty() || next_ == static_cast<int64_t>(bytes_.size()); }

  // The reader's own finding: "the number 7; expected ...".
  void Refuse(std::string flaw) {
    if (flaw_.empty()) flaw_ = std::move(flaw);
  }

  // kUnavailable: values were missing, left over or refused.
  absl::Status Finish() {
    if (!AtEnd()) Refuse(fmt::format("{} bytes; expected {}", bytes_.size(), next_));
    if (flaw_.empty()) return absl::OkStatus();
    return Unavailable("rank {} sent damaged '{}': found {}", process_, NameOf(kind_), flaw_);
  }

 private:
  const MessageKind kind_;
  const size_t process_;
  const std::string_view bytes_;
  int64_t next_ = 0;
  std::string flaw_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_JOB_PACKED_VALUES_H_
