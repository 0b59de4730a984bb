#include "tests/graph/schedule/interpreter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "graph/ir/op_definition.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

// Calls visit(local index, global index) for the elements of a tensor in row-major order.
template <typename Visit>
void ForEachElement(const LocalTensor& tensor, const Visit& visit) {
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    int64_t rest = i;
    int64_t global = 0;
    int64_t stride = 1;
    for (size_t d = tensor.global.size(); d-- > 0;) {
      global += (rest % tensor.box.size[d] + tensor.box.offset[d]) * stride;
      rest /= tensor.box.size[d];
      stride *= tensor.global[d];
    }
    visit(i, global);
  }
}

// The elements of an operand that a box takes, in the box's order.
std::vector<int64_t> ElementsOf(const PlacedBox& placed) {
  std::vector<int64_t> elements(static_cast<size_t>(placed.box.elements()), placed.first);
  for (size_t i = 0; i < elements.size(); ++i) {
    auto rest = static_cast<int64_t>(i), stride = int64_t{1};
    for (size_t d = placed.shape.size(); d-- > 0; stride *= placed.shape[d]) {
      elements[i] += (placed.box.offset[d] + rest % placed.box.size[d]) * stride;
      rest /= placed.box.size[d];
    }
  }
  return elements;
}

bool IsColumnCopy(const LocalNode& node) { return node.op->role == Role::kSlice || node.op->role == Role::kConcat; }

// Where an element of an operand lies in its memory.
int64_t PlaceOf(const LocalNode& node, size_t operand, int64_t element) {
  if (node.within.empty()) return element;
  const Box &box = node.operand(operand)->box, &within = node.within[operand];
  int64_t place = 0, stride = 1;
  for (size_t d = box.size.size(); d-- > 0; stride *= within.size[d]) {
    place += (element % box.size[d] + box.offset[d] - within.offset[d]) * stride;
    element /= box.size[d];
  }
  return place;
}

}  // namespace

float Combined(const std::string& node, int output, std::span<const float> inputs) {
  int64_t sum = output + 1;
  for (char c : node) sum = (sum * 31 + c) % 1009;
  for (size_t i = 0; i < inputs.size(); ++i) sum += static_cast<int64_t>(inputs[i]) * static_cast<int64_t>(i + 2);
  return static_cast<float>(sum % 1009);
}

Interpreter::Interpreter(const Program& program, std::vector<Schedule> schedules)
    : program_(program), schedules_(std::move(schedules)) {
  for (const Schedule& schedule : schedules_) arenas_.emplace_back(schedule.memory.total + 4, 0xA5);
}

std::vector<float> Interpreter::Read(int rank, int64_t offset, int64_t elements) const {
  std::vector<float> values(elements);
  std::memcpy(values.data(), arenas_[rank].data() + offset, elements * sizeof(float));
  return values;
}

void Interpreter::Write(int rank, int64_t offset, std::span<const float> values) {
  std::memcpy(At(rank, offset), values.data(), values.size_bytes());
}

bool Interpreter::Step(uint64_t seed) {
  std::mt19937_64 random(seed);
  runs_.clear();
  for (const Schedule& schedule : schedules_) {
    Run run;
    run.done.assign(schedule.launches.size(), false);
    for (int stream = 0; stream <= schedule.streams; ++stream) {
      size_t first = 0;
      while (first < schedule.launches.size() && schedule.launches[first].stream != stream) ++first;
      run.next.push_back(static_cast<int>(first));
    }
    runs_.push_back(std::move(run));
  }
  while (true) {
    std::vector<std::pair<int, int>> ready;
    bool all_done = true;
    for (int rank = 0; rank < static_cast<int>(schedules_.size()); ++rank) {
      for (int launch : runs_[rank].next) {
        if (launch == static_cast<int>(schedules_[rank].launches.size())) continue;
        all_done = false;
        if (GroupReady(rank, launch)) ready.emplace_back(rank, launch);
      }
    }
    if (all_done) return true;
    if (ready.empty()) return false;
    const auto [rank, launch] = ready[random() % ready.size()];
    Execute(rank, launch);
  }
}

bool Interpreter::Ready(int rank, int launch) const {
  const std::vector<int>& waits = schedules_[rank].launches[launch].waits;
  return std::all_of(waits.begin(), waits.end(), [&](int wait) { return runs_[rank].done[wait]; });
}

