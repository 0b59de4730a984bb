#include "tests/runtime/comm/nccl/emulated/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "runtime/base/bf16.h"
#include "runtime/base/check.h"
#include "runtime/comm/shared/host_reduce.h"

namespace partita::emulated_nccl {
namespace {

// Elements of each rank that are reduced at a time: scratch memory does not grow with what is reduced.
constexpr size_t kPart = size_t{1} << 15;

const char* Name(ncclDataType_t type) {
  switch (type) {
    case ncclFloat32:
      return "f32";
    case ncclFloat64:
      return "f64";
    case ncclBfloat16:
      return "bf16";
    case ncclInt32:
      return "i32";
    case ncclUint8:
      return "u8";
    default:
      return "elements of an unknown type";
  }
}

const char* Name(Operation::Kind kind) {
  constexpr const char* kNames[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                    "reduce",     "send",       "receive",        "finalize"};
  return kNames[kind];
}

// In rank order; bf16 is summed in f32 and rounded once.
void Reduced(ncclRedOp_t reduction, ncclDataType_t type, const std::vector<const void*>& inputs, size_t count,
             void* to) {
  const auto elements = static_cast<int64_t>(count);
  const Reduction known = reduction == ncclSum ? Reduction::kSum : Reduction::kMax;
  if (type == ncclUint8) {
    auto* const out = static_cast<uint8_t*>(to);
    for (size_t i = 0; i < count; ++i) {
      uint8_t value = static_cast<const uint8_t*>(inputs[0])[i];
      for (size_t rank = 1; rank < inputs.size(); ++rank) {
        const uint8_t next = static_cast<const uint8_t*>(inputs[rank])[i];
        value = known == Reduction::kSum ? static_cast<uint8_t>(value + next) : std::max(value, next);
      }
      out[i] = value;
    }
    return;
  }
  if (type == ncclBfloat16 && known == Reduction::kSum) {
    std::vector<std::vector<float>> wide;
    std::vector<const void*> places;
    for (const void* input : inputs) {
      const auto* const values = static_cast<const Bf16*>(input);
      wide.emplace_back();
      for (size_t i = 0; i < count; ++i) wide.back().push_back(static_cast<float>(values[i]));
    }
    for (const auto& values : wide) places.push_back(values.data());
    ReduceElements(known, DType::kF32, places, elements, wide[0].data());
    for (size_t i = 0; i < count; ++i) static_cast<Bf16*>(to)[i] = Bf16(wide[0][i]);
    return;
  }
  const DType dtype = type == ncclFloat32    ? DType::kF32
                      : type == ncclFloat64  ? DType::kF64
                      : type == ncclBfloat16 ? DType::kBF16
                                             : DType::kI32;
  ReduceElements(known, dtype, inputs, elements, to);
}

}  // namespace

// What all ranks must say alike of a collective, or the two ranks of a transfer.
struct Mover::Header {
  int32_t kind, type, reduction, root;
  int64_t sequence;
  uint64_t count;

  bool operator==(const Header&) const = default;

  std::string ToString() const {
    const Operation operation = {
        static_cast<Operation::Kind>(kind),  nullptr, nullptr, count, static_cast<ncclDataType_t>(type),
        static_cast<ncclRedOp_t>(reduction), root};
    return operation.point_to_point() ? Describe(operation)
                                      : fmt::format("{}, collective {}", Describe(operation), sequence);
  }
};

size_t SizeOf(ncclDataType_t type) {
  switch (type) {
    case ncclFloat32:
    case ncclInt32:
      return 4;
    case ncclFloat64:
      return 8;
    case ncclBfloat16:
      return 2;
    case ncclUint8:
      return 1;
    default:
      return 0;
  }
}

Bytes Reads(const Operation& operation, int rank, int size) {
  const bool none = operation.kind == Operation::kReceive || operation.kind == Operation::kFinalize ||
                    (operation.kind == Operation::kBroadcast && rank != operation.root);
  if (none) return {};
  const size_t blocks = operation.kind == Operation::kReduceScatter ? static_cast<size_t>(size) : 1;
  return {static_cast<const char*>(operation.from), blocks * operation.count * SizeOf(operation.type)};
}

Bytes Writes(const Operation& operation, int rank, int size) {
  const bool none = operation.kind == Operation::kSend || operation.kind == Operation::kFinalize ||
                    (operation.kind == Operation::kReduce && rank != operation.root);
  if (none) return {};
  const size_t blocks = operation.kind == Operation::kAllGather ? static_cast<size_t>(size) : 1;
  return {static_cast<const char*>(operation.to), blocks * operation.count * SizeOf(operation.type)};
}

std::string Describe(const Operation& operation) {
  if (operation.kind == Operation::kFinalize) return "the end of the communicator";
  std::string text = fmt::format("{} of {} {}", Name(operation.kind), operation.count, Name(operation.type));
  if (operation.reduces()) text += operation.reduction == ncclSum ? " (sum)" : " (max)";
  if (operation.kind == Operation::kBroadcast || operation.kind == Operation::kReceive) {
    text += fmt::format(" from rank {}", operation.root);
  }
  if (operation.kind == Operation::kReduce || operation.kind == Operation::kSend) {
    text += fmt::format(" to rank {}", operation.root);
  }
  return text;
}

Mover::Header Mover::HeaderOf(const Operation& operation) const {
  const bool rooted = operation.kind == Operation::kBroadcast || operation.kind == Operation::kReduce;
  return {operation.kind,
          operation.type,
          operation.reduces() ? operation.reduction : ncclSum,
          operation.point_to_point() || rooted ? operation.root : -1,
          operation.point_to_point() ? 0 : sequence_,
          operation.count};
}

// All ranks show each other what they are about to do, before anything moves.
Outcome Mover::Agree(const Operation& operation) {
  const Header own = HeaderOf(operation);
  std::vector<Header> all(static_cast<size_t>(size_));
  std::vector<PeerMesh::Outgoing> sends;
  std::vector<PeerMesh::Incoming> receives;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    sends.push_back({peer, &own, sizeof(own)});
    receives.push_back({peer, &all[peer], sizeof(own), nullptr});
  }
  if (Outcome moved = mesh_.Exchange(sends, receives); !moved.ok()) return moved;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_ || all[peer] == own) continue;
    if (all[peer].kind == Operation::kReceive) {  // the header of a transfer says what its receiver does
      all[peer].kind = Operation::kSend;
      all[peer].root = rank_;
    }
    return {ncclInvalidUsage, fmt::format("ranks differ: {} on rank {}, {} on rank {}", own.ToString(), rank_,
                                          all[peer].ToString(), peer)};
  }
  return {};
}

