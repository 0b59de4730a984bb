#include "graph/plan/storage.h"

#include <algorithm>
#include <limits>

#include "graph/schedule/box_copy.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

constexpr int kEndOfStep = std::numeric_limits<int>::max();

// The last launch that reads or writes each tensor; kEndOfStep for what is needed after all of them.
std::vector<int> LastUses(const LocalProgram& program) {
  std::vector<int> last(program.tensors.size(), -1);
  for (size_t l = 0; l < program.launches.size(); ++l) {
    VisitTensors(program.launches[l], [&](TensorId tensor, bool) { last[tensor] = static_cast<int>(l); });
  }
  for (const Result& result : program.results) last[result.tensor] = kEndOfStep;
  for (const StateUpdate& update : program.updates) last[update.update] = kEndOfStep;
  return last;
}

// The launch that sums the bucket which launch `pack` fills.
int SumOf(const LocalProgram& program, int pack) {
  const TensorId bucket = std::get<LocalCopies>(program.launches[pack].work).copies.front().to;
  for (int l = pack + 1;; ++l) {
    CHECK(l < static_cast<int>(program.launches.size()));
    const auto* const collective = std::get_if<LocalCollective>(&program.launches[l].work);
    if (collective != nullptr && collective->output == bucket) return l;
  }
}

// A member fits if nobody reads it after the sum that overwrites it.
void DropFittingCopies(LocalProgram& program, const std::vector<int>& last_use, int index) {
  const int sum = SumOf(program, index);
  LocalLaunch& pack = program.launches[index];
  std::erase_if(std::get<LocalCopies>(pack.work).copies, [&](const LocalCopy& copy) {
    PlannedTensor& member = program.tensors[copy.from];
    const bool fits =
        member.kind == MemoryKind::kActivation && member.inside == kNoTensor && last_use[copy.from] == sum;
    if (!fits) return false;
    member.inside = copy.to;
    member.offset = copy.boxes.to;
    return true;
  });
}

void BindBuckets(LocalProgram& program) {
  const std::vector<int> last_use = LastUses(program);
  for (size_t l = 0; l < program.launches.size(); ++l) {
    if (program.launches[l].packs_bucket) DropFittingCopies(program, last_use, static_cast<int>(l));
  }
  std::erase_if(program.launches, [](const LocalLaunch& launch) {
    return launch.packs_bucket && std::get<LocalCopies>(launch.work).copies.empty();
  });
}

class StorageAssignment {
 public:
  explicit StorageAssignment(LocalProgram& program) : program_(program), last_use_(LastUses(program)) {
    const size_t tensors = program.tensors.size();
    plan_.storage_of.assign(tensors, -1);
    plan_.offset_in.assign(tensors, 0);
    plan_.last_write.assign(tensors, -1);
    target_.assign(tensors, -1);
    taken_.assign(tensors, false);
    for (const StateUpdate& update : program.updates) {
      if (target_[update.update] < 0) target_[update.update] = update.state;
    }
  }

  StoragePlan Run() {
    for (TensorId tensor = 0; tensor < static_cast<TensorId>(program_.tensors.size()); ++tensor) {
      const MemoryKind kind = program_.tensors[tensor].kind;
      if (kind == MemoryKind::kParameter || kind == MemoryKind::kState) AddStorage(tensor, 0);
    }
    for (size_t l = 0; l < program_.launches.size(); ++l) Visit(static_cast<int>(l));
    AppendStores();
    AppendEnd();
    SetLastUses();
    return std::move(plan_);
  }

 private:
  void Visit(int l) {
    const LocalLaunch& launch = program_.launches[l];
    VisitTensors(launch, [&](TensorId tensor, bool write) {
      if (!write) return;
      if (plan_.storage_of[tensor] < 0) Place(tensor, launch, l);
      plan_.last_write[tensor] = l;
    });
  }

  void Bind(TensorId member) {
    const PlannedTensor& planned = program_.tensors[member];
    plan_.storage_of[member] = plan_.storage_of[planned.inside];
    plan_.offset_in[member] = planned.offset;
  }