// They are one chain, on whatever streams, so at most one is.
int Interpreter::ReadyCollective(int rank) const {
  const std::vector<Launch>& launches = schedules_[rank].launches;
  for (const int head : runs_[rank].next) {
    if (head == static_cast<int>(launches.size()) || !Ready(rank, head)) continue;
    if (std::holds_alternative<CollectiveLaunch>(launches[head].work)) return head;
  }
  return -1;
}

// Everybody of the group is at its next collective of the group.
bool Interpreter::GroupReady(int rank, int launch) {
  if (!Ready(rank, launch)) return false;
  const auto* collective = std::get_if<CollectiveLaunch>(&schedules_[rank].launches[launch].work);
  if (collective == nullptr) return true;
  for (int peer : program_.groups[collective->group].ranks) {
    const int head = ReadyCollective(peer);
    if (head < 0) return false;
    if (std::get<CollectiveLaunch>(schedules_[peer].launches[head].work).group != collective->group) return false;
  }
  return true;
}

void Interpreter::Execute(int rank, int launch) {
  const Launch& item = schedules_[rank].launches[launch];
  if (const auto* kernel = std::get_if<KernelLaunch>(&item.work)) RunKernel(rank, *kernel);
  if (const auto* copy = std::get_if<CopyLaunch>(&item.work)) RunCopy(rank, *copy);
  const auto* collective = std::get_if<CollectiveLaunch>(&item.work);
  if (collective == nullptr) return Finish(rank, launch);
  const std::vector<int>& ranks = program_.groups[collective->group].ranks;
  std::vector<const CollectiveLaunch*> calls;
  std::vector<int> heads;
  for (int peer : ranks) {
    heads.push_back(ReadyCollective(peer));
    calls.push_back(&std::get<CollectiveLaunch>(schedules_[peer].launches[heads.back()].work));
  }
  RunCollective(calls, ranks);
  for (size_t r = 0; r < ranks.size(); ++r) Finish(ranks[r], heads[r]);
}

void Interpreter::Finish(int rank, int launch) {
  const Schedule& schedule = schedules_[rank];
  runs_[rank].done[launch] = true;
  int& next = runs_[rank].next[schedule.launches[launch].stream];
  do ++next;
  while (next < static_cast<int>(schedule.launches.size()) &&
         schedule.launches[next].stream != schedule.launches[launch].stream);
  if (after) after(rank, launch);
}

void Interpreter::RunKernel(int rank, const KernelLaunch& kernel) {
  // The scratch memory is used: what lies there is lost.
  if (kernel.workspace >= 0) std::memset(arenas_[rank].data() + kernel.workspace, 0x5A, kernel.choice.workspace_bytes);
  std::vector<std::vector<float>> results;
  for (size_t o = 0; o < kernel.outputs.size(); ++o) {
    const LocalTensor& output = kernel.node.outputs[o];
    std::vector<float> values(output.elements());
    const bool partial = kernel.node.attributes.Has("partial");
    ForEachElement(output, [&](int64_t i, int64_t global) {
      if (kernel.node.op->name == "fill") {
        values[i] = static_cast<float>(global + (partial ? 1000 * (rank + 1) : 0));
        return;
      }
      if (IsColumnCopy(kernel.node)) {
        values[i] = CopiedElement(rank, kernel, i);
        return;
      }
      std::vector<float> inputs;
      for (size_t k = 0; k < kernel.inputs.size(); ++k) {
        inputs.push_back(At(rank, kernel.inputs[k])[PlaceOf(kernel.node, k, i)]);
      }
      values[i] = Combined(kernel.node.name, static_cast<int>(o), inputs);
    });
    results.push_back(std::move(values));
  }
  for (size_t o = 0; o < results.size(); ++o) {
    if (kernel.outputs[o] < 0) continue;
    for (size_t i = 0; i < results[o].size(); ++i) {
      const int64_t place = PlaceOf(kernel.node, kernel.inputs.size() + o, static_cast<int64_t>(i));
      At(rank, kernel.outputs[o])[place] = results[o][i];
    }
  }
}

