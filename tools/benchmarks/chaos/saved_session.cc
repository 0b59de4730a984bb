#include "tools/benchmarks/chaos/saved_session.h"

#include <cstring>
#include <random>
#include <utility>

#include "graph/make_program.h"
#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/status.h"
#include "tools/models/models.h"

namespace partita {

absl::StatusOr<std::unique_ptr<Session>> SmallSession(int data, int model) {
  ASSIGN_OR_RETURN(Model lenet5, MakeModel("lenet5", {.batch = 4, .image_size = 12}, Ops()));
  lenet5.learning_rate.steps = 1;
  ASSIGN_OR_RETURN(const Strategy strategy, DataModelStrategy(lenet5.graph, data, model));
  ASSIGN_OR_RETURN(Program program, MakeProgram(lenet5, strategy, Ops(), {}));
  SessionOptions options;
  options.threads_per_rank = 1;
  return Session::Start(std::move(program), options);
}

absl::Status SetRandomly(Session& session, uint32_t seed) {
  std::mt19937 random(seed);
  const Graph& graph = session.program().state_graph();
  for (const State& state : graph.states()) {
    const TensorType& type = graph.type(state.value);
    HostTensor tensor{type.dtype, type.shape, {}};
    tensor.bytes.resize(static_cast<size_t>(Elements(type.shape) * SizeOf(type.dtype)));
    for (size_t i = 0; i + 4 <= tensor.bytes.size(); i += 4) {
      const auto number = static_cast<float>(random() % 1000) / 7;
      std::memcpy(tensor.bytes.data() + i, &number, 4);
    }
    RETURN_IF_ERROR(session.WriteState(graph.value(state.value).name, tensor));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, std::string>> Contents(const std::string& checkpoint) {
  ASSIGN_OR_RETURN(const SavedCheckpoint saved, SavedCheckpoint::Open(checkpoint));
  std::map<std::string, std::string> contents;
  for (const SavedState& state : saved.record().states) {
    std::string& bytes = contents[state.name];
    bytes.resize(static_cast<size_t>(Elements(state.shape) * SizeOf(state.dtype)));
    const auto take = [&](const Box& piece, const char* from) {
      HeldTensor whole{{state.dtype, state.shape, piece}, const_cast<char*>(from)};
      CopyFromPart(whole, bytes.data());
    };
    RETURN_IF_ERROR(saved.Read(
        state, [](const Box&) { return true; }, take));
  }
  return contents;
}

}  // namespace partita
