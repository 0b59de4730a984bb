// A small model of words goes the way that PyTorch's goes, in f64: table, padding, weights of places, smoothing, and
// the updates of the table by a dense gradient and by rows.
#include "tests/gradients/pytorch_words.h"

#include <gtest/gtest.h>

#include <cstring>

#include "graph/make_program.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

using pytorch::kPlaces;
using pytorch::kSamples;

absl::StatusOr<Model> MakeModel(const pytorch::Trained& trained) {
  GraphBuilder b(Ops());
  const ValueId words = b.Input("words", DType::kI32, {kSamples, kPlaces});
  const ValueId following = b.Input("following", DType::kI32, {kSamples, kPlaces});
  const ValueId real = b.Input("real", DType::kF32, {kSamples, kPlaces});
  const ValueId table = b.Parameter("table", {pytorch::kWords, pytorch::kChannels}, "constant", 0);
  const ValueId weights = b.Parameter("weights", {pytorch::kChannels, pytorch::kWords}, "constant", 0);
  const ValueId read =
      b.Add("read", "embedding", {table, words}, {{"padding_row", int64_t{0}}, {"row_gradients", trained.by_rows}});
  const ValueId shares = b.Add("shares", "over", {real, b.Add("count", "sum", {real})});
  Model model;
  ASSIGN_OR_RETURN(model.graph, b.Build(b.Add("loss", "softmax_cross_entropy",
                                              {b.Add("logits", "matmul", {read, weights}), following, shares},
                                              {{"label_smoothing", pytorch::kSmoothing}, {"reduction", "sum"}})));
  model.optimizer = {trained.optimizer, trained.said};
  model.learning_rate.base = trained.rate;
  return model;
}

// f(row, column) of a tensor, row by row.
template <typename T, typename F>
HostTensor Filled(DType dtype, int64_t rows, int64_t columns, const F& f) {
  HostTensor tensor{dtype, {rows, columns}, std::vector<char>(rows * columns * sizeof(T))};
  for (int64_t i = 0; i < rows * columns; ++i) {
    const T value = static_cast<T>(f(i / columns, i % columns));
    std::memcpy(tensor.bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return tensor;
}

absl::StatusOr<std::unique_ptr<Session>> Start(const Model& model) {
  ProgramOptions options;
  options.floating = DType::kF64;
  ASSIGN_OR_RETURN(Program program, MakeProgram(model, Strategy{}, Ops(), options));
  ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Start(std::move(program), SessionOptions{}));
  const HostTensor table = Filled<double>(DType::kF64, pytorch::kWords, pytorch::kChannels, pytorch::Table);
  const HostTensor weights = Filled<double>(DType::kF64, pytorch::kChannels, pytorch::kWords, pytorch::Weight);
  RETURN_IF_ERROR(session->WriteState("table", table));
  RETURN_IF_ERROR(session->WriteState("weights", weights));
  return session;
}

absl::StatusOr<double> Step(Session& session, int64_t step) {
  const auto of_step = [step](auto f) { return [step, f](int64_t n, int64_t t) { return f(step, n, t); }; };
  const auto stage = [&](const char* name, const HostTensor& tensor) {
    return session.StageInput(kTrainEntry, name, tensor);
  };
  RETURN_IF_ERROR(stage("words", Filled<int32_t>(DType::kI32, kSamples, kPlaces, of_step(pytorch::Word))));
  RETURN_IF_ERROR(stage("following", Filled<int32_t>(DType::kI32, kSamples, kPlaces, of_step(pytorch::Following))));
  RETURN_IF_ERROR(stage("real", Filled<double>(DType::kF64, kSamples, kPlaces, of_step(pytorch::IsReal))));
  ASSIGN_OR_RETURN(const StepResult result, session.Train());
  return result.loss;
}

void ExpectState(const Session& session, const std::string& name, const std::vector<double>& expected) {
  ASSERT_OK_AND_ASSIGN(const HostTensor state, session.ReadState(name));
  ASSERT_EQ(state.bytes.size(), expected.size() * sizeof(double)) << name;
  for (size_t i = 0; i < expected.size(); ++i) {
    double value = 0;
    std::memcpy(&value, state.bytes.data() + i * sizeof(value), sizeof(value));
    EXPECT_NEAR(value, expected[i], 1e-12) << name << " " << i;
  }
}

TEST(Words, GoTheWayOfPyTorch) {
  for (const pytorch::Trained& trained : pytorch::AllTrained()) {
    SCOPED_TRACE(trained.optimizer + (trained.by_rows ? " by rows" : ""));
    ASSERT_OK_AND_ASSIGN(const Model model, MakeModel(trained));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Start(model));
    for (int64_t step = 0; step < pytorch::kSteps; ++step) {
      ASSERT_OK_AND_ASSIGN(const double loss, Step(*session, step));
      EXPECT_NEAR(loss, trained.losses[static_cast<size_t>(step)], 1e-12) << "step " << step;
    }
    ExpectState(*session, "table", trained.table);
    ExpectState(*session, "weights", trained.weights);
  }
}

}  // namespace
}  // namespace partita
