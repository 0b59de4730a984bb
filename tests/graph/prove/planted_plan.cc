#include "tests/graph/prove/planted_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "graph/lower/group_updates.h"
#include "graph/lower/join_scalars.h"
#include "graph/lower/launch_halos_early.h"
#include "graph/lower/lower_graph.h"
#include "graph/lower/split_at_halos.h"
#include "graph/lower/view_columns.h"
#include "graph/plan/bind_schedule.h"
#include "graph/plan/memory_plan.h"
#include "graph/plan/stream_work.h"
#include "graph/plan/waits.h"
#include "graph/prove/verify_schedule.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

constexpr int64_t kWord = 4;  // all tensors but workspace are made of such

LocalProgram Lower(const Program& program, const Graph& entry, int rank, const LocalGraph& local,
                   const KernelCatalogue& kernels, bool grouped) {
  absl::StatusOr<LocalProgram> lowered = LowerGraph(program, entry, rank, local, kernels, {});
  CHECK(lowered.ok());
  LaunchHalosEarly(*lowered, entry);
  SplitAtHalos(*lowered, entry, local, kernels, {OverlapHalo::kOn, 0});
  ViewColumns(*lowered, kernels);
  if (grouped) CHECK(JoinScalars(*lowered, kernels).ok() && GroupUpdates(*lowered, kernels).ok());
  return *std::move(lowered);
}

MemoryPlan Placed(const StoragePlan& storage) {
  absl::StatusOr<MemoryPlan> memory = PlanMemory(storage.storages, {});
  CHECK(memory.ok());
  return *std::move(memory);
}

// Words of tensors that a launch touches, and what is there afterwards.
struct Touch {
  TensorId tensor = kNoTensor;  // where it lies
  int64_t first = 0, words = 0;
  TensorId meant = kNoTensor;  // what it is, if it is a copy of another tensor
  int64_t meant_first = 0;
  bool copies = false;
};

struct Touches {
  std::vector<Touch> reads, writes;
};

class TouchList {
 public:
  explicit TouchList(const LocalProgram& program) : program_(program) {}

  Touches Of(const LocalLaunch& launch) {
    touches_ = {};
    std::visit([&](const auto& work) { Add(work); }, launch.work);
    return std::move(touches_);
  }

 private:
  void Whole(TensorId tensor, std::vector<Touch>& to) {
    if (tensor == kNoTensor) return;
    to.push_back({tensor, 0, (program_.tensors[tensor].bytes + kWord - 1) / kWord, tensor, 0});
  }

  static void Bytes(const Touch& from, int64_t first, int64_t bytes, std::vector<Touch>& to) {
    CHECK(first % kWord == 0 && bytes % kWord == 0);
    Touch touch = from;
    touch.first += first / kWord;
    touch.meant_first += first / kWord;
    touch.words = bytes / kWord;
    to.push_back(touch);
  }

