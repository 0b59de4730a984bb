#include <random>
#include <set>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "tests/runtime/device/cuda/fake_cuda_state.h"

namespace partita::fake_cuda {
namespace {

void Forget(Graph* graph, std::set<FakeStream*>& streams) {
  for (FakeStream* stream : streams) {
    if (stream->graph != graph) continue;
    stream->graph = nullptr;
    stream->frontier.clear();
  }
}

cudaError_t StreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  ENTER("cudaStreamBeginCapture");
  if (StreamOf(stream).graph != nullptr) return cudaErrorIllegalState;
  auto* const graph = new Graph();
  current->graphs.insert(graph);
  StreamOf(stream).graph = graph;
  return cudaSuccess;
}

// Whether every node comes before one of `last`.
bool AllJoined(const Graph& graph, const std::set<int>& last) {
  std::vector<int> open(last.begin(), last.end());
  std::set<int> reached(last.begin(), last.end());
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    for (int before : graph.nodes[node].after) {
      if (reached.insert(before).second) open.push_back(before);
    }
  }
  return reached.size() == graph.nodes.size();
}

cudaError_t StreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const cudaError_t error = Enter("cudaStreamEndCapture");
  Graph* const captured = StreamOf(stream).graph;
  if (captured == nullptr) return cudaErrorIllegalState;
  const bool joined = AllJoined(*captured, StreamOf(stream).frontier);
  const bool valid = !captured->invalid;
  Forget(captured, current->streams);
  captured->capturing = false;
  if (error == cudaSuccess && joined && valid) {
    *graph = reinterpret_cast<cudaGraph_t>(captured);
    return cudaSuccess;
  }
  current->graphs.erase(captured);
  delete captured;
  if (error != cudaSuccess) return error;
  return valid ? cudaErrorStreamCaptureUnjoined : cudaErrorStreamCaptureInvalidated;
}

cudaError_t GraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  ENTER("cudaGraphInstantiate");
  auto* const copy = new Graph(*reinterpret_cast<Graph*>(graph));
  copy->uses_priorities = (flags & cudaGraphInstantiateFlagUseNodePriority) != 0;
  current->executables[copy] = reinterpret_cast<Graph*>(graph);
  for (Graph::Node& node : copy->nodes) {
    const uint64_t original = std::exchange(node.id, ++current->last_node);
    if (current->fake->on_node_copied) current->fake->on_node_copied(original, node.id);
  }
  *executable = reinterpret_cast<cudaGraphExec_t>(copy);
  return cudaSuccess;
}

cudaError_t GraphDestroy(cudaGraph_t graph) {
  const cudaError_t error = Enter("cudaGraphDestroy");
  CHECK(current->graphs.erase(reinterpret_cast<Graph*>(graph)) == 1);
  delete reinterpret_cast<Graph*>(graph);
  return error;
}

cudaError_t GraphExecDestroy(cudaGraphExec_t executable) {
  const cudaError_t error = Enter("cudaGraphExecDestroy");
  if (reinterpret_cast<Graph*>(executable)->running > 0) {
    FakeCuda::Fault(cudaErrorIllegalAddress, "a graph was destroyed while it ran");
    RunUntil([&] { return reinterpret_cast<Graph*>(executable)->running == 0; });
  }
  CHECK(current->executables.erase(reinterpret_cast<Graph*>(executable)) == 1);
  delete reinterpret_cast<Graph*>(executable);
  return error;
}

void Replay(const Graph& graph, int priority) {
  std::mt19937_64 random(current->fake->seed * 1000003 + current->replays++);
  std::vector<size_t> open(graph.nodes.size());
  std::vector<std::vector<int>> next(graph.nodes.size());
  std::vector<int> ready;
  current->fake->priorities.clear();
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    open[n] = graph.nodes[n].after.size();
    if (open[n] == 0) ready.push_back(static_cast<int>(n));
    current->fake->priorities.push_back(graph.uses_priorities ? graph.nodes[n].priority : priority);
    for (int before : graph.nodes[n].after) next[before].push_back(static_cast<int>(n));
  }
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const int node = ready.back();
    ready.pop_back();
    if (!current->dead()) Perform(graph.nodes[node].run);
    current->clock += 1;
    if (current->fake->on_node_run) {
      current->fake->on_node_run(graph.nodes[node].id, current->clock - 1, current->clock);
    }
    for (int after : next[node]) {
      if (--open[after] == 0) ready.push_back(after);
    }
  }
}

cudaError_t GraphLaunch(cudaGraphExec_t executable, cudaStream_t handle) {
  ENTER("cudaGraphLaunch");
  FakeStream& stream = StreamOf(handle);
  if (stream.graph != nullptr) return cudaErrorStreamCaptureUnsupported;
  Graph* const graph = reinterpret_cast<Graph*>(executable);
  ++graph->running;
  const auto replay = [graph, priority = stream.priority] {
    Replay(*graph, priority);
    --graph->running;
  };
  if (current->fake->at_once) {
    replay();
  } else {
    stream.queue.push_back({replay, static_cast<double>(graph->nodes.size()), nullptr, nullptr, true});
    current->changed.notify_all();
  }
  return cudaSuccess;
}

}  // namespace

void FillGraphFunctions(CudaApi& api) {
  api.cudaGraphDestroy = Call<GraphDestroy>;
  api.cudaGraphExecDestroy = Call<GraphExecDestroy>;
  api.cudaGraphInstantiate = Call<GraphInstantiate>;
  api.cudaGraphLaunch = Call<GraphLaunch>;
  api.cudaStreamBeginCapture = Call<StreamBeginCapture>;
  api.cudaStreamEndCapture = [](cudaStream_t stream, cudaGraph_t* graph) {
    const Turn turn;
    return Keep(StreamEndCapture(stream, graph));
  };
}

}  // namespace partita::fake_cuda
