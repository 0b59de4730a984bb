#include "runtime/comm/nccl/nccl_world.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/comm/nccl/nccl_algorithms.h"
#include "runtime/comm/shared/checked_communicator.h"

namespace partita {
namespace {

class NcclCommunicator : public CheckedCommunicator {
 public:
  NcclCommunicator(std::shared_ptr<NcclGroup> group, const CudaContext* context, int rank, int size)
      : CheckedCommunicator(rank, size), group_(std::move(group)), context_(context) {}
  // A rank destroys its communicators before its arena and streams; the world lives longer.
  ~NcclCommunicator() override { group_->End(); }

 protected:
  absl::Status CheckStream(CollectiveKind kind, const Stream& stream) const override {
    const auto* const cuda_stream = dynamic_cast<const CudaStream*>(&stream);
    if (cuda_stream != nullptr && &cuda_stream->context() == context_) return absl::OkStatus();
    return InvalidArgument("{}: stream '{}' is not of device '{}'", Name(kind), stream.name(), context_->name());
  }

  absl::Status EnqueueCall(std::unique_ptr<CommCall> call, Stream& stream) override {
    auto& cuda_stream = static_cast<CudaStream&>(stream);
    RETURN_IF_ERROR(group_->Enqueue(*call, cuda_stream));
    call->wire = call->WireBytes(size());
    cuda_stream.OnEachRun([this, run = std::shared_ptr<CommCall>(std::move(call))] { Count(*run); });
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<NcclGroup> group_;
  const CudaContext* const context_;
};

}  // namespace

std::string NcclHost() {
  if (const char* const host = std::getenv("NCCL_HOSTID"); host != nullptr && *host != '\0') return host;
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

NcclWorld::NcclWorld(NcclWorldOptions options)
    : options_(std::move(options)), recorder_(options_.ranks), ids_(options_.groups.size()) {}

absl::StatusOr<std::unique_ptr<NcclWorld>> NcclWorld::Create(NcclWorldOptions options) {
  std::unique_ptr<NcclWorld> world(new NcclWorld(std::move(options)));
  RETURN_IF_ERROR(world->Exchange());
  world->ReportAlgorithms();
  world->watchdog_ = std::thread([world = world.get()] { world->Watch(); });
  return world;
}

NcclWorld::~NcclWorld() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (watchdog_.joinable()) watchdog_.join();
}

void NcclWorld::ReportAlgorithms() const {
  if (!options_.deterministic || options_.rank != 0 || options_.ranks == 1) return;
  const char* const algorithms = std::getenv("NCCL_ALGO");
  const std::string found = algorithms == nullptr ? "NCCL_ALGO is not set" : fmt::format("NCCL_ALGO={}", algorithms);
  if (ExcludesNvls(algorithms)) {
    if (options_.tell) options_.tell(fmt::format("{}: NCCL adds in the same order in every run", found));
  } else if (options_.warn) {
    options_.warn(
        fmt::format("{}: NCCL may add by NVLS, and sums may have other bits in every run; for deterministic "
                    "sums set NCCL_ALGO=^NVLS,NVLSTree",
                    found));
  }
}

// Host and GPU, each ended by a zero byte; then the ids of the groups that begin with this rank, in their order.
std::string NcclWorld::OwnWords(absl::Status& status) const {
  std::string words = options_.host + '\0' + options_.device->bus_id() + '\0';
  for (const std::vector<int>& ranks : options_.groups) {
    if (ranks.empty() || ranks[0] != options_.rank || !status.ok()) continue;
    ncclUniqueId id = {};
    const ncclResult_t result = options_.api->ncclGetUniqueId(&id);
    if (result != ncclSuccess) status = NcclStatus(*options_.api, result, nullptr, "ncclGetUniqueId", "NCCL");
    words.append(id.internal, sizeof(id.internal));
  }
  return words;
}

absl::Status NcclWorld::Exchange() {
  absl::Status status;
  const std::string words = OwnWords(status);
  // The others wait for this process to say something, whatever has happened here.
  ASSIGN_OR_RETURN(const std::vector<std::string> all, options_.exchange(words));
  RETURN_IF_ERROR(status);
  return Understand(all);
}

absl::Status NcclWorld::Understand(const std::vector<std::string>& all) {
  if (static_cast<int>(all.size()) != options_.ranks) {
    return InvalidArgument("{} processes for {} ranks; NCCL needs a process for each rank", all.size(), options_.ranks);
  }
  std::map<std::string, int> places;  // host and GPU -> rank
  std::vector<size_t> next;           // where the next id of each rank's words begins
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const size_t host = all[rank].find('\0');
    const size_t gpu = host == std::string::npos ? host : all[rank].find('\0', host + 1);
    if (gpu == std::string::npos) return Unavailable("rank {} does not say where its GPU is", rank);
    next.push_back(gpu + 1);
    const auto [place, is_new] = places.emplace(all[rank].substr(0, gpu), rank);
    if (is_new) continue;
    return InvalidArgument(
        "ranks {} and {} have the same GPU {} of host {}; NCCL needs one for each, or a distinct NCCL_HOSTID in each "
        "process",
        place->second, rank, all[rank].substr(host + 1, gpu - host - 1), all[rank].substr(0, host));
  }
  for (size_t group = 0; group < ids_.size(); ++group) {
    const int first = options_.groups[group][0];
    if (next[first] + sizeof(ids_[group].internal) > all[first].size()) {
      return Unavailable("rank {} has no id for group {}", first, group);
    }
    std::memcpy(ids_[group].internal, all[first].data() + next[first], sizeof(ids_[group].internal));
    next[first] += sizeof(ids_[group].internal);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Communicator>> NcclWorld::CreateCommunicator(int group_id, std::vector<int> ranks,
                                                                            int rank) {
  RETURN_IF_ERROR(CheckGroup(group_id, ranks, rank, options_.ranks));
  if (group_id < 0 || group_id >= static_cast<int>(ids_.size()) || options_.groups[group_id] != ranks ||
      rank != options_.rank) {
    return InvalidArgument("group {}: rank {} of [{}] is not what this process was told", group_id, rank,
                           fmt::join(ranks, ","));
  }
  const auto place = static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
  const auto size = static_cast<int>(ranks.size());
  {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(aborted_);
    if (groups_.contains(group_id)) return InvalidArgument("group {}: rank {} has joined already", group_id, rank);
  }
  NcclGroupOptions options;
  options.api = options_.api;
  options.device = options_.device;
  options.ring = &recorder_.Join(rank, group_id, ranks);
  options.id = group_id;
  options.ranks = std::move(ranks);
  options.rank = place;
  options.unique = ids_[group_id];
  options.join_within = options_.join_within;
  ASSIGN_OR_RETURN(std::shared_ptr<NcclGroup> group, NcclGroup::Create(std::move(options)));
  {
    std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(aborted_);
    groups_[group_id] = group;  // from now on an abort reaches it
  }
  const absl::Status joined = WithContext(fmt::format("rank {}", options_.rank), group->Join());
  std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(aborted_);
  if (!joined.ok()) {
    groups_.erase(group_id);
    return joined;
  }
  watched_[group_id] = {group.get(), 0, std::chrono::steady_clock::now()};
  return std::make_unique<NcclCommunicator>(group, &options_.device->context(), place, size);
}

const FlightRecorder* NcclWorld::recorder() const {
  std::lock_guard lock(mutex_);
  for (const auto& [id, group] : groups_) group->progress().Record();
  return &recorder_;
}

void NcclWorld::Abort(const absl::Status& status) {
  {
    std::lock_guard lock(mutex_);
    if (!aborted_.ok()) return;
    aborted_ = status;
    for (const auto& [id, group] : groups_) {
      group->progress().Fail();
      group->GiveUp();
    }
    // First the reason, then the end: whoever waits for the step finds the reason when the step ends.
    options_.device->context().Kill(status);
  }
  changed_.notify_all();
}

void NcclWorld::Watch() {
  const auto ends = [this] { return stop_ || !aborted_.ok(); };
  std::unique_lock lock(mutex_);
  if (options_.poll_every.count() == 0) changed_.wait(lock, ends);
  while (!changed_.wait_for(lock, options_.poll_every, ends)) {
    lock.unlock();
    Poll();
    lock.lock();
  }
  const bool aborted = !aborted_.ok();
  lock.unlock();
  if (aborted) AbortGroups();
}

// Inside of NCCL's group every abort ends what runs of its communicator and returns; the end of the group waits for the
// graphs. One by one the first would wait for a graph that runs until the second is aborted.
void NcclWorld::AbortGroups() {
  std::map<int, std::shared_ptr<NcclGroup>> groups;
  {
    std::lock_guard lock(mutex_);
    groups = groups_;
  }
  // Errors would come too late for anybody.
  const bool together = options_.api->ncclGroupStart() == ncclSuccess;
  for (const auto& [id, group] : groups) group->Abort();
  if (together) options_.api->ncclGroupEnd();
}

void NcclWorld::Poll() {
  absl::Status status;
  {
    std::lock_guard lock(mutex_);
    if (!aborted_.ok()) return;
    for (auto& [id, watched] : watched_) {
      if (status.ok()) status = Look(watched);
    }
  }
  if (!status.ok()) Abort(WithContext(fmt::format("rank {}", options_.rank), status));
}

absl::Status NcclWorld::Look(Watched& watched) const {
  NcclGroup& group = *watched.group;
  CollectiveProgress& progress = group.progress();
  progress.Record();
  RETURN_IF_ERROR(group.PollError());
  const int64_t ended = progress.ended();
  const auto now = std::chrono::steady_clock::now();
  if (ended != watched.ended || ended == progress.launched()) {
    watched.ended = ended;
    watched.since = now;
  }
  if (now - watched.since < options_.give_up_after) return absl::OkStatus();
  return Unavailable("group {}: {}: has not ended within {} ms; a peer is gone or stuck", group.id(),
                     progress.Current(), options_.give_up_after.count());
}

}  // namespace partita