// Of a slice or concat along the last dimension.
float Interpreter::CopiedElement(int rank, const KernelLaunch& kernel, int64_t element) {
  const LocalNode& node = kernel.node;
  const int64_t width = node.outputs[0].shape().back(), row = element / width;
  int64_t column = element % width;
  if (node.op->role == Role::kSlice) column += node.attributes.Ints("begin").back();
  size_t k = 0;
  for (; column >= node.inputs[k]->shape().back(); ++k) column -= node.inputs[k]->shape().back();
  return At(rank, kernel.inputs[k])[row * node.inputs[k]->shape().back() + column];
}

void Interpreter::RunCopy(int rank, const CopyLaunch& launch) {
  std::memset(arenas_[rank].data() + std::max<int64_t>(0, launch.zero.offset), 0, launch.zero.bytes);
  for (const BoxCopy& copy : launch.copies) {
    for (int64_t i = 0; i < Elements(copy.size); ++i) {
      int64_t rest = i, from = 0, to = 0, from_stride = 1, to_stride = 1;
      for (size_t d = copy.size.size(); d-- > 0;) {
        const int64_t index = rest % copy.size[d];
        rest /= copy.size[d];
        from += (index + copy.from_start[d]) * from_stride;
        to += (index + copy.to_start[d]) * to_stride;
        from_stride *= copy.from_shape[d];
        to_stride *= copy.to_shape[d];
      }
      std::memcpy(arenas_[rank].data() + copy.to + to * copy.element_bytes,
                  arenas_[rank].data() + copy.from + from * copy.element_bytes, copy.element_bytes);
    }
  }
}

void Interpreter::RunCollective(const std::vector<const CollectiveLaunch*>& calls, const std::vector<int>& ranks) {
  const size_t p = calls.size();
  std::vector<std::vector<float>> inputs(p), outputs(p);
  std::vector<float> sum;
  for (size_t r = 0; r < p; ++r) {
    if (calls[r]->input >= 0) inputs[r] = Read(ranks[r], calls[r]->input, calls[r]->input_count);
    sum.resize(std::max(sum.size(), inputs[r].size()), 0.0f);
    for (size_t i = 0; i < inputs[r].size(); ++i) sum[i] += inputs[r][i];
  }
  const auto begin_of = [](const std::vector<int64_t>& counts, size_t r) {
    return std::accumulate(counts.begin(), counts.begin() + static_cast<int64_t>(r), int64_t{0});
  };
  for (size_t r = 0; r < p; ++r) {
    const CollectiveLaunch& call = *calls[r];
    switch (call.kind) {
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kReduce:
        outputs[r] = sum;
        break;
      case CollectiveKind::kBroadcast:
        outputs[r] = inputs[call.root];
        break;
      case CollectiveKind::kAllGather:
        for (const auto& input : inputs) outputs[r].insert(outputs[r].end(), input.begin(), input.end());
        break;
      case CollectiveKind::kReduceScatter: {
        const auto begin = sum.begin() + begin_of(call.send_counts, r);
        outputs[r].assign(begin, begin + call.send_counts[r]);
        break;
      }
      case CollectiveKind::kAllToAll:
        if (!call.send_boxes.empty()) {
          outputs[r] = call.output < 0 ? std::vector<float>{} : Read(ranks[r], call.output, call.output_count);
          for (size_t s = 0; s < p; ++s) {
            const std::vector<int64_t> from = ElementsOf(calls[s]->send_boxes[r]);
            const std::vector<int64_t> to = ElementsOf(call.receive_boxes[s]);
            CHECK(from.size() == to.size());
            for (size_t i = 0; i < to.size(); ++i) outputs[r][to[i]] = inputs[s][from[i]];
          }
          break;
        }
        for (size_t s = 0; s < p; ++s) {
          const auto begin = inputs[s].begin() + begin_of(calls[s]->send_counts, r);
          outputs[r].insert(outputs[r].end(), begin, begin + calls[s]->send_counts[r]);
        }
    }
  }
  for (size_t r = 0; r < p; ++r) {
    if (calls[r]->output < 0) continue;
    CHECK(static_cast<int64_t>(outputs[r].size()) == calls[r]->output_count);
    Write(ranks[r], calls[r]->output, outputs[r]);
  }
}

}  // namespace partita