Outcome Mover::Run(const std::vector<Operation>& operations) {
  std::vector<Operation> transfers;
  for (const Operation& operation : operations) {
    if (operation.point_to_point()) {
      transfers.push_back(operation);
      continue;
    }
    ++sequence_;
    // As NCCL: nothing is launched for nothing. The next collective's sequence tells whether all ranks did the same.
    if (operation.count == 0 && operation.kind != Operation::kFinalize) continue;
    Outcome outcome = Agree(operation);
    if (outcome.ok()) outcome = Collect(operation);
    if (!outcome.ok()) return {outcome.result, fmt::format("{}: {}", Describe(operation), outcome.text)};
  }
  return transfers.empty() ? Outcome() : Transfer(transfers);
}

Outcome Mover::Collect(const Operation& operation) {
  switch (operation.kind) {
    case Operation::kAllReduce:
      return AllReduce(operation);
    case Operation::kAllGather:
      return AllGather(operation);
    case Operation::kReduceScatter:
      return ReduceScatter(operation);
    case Operation::kBroadcast:
      return Broadcast(operation);
    case Operation::kReduce:
      return Reduce(operation);
    default:
      return {};
  }
}

void Mover::ReduceParts(const Operation& operation, const char* own, size_t count, char* to) {
  std::vector<const void*> inputs;
  for (int rank = 0; rank < size_; ++rank) inputs.push_back(rank == rank_ ? own : received_[rank].data());
  Reduced(operation.reduction, operation.type, inputs, count, to);
}

// Each rank reduces a part of its own and gives the result to all, so all get the same bits.
Outcome Mover::AllReduce(const Operation& operation) {
  const size_t width = SizeOf(operation.type), ranks = static_cast<size_t>(size_);
  received_.assign(ranks, std::vector<char>(kPart * width));
  for (size_t begin = 0; begin < operation.count; begin += ranks * kPart) {
    const size_t count = std::min(ranks * kPart, operation.count - begin);
    const auto part = [&](int rank) {  // first byte and elements
      const size_t first = count * static_cast<size_t>(rank) / ranks, last = count * (rank + size_t{1}) / ranks;
      return std::pair{(begin + first) * width, last - first};
    };
    const char* const from = static_cast<const char*>(operation.from);
    char* const to = static_cast<char*>(operation.to);
    const auto [own, own_count] = part(rank_);
    std::vector<PeerMesh::Outgoing> scattered, gathered;
    std::vector<PeerMesh::Incoming> parts, results;
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      const auto [theirs, their_count] = part(peer);
      scattered.push_back({peer, from + theirs, their_count * width});
      parts.push_back({peer, received_[peer].data(), own_count * width, nullptr});
      gathered.push_back({peer, to + own, own_count * width});
      results.push_back({peer, to + theirs, their_count * width, nullptr});
    }
    if (Outcome moved = mesh_.Exchange(scattered, parts); !moved.ok()) return moved;
    ReduceParts(operation, from + own, own_count, to + own);
    if (Outcome moved = mesh_.Exchange(gathered, results); !moved.ok()) return moved;
  }
  return {};
}

