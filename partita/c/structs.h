// Structs that callers pass: each begins with the size that the caller's header gave it, which may be that of an older
// or a newer header than ours.
#ifndef PARTITA_PARTITA_C_STRUCTS_H_
#define PARTITA_PARTITA_C_STRUCTS_H_

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

#include "partita/c/objects.h"
#include "partita/partita.h"

namespace partita::c {

// The least size that a struct may have: as the first version with it had it. A struct that grows gets its number here.
template <typename T>
inline constexpr size_t kFirstSize = sizeof(T);
template <>
inline constexpr size_t kFirstSize<partita_step> = offsetof(partita_step, has_gradient_norm);
template <>
inline constexpr size_t kFirstSize<partita_transport> = offsetof(partita_transport, all_reduce);

// Null: the struct is as a caller may pass it.
template <typename T>
api::Outcome CheckSize(const T* given, const char* name) {
  if (given == nullptr) return Invalid(fmt::format("{} is NULL", name));
  constexpr size_t kMost = 4096;  // what was never set is seldom less
  if (given->size >= kFirstSize<T> && given->size <= kMost) return std::nullopt;
  return Invalid(fmt::format("the size of {} is {}; expected the sizeof of its type, {} or more", name, given->size,
                             kFirstSize<T>));
}

// The members that the caller's header has; the others are 0. Members that ours does not have must be 0.
template <typename T>
api::Outcome ReadStruct(const T* given, const char* name, T& read) {
  if (const api::Outcome wrong = CheckSize(given, name)) return wrong;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  if (std::any_of(bytes + std::min(given->size, sizeof(T)), bytes + given->size,
                  [](unsigned char b) { return b != 0; })) {
    return Invalid(
        fmt::format("{} has a member that this version of the library, {}, does not know", name, partita_version()));
  }
  read = {};
  std::memcpy(&read, given, std::min(given->size, sizeof(T)));
  return std::nullopt;
}

// Fills in the members that the caller's header has.
template <typename T>
void WriteStruct(T value, T* given) {
  value.size = given->size;
  std::memcpy(given, &value, std::min(given->size, sizeof(T)));
}

}  // namespace partita::c

#endif  // PARTITA_PARTITA_C_STRUCTS_H_
