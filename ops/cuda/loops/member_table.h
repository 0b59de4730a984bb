// Several nodes in one launch: a table that travels as its argument says where the indices of each of them end. For .cu
// files.
#ifndef PARTITA_OPS_CUDA_LOOPS_MEMBER_TABLE_H_
#define PARTITA_OPS_CUDA_LOOPS_MEMBER_TABLE_H_

#include <cstdint>

#include "ops/cuda/loops/loops.h"

namespace partita {

// The arguments of a launch hold 4096 bytes everywhere and 32,764 from compute capability 7.0 and CUDA 12.1 on; what is
// not used of them is copied as well.
inline constexpr int kFewBytes = 3800, kManyBytes = 31800;

// The number of descriptions that fit into this number of bytes, beside `kOthers` bytes of other arguments.
template <typename Description, int kOthers = 0>
inline constexpr int kFewMembers = (kFewBytes - kOthers) / (sizeof(Description) + sizeof(int64_t));
template <typename Description, int kOthers = 0>
inline constexpr int kManyMembers = (kManyBytes - kOthers) / (sizeof(Description) + sizeof(int64_t));

template <typename Description, int kMembers>
struct MemberTable {
  int count = 0;
  int64_t end[kMembers];  // behind the member's last index, counted over all members
  Description members[kMembers];

  void Add(const Description& member, int64_t indices) {
    members[count] = member;
    end[count] = (count == 0 ? 0 : end[count - 1]) + indices;
    ++count;
  }
  int64_t indices() const { return count == 0 ? 0 : end[count - 1]; }

  struct Place {
    int member;
    int64_t index;  // within it
  };
  PARTITA_HOST_DEVICE Place PlaceOf(int64_t i) const {
    int low = 0, high = count - 1;  // the first member that ends behind i
    while (low < high) {
      const int middle = (low + high) / 2;
      if (i < end[middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return {low, i - (low == 0 ? 0 : end[low - 1])};
  }
};

// Whether the arguments of a launch may be as large as `Body`, whose table has this number of entries.
template <typename Body, typename Description, int kMembers>
inline constexpr bool kFitsArguments = sizeof(Body) <= (kMembers <= kFewMembers<Description> ? 4000 : 32000);

// launch(table) for as few tables as hold all; a description has indices(description) of them.
template <int kMembers, typename Description, typename Indices, typename Launch>
LaunchError ForTables(const Description* all, int count, const Indices& indices, const Launch& launch) {
  for (int first = 0; first < count; first += kMembers) {
    MemberTable<Description, kMembers> table{};
    for (int m = first; m < count && m < first + kMembers; ++m) table.Add(all[m], indices(all[m]));
    if (const LaunchError error = launch(table); error != kLaunched) return error;
  }
  return kLaunched;
}

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_LOOPS_MEMBER_TABLE_H_