  void Place(TensorId tensor, const LocalLaunch& launch, int l) {
    const PlannedTensor& planned = program_.tensors[tensor];
    if (planned.inside >= 0) {
      if (plan_.storage_of[planned.inside] < 0) AddStorage(planned.inside, l);
      return Bind(tensor);
    }
    const TensorId state = target_[tensor];
    if (state >= 0 && planned.kind == MemoryKind::kActivation && CanReplace(state, tensor, launch, l)) {
      return TakePlaceOf(state, tensor);
    }
    for (const InPlace& pair : launch.in_place) {
      if (pair.to != tensor || program_.tensors[pair.from].kind != MemoryKind::kActivation) continue;
      if (last_use_[pair.from] != l || taken_[pair.from] || !InPlaceOnly(launch, pair)) continue;
      return TakePlaceOf(pair.from, tensor);
    }
    AddStorage(tensor, l);
  }

  // No reader of the old state comes after launch l, and l itself, if it reads it, does so in place.
  bool CanReplace(TensorId state, TensorId update, const LocalLaunch& launch, int l) const {
    if (taken_[state] || last_use_[state] > l) return false;
    return last_use_[state] < l || InPlaceOnly(launch, {state, update});
  }

  // Whether the launch reads `pair.from` in place alone: as one of several joined launches it may read it otherwise,
  // too.
  static bool InPlaceOnly(const LocalLaunch& launch, const InPlace& pair) {
    const auto pairs = std::ranges::count_if(
        launch.in_place, [&](const InPlace& each) { return each.from == pair.from && each.to == pair.to; });
    std::ptrdiff_t reads = 0;
    VisitTensors(launch, [&](TensorId tensor, bool write) { reads += tensor == pair.from && !write; });
    return pairs > 0 && pairs == reads;
  }

  void TakePlaceOf(TensorId from, TensorId to) {
    CHECK(program_.tensors[from].bytes == program_.tensors[to].bytes);
    plan_.storage_of[to] = plan_.storage_of[from];
    plan_.offset_in[to] = plan_.offset_in[from];
    taken_[from] = true;
  }

  void AddStorage(TensorId tensor, int first) {
    const PlannedTensor& planned = program_.tensors[tensor];
    plan_.storage_of[tensor] = static_cast<int>(plan_.storages.size());
    plan_.storages.push_back({planned.name, planned.bytes, planned.kind, first, first, false});
  }

  // One launch for all: they are small as a rule (counters that something still reads as they were).
  void AppendStores() {
    LocalLaunch store;
    LocalCopies work;
    for (const StateUpdate& update : program_.updates) {
      if (plan_.storage_of[update.update] == plan_.storage_of[update.state]) continue;
      const Box flat = WholeBox({program_.tensors[update.state].bytes});
      work.copies.push_back({CopyOf(flat, flat, flat, DType::kU8), update.update, update.state, /*keeps=*/true});
    }
    if (work.copies.empty()) return;
    store.name = "store states";
    store.phase = Phase::kUpdate;
    store.work = std::move(work);
    program_.launches.push_back(std::move(store));
  }

  void AppendEnd() {
    LocalLaunch& end = program_.launches.emplace_back();
    end.name = "step end";
    end.phase = Phase::kUpdate;
    LocalHost reads{false, {}};
    for (const Result& result : program_.results) reads.tensors.push_back(result.tensor);
    end.work = std::move(reads);
  }

  // A storage lives as long as anything in it is used; states and staged inputs all the time.
  void SetLastUses() {
    const int end = static_cast<int>(program_.launches.size()) - 1;
    for (int l = 0; l <= end; ++l) {
      const bool collective = std::holds_alternative<LocalCollective>(program_.launches[l].work);
      VisitTensors(program_.launches[l], [&](TensorId tensor, bool) {
        Storage& storage = plan_.storages[plan_.storage_of[tensor]];
        storage.last = l;
        storage.last_by_collective = collective;
      });
    }
    for (Storage& storage : plan_.storages) {
      const bool transient = storage.kind == MemoryKind::kActivation || storage.kind == MemoryKind::kWorkspace;
      if (!transient) storage.last = end;
    }
  }

  LocalProgram& program_;
  std::vector<int> last_use_;
  StoragePlan plan_;
  std::vector<TensorId> target_;  // by TensorId: the state that it becomes
  std::vector<bool> taken_;       // by TensorId: an output has taken its place
};

}  // namespace

StoragePlan AssignStorage(LocalProgram& program) {
  BindBuckets(program);
  return StorageAssignment(program).Run();
}

}  // namespace partita