  // Row by row.
  static void BoxOf(const Touch& whole, const Shape& shape, const Shape& start, const Shape& size, int64_t element,
                    std::vector<Touch>& to) {
    int64_t rows = 1;
    for (size_t d = 0; d + 1 < size.size(); ++d) rows *= size[d];
    const int64_t row_bytes = size.empty() ? element : size.back() * element;
    if (rows == 0 || row_bytes == 0) return;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t at = 0, rest = row, scale = shape.empty() ? 1 : shape.back();
      if (!shape.empty()) at = start.back();
      for (size_t d = shape.size(); d-- > 1;) {
        at += scale * (start[d - 1] + rest % size[d - 1]);
        rest /= size[d - 1];
        scale *= shape[d - 1];
      }
      Bytes(whole, at * element, row_bytes, to);
    }
  }

  void AddOperand(const LocalNode& node, size_t place, const Operand& operand, std::vector<Touch>& to) {
    if (operand.tensor == kNoTensor) return;
    const LocalTensor& tensor = *node.operand(place);
    const Touch base{operand.tensor, operand.offset / kWord, 0, operand.tensor, operand.offset / kWord};
    if (node.within.empty()) return Bytes(base, 0, tensor.bytes(), to);
    Shape start = tensor.box.offset;
    for (size_t d = 0; d < start.size(); ++d) start[d] -= node.within[place].offset[d];
    BoxOf(base, node.within[place].size, start, tensor.box.size, SizeOf(tensor.dtype), to);
  }

  void Add(const LocalKernel& kernel) {
    for (size_t i = 0; i < kernel.inputs.size(); ++i) AddOperand(kernel.node, i, kernel.inputs[i], touches_.reads);
    for (size_t o = 0; o < kernel.outputs.size(); ++o) {
      AddOperand(kernel.node, kernel.inputs.size() + o, kernel.outputs[o], touches_.writes);
    }
    Whole(kernel.workspace, touches_.writes);
  }

  void Add(const LocalCopies& copies) {
    Whole(copies.zeroed, touches_.writes);
    for (const LocalCopy& copy : copies.copies) {
      const BoxCopy& boxes = copy.boxes;
      const Touch from{copy.from, boxes.from / kWord, 0, copy.from, boxes.from / kWord};
      Touch to{copy.to, boxes.to / kWord, 0, copy.to, boxes.to / kWord};
      if (copy.keeps) to = {copy.to, to.first, 0, copy.from, from.first, true};
      BoxOf(from, boxes.from_shape, boxes.from_start, boxes.size, boxes.element_bytes, touches_.reads);
      BoxOf(to, boxes.to_shape, boxes.to_start, boxes.size, boxes.element_bytes, touches_.writes);
    }
  }

  void Add(const LocalCollective& collective) {
    const CollectiveLaunch& call = collective.call;
    const int64_t element = SizeOf(call.dtype);
    for (const bool write : {false, true}) {
      if (write && OnlyReads(call)) continue;
      std::vector<Touch>& to = write ? touches_.writes : touches_.reads;
      const TensorId tensor = write ? collective.output : collective.input;
      const int64_t begin = std::max<int64_t>(write ? call.output : call.input, 0) / kWord;
      for (const BucketMember& member : call.members) {
        Bytes({tensor, member.first / kWord, 0, write ? member.sum : member.summand, 0}, 0, member.bytes, to);
      }
      for (const PlacedBox& placed : write ? call.receive_boxes : call.send_boxes) {
        if (placed.box.empty()) continue;
        const int64_t first = begin + placed.first * element / kWord;
        BoxOf({tensor, first, 0, tensor, first}, placed.shape, placed.box.offset, placed.box.size, element, to);
      }
      if (tensor == kNoTensor || !call.members.empty() || !call.send_boxes.empty()) continue;
      const int64_t bytes = (write ? call.output_count : call.input_count) * element;
      Bytes({tensor, begin, 0, tensor, begin}, 0, bytes, to);
    }
  }

  void Add(const LocalHost& host) {
    for (const TensorId tensor : host.tensors) Whole(tensor, host.begin ? touches_.writes : touches_.reads);
  }

  const LocalProgram& program_;
  Touches touches_;
};

// Two memories: the arena, and one in which every tensor has its own bytes. Equal words are written to both.
class Walk {
 public:
  Walk(const LocalProgram& program, const StoragePlan& storage)
      : program_(program), storage_(storage), memory_(Placed(storage)) {
    arena_.assign(static_cast<size_t>(memory_.use.total / kWord + 1), 0);
    marks_.resize(arena_.size());
    for (const PlannedTensor& tensor : program.tensors) {
      own_.emplace_back(static_cast<size_t>((tensor.bytes + kWord - 1) / kWord), 0);
      const bool state = tensor.kind == MemoryKind::kParameter || tensor.kind == MemoryKind::kState;
      if (!state) continue;
      const auto t = static_cast<TensorId>(own_.size()) - 1;
      for (size_t w = 0; w < own_.back().size(); ++w) arena_[Word(t, 0) + w] = own_.back()[w] = ++next_;
    }
  }

  bool IsRight() {
    for (int step = 0; step < 2; ++step) {
      for (const LocalLaunch& launch : program_.launches) {
        const Touches touches = TouchList(program_).Of(launch);
        if (!std::ranges::all_of(touches.reads, [&](const Touch& read) { return IsMeant(read); })) return false;
        if (!ApartOrAllowed(launch, touches)) return false;
        for (const Touch& write : touches.writes) Write(write);
      }
      std::vector<std::pair<TensorId, std::vector<uint32_t>>> carried;
      for (const StateUpdate& update : program_.updates) carried.emplace_back(update.state, own_[update.update]);
      for (auto& [state, words] : carried) own_[state] = std::move(words);
      for (TensorId t = 0; t < static_cast<TensorId>(own_.size()); ++t) {
        const MemoryKind kind = program_.tensors[t].kind;
        if (kind != MemoryKind::kParameter && kind != MemoryKind::kState) continue;
        if (!IsMeant({t, 0, static_cast<int64_t>(own_[t].size()), t, 0})) return false;
      }
    }
    return true;
  }

 private:
  size_t Word(TensorId tensor, int64_t word) const {
    return static_cast<size_t>((memory_.offsets[storage_.storage_of[tensor]] + storage_.offset_in[tensor]) / kWord +
                               word);
  }

  bool IsMeant(const Touch& read) const {
    const auto in_arena = arena_.begin() + static_cast<std::ptrdiff_t>(Word(read.tensor, read.first));
    const auto meant = own_[read.meant].begin() + read.meant_first;
    return std::equal(in_arena, in_arena + read.words, meant);
  }

