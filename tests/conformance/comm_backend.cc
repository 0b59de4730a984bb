#include "tests/conformance/comm_backend.h"

#include <numeric>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/comm/local/local_communicator.h"

namespace partita {
namespace {

class LocalRanks : public CommRanks {
 public:
  LocalRanks(const DeviceBackend& backend, int ranks, int group_id) : world_(*LocalWorld::Create(ranks)) {
    std::vector<int> members(ranks);
    std::iota(members.begin(), members.end(), 0);
    for (int rank = 0; rank < ranks; ++rank) {
      devices_.push_back(backend.CreateDevice());
      communicators_.push_back(*world_->CreateCommunicator(group_id, members, rank));
      streams_.push_back(*devices_.back()->CreateStream("comm"));
    }
  }

  Device& device(int rank) override { return *devices_[rank]; }
  Stream& stream(int rank) override { return *streams_[rank]; }
  Communicator& communicator(int rank) override { return *communicators_[rank]; }
  void Abort(const absl::Status& status) override { world_->Abort(status); }

 private:
  std::unique_ptr<LocalWorld> world_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::vector<std::unique_ptr<Stream>> streams_;  // destroyed first: their work uses the rest
};

class LocalBackend : public CommBackend {
 public:
  LocalBackend(std::string name, const DeviceBackend* device_backend)
      : name_(std::move(name)), device_backend_(device_backend) {}

  std::string name() const override { return name_; }
  const DeviceBackend& device_backend() const override { return *device_backend_; }
  bool counts_wire() const override { return true; }
  std::unique_ptr<CommRanks> CreateRanks(int ranks, int group_id) const override {
    return std::make_unique<LocalRanks>(*device_backend_, ranks, group_id);
  }

 private:
  const std::string name_;
  const DeviceBackend* const device_backend_;
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
      new LocalBackend("local", FindDeviceBackend("host")),
      new LocalBackend("local_delayed", FindDeviceBackend("host_delayed")),
  };
  return backends;
}

}  // namespace partita