Outcome Mover::AllGather(const Operation& operation) {
  const size_t bytes = operation.count * SizeOf(operation.type);
  char* const to = static_cast<char*>(operation.to);
  std::vector<PeerMesh::Outgoing> sends;
  std::vector<PeerMesh::Incoming> receives;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    sends.push_back({peer, operation.from, bytes});
    receives.push_back({peer, to + static_cast<size_t>(peer) * bytes, bytes, nullptr});
  }
  std::memmove(to + static_cast<size_t>(rank_) * bytes, operation.from, bytes);
  return mesh_.Exchange(sends, receives);
}

Outcome Mover::ReduceScatter(const Operation& operation) {
  const size_t width = SizeOf(operation.type);
  received_.assign(static_cast<size_t>(size_), std::vector<char>(kPart * width));
  for (size_t begin = 0; begin < operation.count; begin += kPart) {
    const size_t count = std::min(kPart, operation.count - begin);
    const auto from = [&](int rank) {
      return static_cast<const char*>(operation.from) + (static_cast<size_t>(rank) * operation.count + begin) * width;
    };
    std::vector<PeerMesh::Outgoing> sends;
    std::vector<PeerMesh::Incoming> receives;
    for (int peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      sends.push_back({peer, from(peer), count * width});
      receives.push_back({peer, received_[peer].data(), count * width, nullptr});
    }
    if (Outcome moved = mesh_.Exchange(sends, receives); !moved.ok()) return moved;
    ReduceParts(operation, from(rank_), count, static_cast<char*>(operation.to) + begin * width);
  }
  return {};
}

Outcome Mover::Broadcast(const Operation& operation) {
  const size_t bytes = operation.count * SizeOf(operation.type);
  if (rank_ != operation.root) return mesh_.Exchange({}, {{operation.root, operation.to, bytes, nullptr}});
  std::memmove(operation.to, operation.from, bytes);
  std::vector<PeerMesh::Outgoing> sends;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_) sends.push_back({peer, operation.from, bytes});
  }
  return mesh_.Exchange(sends, {});
}

Outcome Mover::Reduce(const Operation& operation) {
  const size_t width = SizeOf(operation.type);
  if (rank_ != operation.root) {
    return mesh_.Exchange({{operation.root, operation.from, operation.count * width}}, {});
  }
  received_.assign(static_cast<size_t>(size_), std::vector<char>(kPart * width));
  for (size_t begin = 0; begin < operation.count; begin += kPart) {
    const size_t count = std::min(kPart, operation.count - begin);
    std::vector<PeerMesh::Incoming> receives;
    for (int peer = 0; peer < size_; ++peer) {
      if (peer != rank_) receives.push_back({peer, received_[peer].data(), count * width, nullptr});
    }
    if (Outcome moved = mesh_.Exchange({}, receives); !moved.ok()) return moved;
    ReduceParts(operation, static_cast<const char*>(operation.from) + begin * width, count,
                static_cast<char*>(operation.to) + begin * width);
  }
  return {};
}

// The n-th send to a rank belongs to the n-th receive there. A header in front of each says what comes.
Outcome Mover::Transfer(const std::vector<Operation>& operations) {
  std::deque<Header> headers;  // at addresses that stay
  std::vector<PeerMesh::Outgoing> sends;
  std::vector<PeerMesh::Incoming> receives;
  std::deque<Operation> to_self;
  for (const Operation& operation : operations) {
    if (operation.root == rank_ && operation.kind == Operation::kSend) to_self.push_back(operation);
  }
  for (const Operation& operation : operations) {
    const size_t bytes = operation.count * SizeOf(operation.type);
    if (operation.root == rank_) {
      if (operation.kind == Operation::kSend) continue;
      const bool fits =
          !to_self.empty() && to_self.front().count == operation.count && to_self.front().type == operation.type;
      if (!fits) return {ncclInvalidUsage, fmt::format("{}: no such send to oneself", Describe(operation))};
      std::memmove(operation.to, to_self.front().from, bytes);
      to_self.pop_front();
      continue;
    }
    if (operation.kind == Operation::kSend) {
      Operation as_received = operation;
      as_received.kind = Operation::kReceive;
      as_received.root = rank_;
      headers.push_back(HeaderOf(as_received));
      sends.push_back({operation.root, &headers.back(), sizeof(Header)});
      sends.push_back({operation.root, operation.from, bytes});
      continue;
    }
    headers.emplace_back();
    const auto check = [this, operation, came = &headers.back()]() -> Outcome {
      if (*came == HeaderOf(operation)) return {};
      return {ncclInvalidUsage, fmt::format("ranks differ: {} on rank {}; what comes from rank {} is for {}",
                                            Describe(operation), rank_, operation.root, came->ToString())};
    };
    receives.push_back({operation.root, &headers.back(), sizeof(Header), check});
    receives.push_back({operation.root, operation.to, bytes, nullptr});
  }
  if (!to_self.empty()) return {ncclInvalidUsage, fmt::format("{}: it is not received", Describe(to_self.front()))};
  return mesh_.Exchange(sends, receives);
}

}  // namespace partita::emulated_nccl