  // A copy of another tensor leaves that as it is.
  void Write(const Touch& write) {
    const size_t at = Word(write.tensor, write.first);
    for (int64_t w = 0; w < write.words; ++w) {
      uint32_t& own = own_[write.meant][static_cast<size_t>(write.meant_first + w)];
      if (!write.copies) own = ++next_;
      arena_[at + static_cast<size_t>(w)] = own;
    }
  }

  bool ApartOrAllowed(const LocalLaunch& launch, const Touches& touches) {
    ++marker_;
    for (size_t t = 0; t < touches.writes.size(); ++t) {
      const Touch& write = touches.writes[t];
      for (int64_t w = 0; w < write.words; ++w) {
        Mark& mark = marks_[Word(write.tensor, write.first + w)];
        if (mark.marker == marker_ && touches.writes[mark.touch].meant != write.meant) return false;
        mark = {marker_, t};
      }
    }
    for (const Touch& read : touches.reads) {
      for (int64_t w = 0; w < read.words; ++w) {
        const Mark& mark = marks_[Word(read.tensor, read.first + w)];
        if (mark.marker == marker_ && !MayOverwrite(launch, read, touches.writes[mark.touch])) return false;
      }
    }
    return true;
  }

  bool MayOverwrite(const LocalLaunch& launch, const Touch& read, const Touch& write) const {
    if (Word(read.tensor, read.first) != Word(write.tensor, write.first) || read.words != write.words) return false;
    if (const auto* const collective = std::get_if<LocalCollective>(&launch.work)) {
      const CollectiveKind kind = collective->call.kind;
      return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduce;
    }
    return std::ranges::any_of(
        launch.in_place, [&](const InPlace& pair) { return pair.from == read.tensor && pair.to == write.tensor; });
  }

  const LocalProgram& program_;
  const StoragePlan& storage_;
  const MemoryPlan memory_;
  // Which of the writes of a launch touches a word.
  struct Mark {
    int marker = 0;  // of the launch
    size_t touch = 0;
  };

  std::vector<uint32_t> arena_;
  std::vector<Mark> marks_;
  std::vector<std::vector<uint32_t>> own_;  // by tensor
  int marker_ = 0;
  uint32_t next_ = 0;
};

bool IsState(const Storage& storage) {
  return storage.kind == MemoryKind::kParameter || storage.kind == MemoryKind::kState;
}

// A life that has all of both.
void Live(StoragePlan& plan, int with, int of) {
  Storage& storage = plan.storages[with];
  storage.first = std::min(storage.first, plan.storages[of].first);
  storage.last = std::max(storage.last, plan.storages[of].last);
}

}  // namespace

PlantedPlan::PlantedPlan(const Program& program, const Graph& entry, int rank, const KernelCatalogue& kernels,
                         bool grouped)
    : program_(program),
      entry_(entry),
      rank_(rank),
      local_(Localize(entry, rank)),
      lowered_(Lower(program, entry, rank, local_, kernels, grouped)),
      storage_(AssignStorage(lowered_)) {}

std::vector<PlantedFault> PlantedPlan::Faults(uint64_t seed, size_t most) const {
  std::mt19937_64 random(seed);
  std::vector<PlantedFault> in_place = OutputsInPlace(), elsewhere = TensorsElsewhere(random), shorter = ShorterLives();
  std::vector<PlantedFault> all;
  for (std::vector<PlantedFault>* const faults : {&in_place, &elsewhere, &shorter}) {
    std::ranges::shuffle(*faults, random);
    faults->resize(std::min(faults->size(), most / 3));
    std::ranges::move(*faults, std::back_inserter(all));
  }
  return all;
}

// No tensor that has its place in a bucket, or that lies there already.
bool PlantedPlan::MayMove(TensorId tensor, TensorId to) const {
  return lowered_.tensors[tensor].inside == kNoTensor && lowered_.tensors[tensor].bytes == lowered_.tensors[to].bytes &&
         storage_.storage_of[tensor] >= 0 && storage_.storage_of[to] >= 0 &&
         (storage_.storage_of[tensor] != storage_.storage_of[to] ||
          storage_.offset_in[tensor] != storage_.offset_in[to]);
}

PlantedFault PlantedPlan::Moved(TensorId tensor, TensorId to, const std::string& how) const {
  PlantedFault fault{fmt::format("'{}' {} '{}'", lowered_.tensors[tensor].name, how, lowered_.tensors[to].name),
                     storage_};
  fault.storage.storage_of[tensor] = storage_.storage_of[to];
  fault.storage.offset_in[tensor] = storage_.offset_in[to];
  Live(fault.storage, storage_.storage_of[to], storage_.storage_of[tensor]);
  return fault;
}

