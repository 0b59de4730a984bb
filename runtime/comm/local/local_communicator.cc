#include "runtime/comm/local/local_communicator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/comm/local/local_call.h"
#include "runtime/comm/local/local_group.h"
#include "runtime/comm/shared/host_communicator.h"
#include "runtime/flight_recorder/flight_recorder.h"

namespace partita {

struct LocalWorldState {
  LocalWorldState(int ranks, const LocalWorldOptions& options) : ranks(ranks), options(options), recorder(ranks) {}

  void Abort(const absl::Status& status) {
    std::lock_guard lock(mutex);
    if (!aborted.ok()) return;
    aborted = status;
    for (auto& [id, group] : groups) group->Abort(status);
  }

  const int ranks;
  const LocalWorldOptions options;
  FlightRecorder recorder;
  std::mutex mutex;  // taken before a group's
  std::map<int, std::unique_ptr<LocalGroup>> groups;
  absl::Status aborted;
};

namespace {

class LocalCommunicator : public HostCommunicator {
 public:
  LocalCommunicator(std::shared_ptr<LocalWorldState> world, int id, LocalGroup* group, int rank)
      : HostCommunicator(rank, static_cast<int>(group->ranks().size()), id,
                         world->recorder.Join(group->ranks()[rank], id, group->ranks())),
        world_(std::move(world)),
        group_(group) {}

 private:
  std::unique_ptr<CommCall> NewCall() const override {
    auto call = std::make_unique<LocalCall>();
    call->inputs.resize(static_cast<size_t>(size()));
    call->strided.dimensions.reserve(StridedCopy::kMostDimensions);
    return call;
  }
  absl::Status Prepare(CommCall& call) override {
    static_cast<LocalCall&>(call).bytes = BytesOf(call);
    return absl::OkStatus();
  }
  bool moves_blocks() const override { return true; }
  absl::Status Run(CommCall& call) override { return group_->Run(static_cast<LocalCall&>(call)); }

  const std::shared_ptr<LocalWorldState> world_;
  LocalGroup* const group_;
};

}  // namespace

LocalWorld::LocalWorld(std::shared_ptr<LocalWorldState> state) : state_(std::move(state)) {}
LocalWorld::~LocalWorld() = default;

absl::StatusOr<std::unique_ptr<LocalWorld>> LocalWorld::Create(int ranks, const LocalWorldOptions& options) {
  if (ranks < 1) return InvalidArgument("a world of {} ranks; at least 1", ranks);
  return std::unique_ptr<LocalWorld>(new LocalWorld(std::make_shared<LocalWorldState>(ranks, options)));
}

const FlightRecorder* LocalWorld::recorder() const { return &state_->recorder; }

void LocalWorld::Abort(const absl::Status& status) {
  CHECK(!status.ok());
  state_->Abort(status);
}

absl::StatusOr<std::unique_ptr<Communicator>> LocalWorld::CreateCommunicator(int group_id, std::vector<int> ranks,
                                                                             int rank) {
  RETURN_IF_ERROR(CheckGroup(group_id, ranks, rank, state_->ranks));
  const auto rank_in_group = static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());

  std::lock_guard lock(state_->mutex);
  std::unique_ptr<LocalGroup>& group = state_->groups[group_id];
  if (group == nullptr) {
    LocalWorldState* const state = state_.get();  // outlives its groups
    group = std::make_unique<LocalGroup>(group_id, ranks, state->options.spin, state->options.longest_wait,
                                         [state](const absl::Status& error) { state->Abort(error); });
    if (!state->aborted.ok()) group->Abort(state->aborted);
  }
  if (group->ranks() != ranks) {
    return InvalidArgument("group {}: rank {} says its ranks are [{}], another one said [{}]", group_id, rank,
                           fmt::join(ranks, ","), fmt::join(group->ranks(), ","));
  }
  if (!group->Join(rank_in_group)) return InvalidArgument("group {}: rank {} has joined already", group_id, rank);
  return std::make_unique<LocalCommunicator>(state_, group_id, group.get(), rank_in_group);
}

}  // namespace partita
