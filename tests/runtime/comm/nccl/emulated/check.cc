// What NCCL does not take, or takes and then reads or writes wrong memory.
#include <fmt/format.h>

#include "tests/runtime/comm/nccl/emulated/state.h"

namespace partita::emulated_nccl {
namespace {

// In place means: exactly where the rank's own block lies in the other buffer.
bool InPlaceOrApart(const Operation& operation, const EmulatedComm& comm) {
  const Bytes reads = Reads(operation, comm.rank(), comm.size()), writes = Writes(operation, comm.rank(), comm.size());
  if (!reads.Overlaps(writes)) return true;
  const size_t own = static_cast<size_t>(comm.rank()) * operation.count * SizeOf(operation.type);
  if (operation.kind == Operation::kAllGather) return reads.data == writes.data + own;
  if (operation.kind == Operation::kReduceScatter) return writes.data == reads.data + own;
  return reads.data == writes.data;
}

}  // namespace

ncclResult_t CheckCall(const Operation& operation, const EmulatedComm& comm, const char* call) {
  const auto refuse = [&](const std::string& why) {
    return Refuse(ncclInvalidArgument, fmt::format("{}: {}: {}", comm.ToString(), call, why));
  };
  if (SizeOf(operation.type) == 0) return refuse(fmt::format("type {} is not emulated", int{operation.type}));
  if (operation.reduces() && operation.reduction != ncclSum && operation.reduction != ncclMax) {
    return refuse(fmt::format("reduction {} is not emulated", int{operation.reduction}));
  }
  const bool rooted =
      operation.point_to_point() || operation.kind == Operation::kBroadcast || operation.kind == Operation::kReduce;
  if (rooted && (operation.root < 0 || operation.root >= comm.size())) {
    return refuse(fmt::format("{} {} is none of the {} ranks", operation.point_to_point() ? "peer" : "root",
                              operation.root, comm.size()));
  }
  for (const Bytes& bytes : {Reads(operation, comm.rank(), comm.size()), Writes(operation, comm.rank(), comm.size())}) {
    if (bytes.size == 0 || (bytes.data != nullptr && comm.options().on_device(bytes.data, bytes.size))) continue;
    return refuse(fmt::format("{}: {} bytes at {} are not memory of the device", Describe(operation), bytes.size,
                              fmt::ptr(bytes.data)));
  }
  if (InPlaceOrApart(operation, comm)) return ncclSuccess;
  return refuse(fmt::format("{}: buffers overlap other than in place", Describe(operation)));
}

// The operations of a group run at once: none may write what another one reads or writes.
ncclResult_t CheckGroup(const std::vector<Operation>& operations, const EmulatedComm& comm) {
  for (const Operation& a : operations) {
    const Bytes written = Writes(a, comm.rank(), comm.size());
    for (const Operation& b : operations) {
      if (&a == &b) continue;
      const bool apart = !written.Overlaps(Reads(b, comm.rank(), comm.size())) &&
                         !written.Overlaps(Writes(b, comm.rank(), comm.size()));
      if (apart) continue;
      return Refuse(ncclInvalidUsage,
                    fmt::format("{}: in one group {} writes what {} uses", comm.ToString(), Describe(a), Describe(b)));
    }
  }
  return ncclSuccess;
}

}  // namespace partita::emulated_nccl