std::vector<PlantedFault> PlantedPlan::OutputsInPlace() const {
  std::vector<PlantedFault> faults;
  for (const LocalLaunch& launch : lowered_.launches) {
    std::set<TensorId> reads, writes;
    VisitTensors(launch, [&](TensorId tensor, bool write) { (write ? writes : reads).insert(tensor); });
    for (const TensorId from : reads) {
      for (const TensorId to : writes) {
        if (MayMove(to, from)) faults.push_back(Moved(to, from, "is made by '" + launch.name + "' in the place of"));
      }
    }
  }
  return faults;
}

// Each tensor where three others lie, and each storage where another does.
std::vector<PlantedFault> PlantedPlan::TensorsElsewhere(std::mt19937_64& random) const {
  std::vector<PlantedFault> faults;
  const auto drawn = [&](size_t among) { return static_cast<int>(random() % among); };
  for (TensorId tensor = 0; tensor < static_cast<TensorId>(lowered_.tensors.size()); ++tensor) {
    const MemoryKind kind = lowered_.tensors[tensor].kind;
    if (kind == MemoryKind::kParameter || kind == MemoryKind::kState) continue;
    std::vector<TensorId> places;
    for (TensorId to = 0; to < static_cast<TensorId>(lowered_.tensors.size()); ++to) {
      if (MayMove(tensor, to)) places.push_back(to);
    }
    for (int of = 0; of < 3 && !places.empty(); ++of) {
      faults.push_back(Moved(tensor, places[drawn(places.size())], "lies where"));
    }
  }
  for (int s = 0; s < static_cast<int>(storage_.storages.size()); ++s) {
    const int other = drawn(storage_.storages.size());
    if (IsState(storage_.storages[s]) || other == s) continue;
    if (storage_.storages[other].bytes < storage_.storages[s].bytes) continue;
    const std::string &name = storage_.storages[s].name, &place = storage_.storages[other].name;
    faults.push_back({fmt::format("all of '{}' lies where all of '{}' does", name, place), storage_});
    std::ranges::replace(faults.back().storage.storage_of, s, other);
    Live(faults.back().storage, other, s);
  }
  return faults;
}

std::vector<PlantedFault> PlantedPlan::ShorterLives() const {
  std::vector<PlantedFault> faults;
  for (size_t s = 0; s < storage_.storages.size(); ++s) {
    const Storage& storage = storage_.storages[s];
    if (IsState(storage) || storage.kind == MemoryKind::kInput) continue;
    for (const int last : {storage.last - 1, (storage.first + storage.last) / 2}) {
      if (last < storage.first || last >= storage.last) continue;
      faults.push_back(
          {fmt::format("'{}' dies at {} of {} to {}", storage.name, last, storage.first, storage.last), storage_});
      faults.back().storage.storages[s].last = last;
    }
  }
  return faults;
}

Schedule PlantedPlan::Bind(const StoragePlan& storage) const {
  Schedule schedule = BindSchedule(program_, entry_, rank_, local_, lowered_, storage, Placed(storage));
  schedule.streams = 2;
  for (size_t l = 0; l < schedule.launches.size(); ++l) {
    schedule.launches[l].stream = static_cast<int>(LaneOf(lowered_.launches[l]));
  }
  const int end = static_cast<int>(schedule.launches.size()) - 1;
  schedule.lifetimes = {{"arena", {0, schedule.memory.total}, 0, end, false}};
  DeclareOrder(schedule);
  AssignWaits(schedule);
  return schedule;
}

bool PlantedPlan::ReadsWhatItMeans(const StoragePlan& storage) const { return Walk(lowered_, storage).IsRight(); }

PlantedFaults PlantedPlan::ExpectRefused(uint64_t seed, size_t most) const {
  EXPECT_TRUE(ReadsWhatItMeans(storage_));
  const Schedule right = Bind(storage_);
  EXPECT_EQ(VerifySchedule(right), absl::OkStatus());
  for (const Launch& launch : right.launches) {
    for (const Access& access : AccessesOf(launch)) EXPECT_NE(access.tensor, kNoTensor) << launch.name;
  }
  PlantedFaults planted;
  for (const PlantedFault& fault : Faults(seed, most)) {
    const bool harmless = ReadsWhatItMeans(fault.storage);
    const absl::Status status = VerifySchedule(Bind(fault.storage));
    EXPECT_TRUE(harmless || !status.ok()) << "rank " << rank_ << ": " << fault.what;
    planted.refused += !harmless;
    planted.accepted += harmless && status.ok();
  }
  return planted;
}

}  // namespace partita
