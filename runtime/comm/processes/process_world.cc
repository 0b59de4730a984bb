#include "runtime/comm/processes/process_world.h"

#include <fmt/ranges.h>

#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"
#include "runtime/comm/processes/process_world_state.h"
#include "runtime/comm/shared/host_communicator.h"

namespace partita {
namespace {

class ProcessCommunicator : public HostCommunicator {
 public:
  ProcessCommunicator(ProcessWorldState& world, ProcessGroup& group)
      : HostCommunicator(group.rank, static_cast<int>(group.ranks.size()), group.id,
                         world.recorder().Join(world.mesh().rank(), group.id, group.ranks)),
        world_(world),
        group_(group) {
    reader_.memory = &world.memory();
  }

 private:
  std::unique_ptr<CommCall> NewCall() const override { return std::make_unique<BlockCall>(); }
  absl::Status Prepare(CommCall& call) override {
    auto& blocks = static_cast<BlockCall&>(call);
    if (blocks.LeaveToProgram(world_.channel(), group_.id, group_.ranks)) return absl::OkStatus();
    return blocks.Prepare(world_.mesh(), reader_, group_.ranks, scratch_);
  }
  absl::Status Run(CommCall& call) override { return world_.Run(group_, static_cast<BlockCall&>(call)); }

  ProcessWorldState& world_;
  ProcessGroup& group_;
  std::shared_ptr<ReductionScratch> scratch_;
  PeerReader reader_;
};

}  // namespace

ProcessWorld::ProcessWorld(std::unique_ptr<ProcessWorldState> state) : state_(std::move(state)) {}
ProcessWorld::~ProcessWorld() = default;

absl::StatusOr<std::unique_ptr<ProcessWorld>> ProcessWorld::Connect(int rank, int ranks, KeyValueStore& store,
                                                                    const ProcessWorldOptions& options) {
  if (rank < 0 || rank >= ranks) return InvalidArgument("rank {} of {}", rank, ranks);
  return OrExhausted("connections to all ranks", [&]() -> absl::StatusOr<std::unique_ptr<ProcessWorld>> {
    PeerMeshOptions mesh_options;
    mesh_options.address = options.address;
    mesh_options.token = options.token;
    mesh_options.shared_memory = options.shared_memory;
    mesh_options.tls = options.tls;
    mesh_options.timeout = options.connect_timeout;
    ASSIGN_OR_RETURN(std::unique_ptr<PeerMesh> mesh, PeerMesh::Connect(rank, ranks, store, mesh_options));
    ASSIGN_OR_RETURN(std::unique_ptr<PeerMemory> memory,
                     PeerMemory::Meet(rank, ranks, store, options.shared_memory, options.connect_timeout));
    return std::unique_ptr<ProcessWorld>(
        new ProcessWorld(std::make_unique<ProcessWorldState>(std::move(mesh), std::move(memory), options)));
  });
}

absl::StatusOr<std::unique_ptr<ProcessWorld>> ProcessWorld::Over(const ProcessWorldOptions& options) {
  return OrExhausted("connections to all ranks", [&]() -> absl::StatusOr<std::unique_ptr<ProcessWorld>> {
    std::unique_ptr<PeerMemory> memory = PeerMemory::None(options.channel->rank, options.channel->ranks);
    return std::unique_ptr<ProcessWorld>(new ProcessWorld(
        std::make_unique<ProcessWorldState>(PeerMesh::Over(options.channel), std::move(memory), options)));
  });
}

absl::StatusOr<std::unique_ptr<Communicator>> ProcessWorld::CreateCommunicator(int group_id, std::vector<int> ranks,
                                                                               int rank) {
  RETURN_IF_ERROR(CheckGroup(group_id, ranks, rank, state_->mesh().size()));
  if (rank != state_->mesh().rank()) {
    return InvalidArgument("group {}: rank {} does not live in this process, only {} does", group_id, rank,
                           state_->mesh().rank());
  }
  ASSIGN_OR_RETURN(ProcessGroup* const group, state_->Join(group_id, std::move(ranks), rank));
  return std::make_unique<ProcessCommunicator>(*state_, *group);
}

const FlightRecorder* ProcessWorld::recorder() const { return &state_->recorder(); }

void ProcessWorld::Abort(const absl::Status& status) {
  CHECK(!status.ok());
  state_->Abort(status);
}

std::string ProcessWorld::InFlight() const { return state_->InFlight(); }

}  // namespace partita
