#include "runtime/comm/gloo/gloo_world.h"

#include <fmt/ranges.h>

#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"
#include "runtime/comm/gloo/gloo_world_state.h"
#include "runtime/comm/shared/host_communicator.h"

namespace partita {
namespace {

class GlooCommunicator : public HostCommunicator {
 public:
  GlooCommunicator(GlooWorldState& world, GlooGroup& group)
      : HostCommunicator(group.rank, static_cast<int>(group.ranks.size()), group.id,
                         world.recorder().Join(world.mesh().rank(), group.id, group.ranks)),
        world_(world),
        group_(group) {}

 private:
  std::unique_ptr<CommCall> NewCall() const override { return std::make_unique<GlooCall>(); }
  absl::Status Prepare(CommCall& call) override {
    return CallGloo([&] { static_cast<GlooCall&>(call).Prepare(world_.mesh(), group_.ranks, scratch_); });
  }
  absl::Status Run(CommCall& call) override { return world_.Run(group_, static_cast<GlooCall&>(call)); }

  GlooWorldState& world_;
  GlooGroup& group_;
  std::shared_ptr<GlooScratch> scratch_;
};

}  // namespace

GlooWorld::GlooWorld(std::unique_ptr<GlooWorldState> state) : state_(std::move(state)) {}
GlooWorld::~GlooWorld() = default;

absl::StatusOr<std::unique_ptr<GlooWorld>> GlooWorld::Connect(int rank, int ranks, KeyValueStore& store,
                                                              const GlooOptions& options) {
  if (rank < 0 || rank >= ranks) return InvalidArgument("rank {} of {}", rank, ranks);
  return OrExhausted("connections to all ranks", [&]() -> absl::StatusOr<std::unique_ptr<GlooWorld>> {
    ASSIGN_OR_RETURN(std::unique_ptr<GlooMesh> mesh,
                     GlooMesh::Connect(rank, ranks, options.address, store, options.connect_timeout));
    return std::unique_ptr<GlooWorld>(new GlooWorld(std::make_unique<GlooWorldState>(std::move(mesh), options)));
  });
}

absl::StatusOr<std::unique_ptr<Communicator>> GlooWorld::CreateCommunicator(int group_id, std::vector<int> ranks,
                                                                            int rank) {
  RETURN_IF_ERROR(CheckGroup(group_id, ranks, rank, state_->mesh().size()));
  if (rank != state_->mesh().rank()) {
    return InvalidArgument("group {}: rank {} does not live in this process, only {} does", group_id, rank,
                           state_->mesh().rank());
  }
  ASSIGN_OR_RETURN(GlooGroup* const group, state_->Join(group_id, std::move(ranks), rank));
  return std::make_unique<GlooCommunicator>(*state_, *group);
}

const FlightRecorder* GlooWorld::recorder() const { return &state_->recorder(); }

void GlooWorld::Abort(const absl::Status& status) {
  CHECK(!status.ok());
  state_->Abort(status);
}

std::string GlooWorld::InFlight() const { return state_->InFlight(); }

}  // namespace partita
