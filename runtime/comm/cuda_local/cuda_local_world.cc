#include "runtime/comm/cuda_local/cuda_local_world.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/comm/cuda_local/cuda_local_group.h"
#include "runtime/comm/cuda_local/reduce_kernel.h"
#include "runtime/comm/shared/checked_communicator.h"

namespace partita {
namespace {

class CudaLocalCommunicator : public CheckedCommunicator {
 public:
  CudaLocalCommunicator(CudaLocalGroup* group, const CudaContext* context, int rank)
      : CheckedCommunicator(rank, static_cast<int>(group->ranks().size())), group_(group), context_(context) {}

 protected:
  bool moves_blocks() const override { return true; }

  absl::Status CheckStream(CollectiveKind kind, const Stream& stream) const override {
    const auto* const cuda_stream = dynamic_cast<const CudaStream*>(&stream);
    if (cuda_stream != nullptr && &cuda_stream->context() == context_) return absl::OkStatus();
    return InvalidArgument("{}: stream '{}' is not of device '{}'", Name(kind), stream.name(), context_->name());
  }

  absl::Status EnqueueCall(std::unique_ptr<CommCall> call, Stream& stream) override {
    return group_->Post(std::move(call), static_cast<CudaStream&>(stream), [this](const CommCall& run) { Count(run); });
  }

 private:
  CudaLocalGroup* const group_;
  const CudaContext* const context_;
};

}  // namespace

CudaLocalWorld::CudaLocalWorld(int ranks, CudaDevice* device) : ranks_(ranks), device_(device) {}
CudaLocalWorld::~CudaLocalWorld() = default;

absl::StatusOr<std::unique_ptr<CudaLocalWorld>> CudaLocalWorld::Create(int ranks, CudaDevice* device) {
  RETURN_IF_ERROR(CheckRanks(ranks, device->name()));
  return std::unique_ptr<CudaLocalWorld>(new CudaLocalWorld(ranks, device));
}

absl::Status CudaLocalWorld::CheckRanks(int ranks, const std::string& device) {
  if (ranks >= 1 && ranks <= ReduceArguments::kMostRanks) return absl::OkStatus();
  return InvalidArgument("{} ranks on device '{}'; 1 to {} may share a GPU", ranks, device,
                         ReduceArguments::kMostRanks);
}

absl::StatusOr<std::unique_ptr<Communicator>> CudaLocalWorld::CreateCommunicator(int group_id, std::vector<int> ranks,
                                                                                 int rank) {
  RETURN_IF_ERROR(CheckGroup(group_id, ranks, rank, ranks_));
  std::unique_ptr<CudaLocalGroup>& group = groups_[group_id];
  if (group == nullptr) {
    ASSIGN_OR_RETURN(group, CudaLocalGroup::Create(group_id, ranks, device_));
  }
  if (group->ranks() != ranks) {
    return InvalidArgument("group {}: rank {} says its ranks are [{}], another one said [{}]", group_id, rank,
                           fmt::join(ranks, ","), fmt::join(group->ranks(), ","));
  }
  const auto rank_in_group = static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
  if (!group->Join(rank_in_group)) return InvalidArgument("group {}: rank {} has joined already", group_id, rank);
  return std::make_unique<CudaLocalCommunicator>(group.get(), &device_->context(), rank_in_group);
}

void CudaLocalWorld::Abort(const absl::Status& status) { device_->context().Kill(status); }

}  // namespace partita
