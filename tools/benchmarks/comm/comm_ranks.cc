#include "tools/benchmarks/comm/comm_ranks.h"

#include <numeric>
#include <thread>
#include <utility>

#include "runtime/admission/token.h"
#include "runtime/base/status.h"
#include "runtime/comm/local/local_communicator.h"
#include "runtime/comm/memory_store.h"
#include "runtime/comm/processes/process_world.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/host/spin.h"

namespace partita {

absl::StatusOr<CommRank> MakeCommRank(std::shared_ptr<Device> device, std::shared_ptr<World> world, int ranks, int rank,
                                      int64_t elements) {
  std::vector<int> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  CommRank made;
  made.device = std::move(device);
  made.world = std::move(world);
  ASSIGN_OR_RETURN(made.communicator, made.world->CreateCommunicator(0, all, rank));
  ASSIGN_OR_RETURN(made.in, made.device->Allocate(elements * SizeOf(DType::kF32)));
  ASSIGN_OR_RETURN(made.out, made.device->Allocate(elements * SizeOf(DType::kF32)));
  ASSIGN_OR_RETURN(made.stream, made.device->CreateStream("comm"));
  return made;
}

absl::StatusOr<CommRanks> MakeLocalRanks(int ranks, int64_t elements, int64_t threads) {
  LocalWorldOptions options;
  options.spin = SpinOf(threads);
  ASSIGN_OR_RETURN(const std::shared_ptr<World> world, LocalWorld::Create(ranks, options));
  CommRanks made{"local", {}};
  for (int r = 0; r < ranks; ++r) {
    ASSIGN_OR_RETURN(made.ranks.emplace_back(),
                     MakeCommRank(std::make_shared<HostDevice>(), world, ranks, r, elements));
  }
  return made;
}

absl::StatusOr<CommRanks> MakeProcessRanks(int ranks, int64_t elements, ProcessWire wire) {
  MemoryStore store;
  ProcessWorldOptions options;
  options.token = NewToken();
  options.shared_memory = wire == ProcessWire::kSharedMemory;
  options.tls = wire == ProcessWire::kTls;
  std::vector<std::shared_ptr<World>> worlds(static_cast<size_t>(ranks));
  std::vector<absl::Status> connected(worlds.size());
  std::vector<std::jthread> threads;  // joined also when one of them cannot be started
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      auto world = ProcessWorld::Connect(r, ranks, store, options);
      connected[r] = world.status();
      if (world.ok()) worlds[r] = *std::move(world);
    });
  }
  for (std::jthread& thread : threads) thread.join();
  // Ranks that lack something are why others wait in vain.
  for (const absl::Status& status : connected) {
    if (absl::IsResourceExhausted(status)) return status;
  }
  for (const absl::Status& status : connected) RETURN_IF_ERROR(status);
  constexpr const char* kNames[] = {"tcp", "tls", "shared_memory"};
  CommRanks made{kNames[static_cast<int>(wire)], {}};
  for (int r = 0; r < ranks; ++r) {
    ASSIGN_OR_RETURN(made.ranks.emplace_back(),
                     MakeCommRank(std::make_shared<HostDevice>(HostDeviceOptions{.shares_arenas = true}), worlds[r],
                                  ranks, r, elements));
  }
  return made;
}

}  // namespace partita
