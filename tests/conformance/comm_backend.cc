#include "tests/conformance/comm_backend.h"

#include <chrono>
#include <functional>
#include <numeric>
#include <thread>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/comm/local/local_communicator.h"
#include "runtime/comm/memory_store.h"
#include "runtime/comm/processes/process_world.h"
#include "tests/testing/group_sums.h"

namespace partita {
namespace {

using Worlds = std::vector<std::shared_ptr<World>>;  // by rank

class WorldRanks : public CommRanks {
 public:
  WorldRanks(const DeviceBackend& backend, Worlds worlds, int group_id) : worlds_(std::move(worlds)) {
    const int ranks = static_cast<int>(worlds_.size());
    std::vector<int> members(ranks);
    std::iota(members.begin(), members.end(), 0);
    for (int rank = 0; rank < ranks; ++rank) {
      devices_.push_back(backend.CreateDevice());
      communicators_.push_back(*worlds_[rank]->CreateCommunicator(group_id, members, rank));
      streams_.push_back(*devices_.back()->CreateStream("comm"));
    }
  }

  // All at a time, as processes end.
  ~WorldRanks() override {
    streams_.clear();  // their work uses the rest
    communicators_.clear();
    std::vector<std::thread> threads;
    for (std::shared_ptr<World>& world : worlds_) threads.emplace_back([&world] { world.reset(); });
    for (std::thread& thread : threads) thread.join();
  }

  Device& device(int rank) override { return *devices_[rank]; }
  Stream& stream(int rank) override { return *streams_[rank]; }
  Communicator& communicator(int rank) override { return *communicators_[rank]; }
  void Abort(const absl::Status& status) override {
    for (const auto& world : worlds_) world->Abort(status);
  }

 private:
  Worlds worlds_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

Worlds LocalWorlds(int ranks) {
  const std::shared_ptr<World> world = *LocalWorld::Create(ranks);
  return Worlds(ranks, world);
}

Worlds SpinningWorlds(int ranks) {
  const std::shared_ptr<World> world = *LocalWorld::Create(ranks, {.spin = std::chrono::milliseconds(1)});
  return Worlds(ranks, world);
}

// A program's own sums, and nothing else of it.
std::shared_ptr<const PeerChannel> ChannelOf(const std::shared_ptr<GroupSums>& sums, int rank) {
  auto channel = std::make_shared<PeerChannel>();
  channel->rank = rank;
  channel->close = [sums, rank](int other) { sums->Close(rank, other); };
  channel->all_reduce = [sums, rank](const PeerReduction& reduction) {
    CHECK(reduction.reduction == Reduction::kSum);
    const SumType type = reduction.dtype == DType::kF32   ? SumType::kF32
                         : reduction.dtype == DType::kF64 ? SumType::kF64
                                                          : SumType::kI32;
    return sums->Add(rank, reduction.group, reduction.ranks, type, static_cast<size_t>(reduction.count), reduction.in,
                     reduction.out);
  };
  return channel;
}

// Ranks are threads here, but talk as processes do, over TCP on the loopback interface, as it is or by TLS, or through
// memory.
Worlds ProcessWorlds(int ranks, bool shared_memory, bool tls, const std::shared_ptr<GroupSums>& sums = nullptr) {
  MemoryStore store;
  ProcessWorldOptions options;
  options.probe_after = std::chrono::milliseconds(20);
  options.token = "conformance";
  options.shared_memory = shared_memory;
  options.tls = tls;
  Worlds worlds(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank, own = options]() mutable {
      if (sums != nullptr) own.channel = ChannelOf(sums, rank);
      worlds[rank] = *ProcessWorld::Connect(rank, ranks, store, own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return worlds;
}

Worlds TcpWorlds(int ranks) { return ProcessWorlds(ranks, false, false); }

Worlds TlsWorlds(int ranks) { return ProcessWorlds(ranks, false, true); }

Worlds SharedMemoryWorlds(int ranks) { return ProcessWorlds(ranks, true, false); }

Worlds ProgramWorlds(int ranks) { return ProcessWorlds(ranks, true, false, std::make_shared<GroupSums>()); }

class WorldBackend : public CommBackend {
 public:
  WorldBackend(std::string name, const DeviceBackend* device_backend, std::function<Worlds(int)> make_worlds,
               bool is_local)
      : name_(std::move(name)),
        device_backend_(device_backend),
        make_worlds_(std::move(make_worlds)),
        is_local_(is_local) {}

  std::string name() const override { return name_; }
  const DeviceBackend& device_backend() const override { return *device_backend_; }
  bool counts_wire() const override { return true; }
  bool knows_who_waits() const override { return is_local_; }
  bool moves_blocks() const override { return is_local_; }
  std::unique_ptr<CommRanks> CreateRanks(int ranks, int group_id) const override {
    return std::make_unique<WorldRanks>(*device_backend_, make_worlds_(ranks), group_id);
  }

 private:
  const std::string name_;
  const DeviceBackend* const device_backend_;
  const std::function<Worlds(int)> make_worlds_;
  const bool is_local_;
};

const DeviceBackend* FindDeviceBackend(const std::string& name) {
  for (const DeviceBackend* backend : DeviceBackends()) {
    if (backend->name() == name) return backend;
  }
  CHECK(name.empty());
  return nullptr;
}

}  // namespace

const std::vector<const CommBackend*>& CommBackends() {
  static const auto& backends = *new std::vector<const CommBackend*>{
      new WorldBackend("local", FindDeviceBackend("host"), LocalWorlds, true),
      new WorldBackend("local_delayed", FindDeviceBackend("host_delayed"), LocalWorlds, true),
      new WorldBackend("local_spinning", FindDeviceBackend("host"), SpinningWorlds, true),
      new WorldBackend("tcp", FindDeviceBackend("host"), TcpWorlds, false),
      new WorldBackend("tls_delayed", FindDeviceBackend("host_delayed"), TlsWorlds, false),
      new WorldBackend("shared_memory", FindDeviceBackend("host"), SharedMemoryWorlds, false),
      new WorldBackend("program", FindDeviceBackend("host"), ProgramWorlds, false),
  };
  return backends;
}

}  // namespace partita
