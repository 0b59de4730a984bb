// A rank's place in a group: how many calls it has made there, and the one under way.
#ifndef PARTITA_RUNTIME_COMM_PROCESSES_PROCESS_GROUP_H_
#define PARTITA_RUNTIME_COMM_PROCESSES_PROCESS_GROUP_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/comm/processes/block_call.h"

namespace partita {

// Guarded by the world's mutex.
struct ProcessGroup {
  int id = 0;
  std::vector<int> ranks;  // of the world, in group order
  int rank = 0;            // position of this one

  int64_t calls = 0;
  BlockCall* call = nullptr;  // under way
  std::chrono::steady_clock::time_point begin;

  // "group 7: all_reduce of 20 f32 (sum), sequence number 2", of the call under way.
  std::string Describe() const;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_PROCESSES_PROCESS_GROUP_H_
