// One call of NCCL as the emulation runs it, compares it among ranks and describes it.
#ifndef PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_OPERATION_H_
#define PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_OPERATION_H_

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/runtime/comm/nccl/emulated/peer_mesh.h"

namespace partita::emulated_nccl {

struct Operation {
  enum Kind : int32_t { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce, kSend, kReceive, kFinalize };

  Kind kind = kFinalize;
  const void* from = nullptr;
  void* to = nullptr;
  size_t count = 0;  // as the call says
  ncclDataType_t type = ncclUint8;
  ncclRedOp_t reduction = ncclSum;
  int root = -1;  // or the peer

  bool point_to_point() const { return kind == kSend || kind == kReceive; }
  bool reduces() const { return kind == kAllReduce || kind == kReduceScatter || kind == kReduce; }
};

struct Bytes {
  const char* data = nullptr;
  size_t size = 0;

  bool Overlaps(const Bytes& other) const {
    return size > 0 && other.size > 0 && data < other.data + other.size && other.data < data + size;
  }
};

// 0: a type that the emulation does not compute with.
size_t SizeOf(ncclDataType_t type);

// What the operation reads and writes on `rank` of `size`; empty where it does not.
Bytes Reads(const Operation& operation, int rank, int size);
Bytes Writes(const Operation& operation, int rank, int size);

// "all_reduce of 7 f32 (sum)", "send of 3 i32 to rank 1".
std::string Describe(const Operation& operation);

// Moves and computes. The ranks of one communicator call it with what they were asked for, in their order.
class Mover {
 public:
  Mover(PeerMesh& mesh, int rank, int size) : mesh_(mesh), rank_(rank), size_(size) {}

  // The operations of one group, or a single one. Collectives run in the order of their calls, transfers between pairs
  // all at once. kInvalidUsage: another rank came with something else.
  Outcome Run(const std::vector<Operation>& operations);

 private:
  struct Header;

  Header HeaderOf(const Operation& operation) const;
  Outcome Agree(const Operation& operation);
  Outcome Collect(const Operation& operation);
  Outcome AllReduce(const Operation& operation);
  Outcome AllGather(const Operation& operation);
  Outcome ReduceScatter(const Operation& operation);
  Outcome Broadcast(const Operation& operation);
  Outcome Reduce(const Operation& operation);
  Outcome Transfer(const std::vector<Operation>& operations);
  void ReduceParts(const Operation& operation, const char* own, size_t count, char* to);

  PeerMesh& mesh_;
  const int rank_, size_;
  int64_t sequence_ = 0;                     // of collectives
  std::vector<std::vector<char>> received_;  // by rank: parts to be reduced
};

}  // namespace partita::emulated_nccl

#endif  // PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_OPERATION_H_
