// The C interface refuses wrong callers with a status and a sentence, and changes nothing of theirs.
#include <dlpack/dlpack.h>
#include <gmock/gmock.h>

#include <atomic>
#include <thread>
#include <vector>

#include "partita/c/partita.h"

namespace {

using ::testing::HasSubstr;

constexpr char kModel[] = R"(
schema_version: 1 name: "line" loss: "loss" optimizer {} learning_rate { schedule: "constant" base: 0.1 }
nodes { name: "x" op: "input" attributes { name: "shape" integers { values: [4, 3] } } }
nodes { name: "label" op: "input" attributes { name: "shape" integers { values: 4 } } attributes { name: "dtype" text: "i32" } }
nodes { name: "w" op: "parameter" attributes { name: "shape" integers { values: [3, 2] } }
  attributes { name: "initializer" text: "glorot_uniform" } }
nodes { name: "y" op: "matmul" inputs: ["x", "w"] }
nodes { name: "loss" op: "softmax_cross_entropy" inputs: ["y", "label"] }
)";

// The code and the message of an error, which is freed.
struct Refusal {
  partita_code code = PARTITA_OK;
  std::string message;
};
Refusal Of(partita_error* error) {
  Refusal refusal{partita_error_code(error), partita_error_message(error)};
  partita_error_free(error);
  return refusal;
}

// A struct of the interface as a caller begins it.
template <typename T>
T Sized() {
  T made = {};
  made.size = sizeof(T);
  return made;
}

class CInterface : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(Of(partita_model_from_text(kModel, &model_)).message, ""); }
  void TearDown() override {
    partita_session_free(session_);
    partita_model_free(model_);
  }

  Refusal Start(const char* settings, bool predict_only = false) {
    const char* const values[] = {"y"};
    auto options = Sized<partita_session_options>();
    options.settings = settings;
    options.values = values;
    options.value_count = 1;
    options.predict_only = predict_only ? 1 : 0;
    return Of(partita_session_start(model_, &options, &session_));
  }
  std::vector<partita_tensor> Batch() {
    return {{sizeof(partita_tensor), "x", PARTITA_F32, 2, shape_, x_.data()},
            {sizeof(partita_tensor), "label", PARTITA_I32, 1, shape_, labels_.data()}};
  }
  Refusal Train(const std::vector<partita_tensor>& batch, partita_step* step = nullptr) {
    return Of(partita_session_train(session_, batch.data(), batch.size(), step));
  }

  partita_model* model_ = nullptr;
  partita_session* session_ = nullptr;
  int64_t shape_[2] = {4, 3};
  std::vector<float> x_ = std::vector<float>(12, 0.5F);
  std::vector<int32_t> labels_ = {0, 1, 0, 1};
};

TEST_F(CInterface, NullsAreNamed) {
  partita_model* model = model_;
  EXPECT_EQ(Of(partita_model_from_file(nullptr, nullptr, &model)).message, "path is NULL");
  EXPECT_EQ(Of(partita_model_from_text(kModel, nullptr)).message, "model is NULL");
  EXPECT_EQ(Of(partita_session_start(nullptr, nullptr, &session_)).message, "model is NULL");
  EXPECT_EQ(Of(partita_session_train(nullptr, nullptr, 0, nullptr)).message, "session is NULL");
  EXPECT_EQ(model, model_);
  EXPECT_EQ(partita_values_count(nullptr), 0U);
  EXPECT_EQ(partita_model_field_count(nullptr), 0U);
  partita_error_free(nullptr);
  partita_values_free(nullptr);
  partita_session_free(nullptr);
  partita_model_free(nullptr);
  ASSERT_EQ(Start("").message, "");
  EXPECT_EQ(Of(partita_session_train(session_, nullptr, 1, nullptr)).message, "batch is NULL");
  EXPECT_EQ(Of(partita_session_save(session_, nullptr)).message, "path is NULL");
  EXPECT_EQ(Of(partita_session_predict(session_, nullptr, 0, nullptr)).message, "values is NULL");
  auto batch = Batch();
  batch[1].name = nullptr;
  EXPECT_EQ(Train(batch).message, "batch[1].name is NULL");
  batch = Batch();
  batch[0].shape = nullptr;
  EXPECT_THAT(Train(batch).message, HasSubstr("tensor 'x' has rank 2 and no shape"));
  batch = Batch();
  batch[0].data = nullptr;
  EXPECT_THAT(Train(batch).message, HasSubstr("field 'x': given is no data"));
}

TEST_F(CInterface, PlansAreMadeAndRefused) {
  auto options = Sized<partita_session_options>();
  options.settings = "dp = 2\ncluster = two_cores";
  partita_plan* plan = nullptr;
  EXPECT_EQ(Of(partita_plan_make(nullptr, &options, &plan)).message, "model is NULL");
  EXPECT_EQ(Of(partita_plan_make(model_, &options, nullptr)).message, "plan is NULL");
  EXPECT_EQ(Of(partita_plan_json(nullptr, nullptr)).message, "plan is NULL");
  partita_plan_free(nullptr);
  ASSERT_EQ(Of(partita_plan_make(model_, &options, &plan)).message, "");
  auto summary = Sized<partita_plan_summary>();
  ASSERT_EQ(Of(partita_plan_summarize(plan, &summary)).message, "");
  EXPECT_STREQ(summary.cluster, "two-cores");
  EXPECT_EQ(summary.ranks, 2);
  EXPECT_EQ(summary.batch, 4);
  EXPECT_GT(summary.step_seconds, 0);
  // Each rank has 6 weights, and sends the gradients of half of them to be summed and half of the sums.
  EXPECT_GE(summary.wire_bytes, 2 * 6 * 4);
  EXPECT_EQ(Of(partita_plan_summarize(plan, nullptr)).message, "summary is NULL");
  summary.size = 1;
  EXPECT_THAT(Of(partita_plan_summarize(plan, &summary)).message, HasSubstr("the size of summary is 1"));
  const char *json = nullptr, *again = nullptr, *page = nullptr, *strategy = nullptr;
  EXPECT_EQ(Of(partita_plan_json(plan, nullptr)).message, "json is NULL");
  ASSERT_EQ(Of(partita_plan_json(plan, &json)).message, "");
  ASSERT_EQ(Of(partita_plan_json(plan, &again)).message, "");
  EXPECT_EQ(json, again);
  EXPECT_THAT(json, HasSubstr("\"cluster\": \"two-cores\""));
  ASSERT_EQ(Of(partita_plan_page(plan, &page)).message, "");
  EXPECT_THAT(page, HasSubstr("</html>"));
  ASSERT_EQ(Of(partita_plan_strategy(plan, &strategy)).message, "");
  EXPECT_THAT(strategy, HasSubstr("mesh { name: \"data\" size: 2 }"));
  partita_plan_free(plan);
  partita_plan_free(plan);
  const Refusal freed = Of(partita_plan_json(plan, &json));
  EXPECT_EQ(freed.code, PARTITA_MISUSE);
  EXPECT_EQ(freed.message, "there is no such plan; it was freed, or never made");

  partita_plan* other = nullptr;
  options.settings = "memory = 1B";
  const Refusal small = Of(partita_plan_make(model_, &options, &other));
  EXPECT_EQ(small.code, PARTITA_DOES_NOT_FIT);
  EXPECT_THAT(small.message, HasSubstr("the limit is 1"));
  options.settings = "full = true";
  EXPECT_THAT(Of(partita_plan_make(model_, &options, &other)).message, HasSubstr("there is no setting 'full'"));
  options.settings = "search = auto";
  EXPECT_THAT(Of(partita_plan_make(model_, &options, &other)).message, HasSubstr("needs cluster or profile"));
  EXPECT_EQ(other, nullptr);
  ASSERT_EQ(Of(partita_plan_make(model_, nullptr, &other)).message, "");
  const Refusal without = Of(partita_plan_page(other, &page));
  EXPECT_EQ(without.code, PARTITA_INVALID_ARGUMENT);
  EXPECT_EQ(without.message, "a page needs cluster or profile: the machine that is planned for");
  partita_plan_free(other);
}

TEST_F(CInterface, WhatWasFreedIsRefused) {
  ASSERT_EQ(Start("").message, "");
  partita_session* const freed = std::exchange(session_, nullptr);
  partita_session_free(freed);
  partita_session_free(freed);
  const Refusal again = Of(partita_session_train(freed, Batch().data(), 2, nullptr));
  EXPECT_EQ(again.code, PARTITA_MISUSE);
  EXPECT_EQ(again.message, "there is no such session; it was freed, or never made");
  EXPECT_EQ(Of(partita_session_interrupt(freed)).code, PARTITA_MISUSE);
  int never = 0;
  EXPECT_EQ(Of(partita_session_cancel(reinterpret_cast<partita_session*>(&never))).code, PARTITA_MISUSE);
  // A session outlives its model.
  ASSERT_EQ(Start("").message, "");
  partita_model_free(std::exchange(model_, nullptr));
  EXPECT_EQ(Train(Batch()).message, "");
}

TEST_F(CInterface, SizesOfStructsAreOfTheCallersVersion) {
  ASSERT_EQ(Start("").message, "");
  auto batch = Batch();
  batch[0].size = 0;
  EXPECT_EQ(Train(batch).message, "the size of batch[0] is 0; expected the sizeof of its type, 40 or more");
  partita_step step = {};
  EXPECT_THAT(Train(Batch(), &step).message, HasSubstr("the size of step is 0; expected"));

  // An earlier header had no norm of gradients; what is behind its struct stays.
  partita_step earlier = {};
  earlier.size = offsetof(partita_step, has_gradient_norm);
  earlier.has_gradient_norm = -7;
  EXPECT_EQ(Train(Batch(), &earlier).message, "");
  EXPECT_GT(earlier.loss, 0);
  EXPECT_EQ(earlier.has_gradient_norm, -7);

  // A later header has more members: those that are 0 mean nothing, others are not known here.
  struct Later {
    partita_tensor tensor;
    int64_t more;
  };
  std::vector<Later> later;
  for (const partita_tensor& tensor : Batch()) later.push_back({tensor, 0});
  for (Later& one : later) one.tensor.size = sizeof(Later);
  struct LaterStep {
    partita_step step;
    int64_t more;
  } grown = {{}, -7};
  grown.step.size = sizeof(grown);
  EXPECT_EQ(Of(partita_session_train(session_, &later[0].tensor, 2, &grown.step)).message, "");
  EXPECT_GT(grown.step.loss, 0);
  EXPECT_EQ(grown.step.size, sizeof(LaterStep));
  EXPECT_EQ(grown.more, -7);
  later[1].more = 1;
  EXPECT_EQ(Of(partita_session_train(session_, &later[0].tensor, 2, nullptr)).message,
            "batch[1] has a member that this version of the library, 0.2.0, does not know");
}

// A program whose header had no all_reduce, barrier, put and get: what is behind its struct is not read.
TEST_F(CInterface, ATransportMayBeOfAnEarlierHeader) {
  auto transport = Sized<partita_transport>();
  transport.size = offsetof(partita_transport, all_reduce);
  transport.rank = 1;
  transport.ranks = 2;
  transport.send = [](void*, int32_t, const void*, size_t) -> int32_t { return 0; };
  transport.receive = [](void*, int32_t, void*, size_t) -> int32_t { return 0; };
  transport.close = [](void*, int32_t) {};
  transport.barrier = [](void*) -> int32_t { return 0; };
  auto options = Sized<partita_session_options>();
  options.settings = "dp = 2";
  options.transport = &transport;
  EXPECT_THAT(Of(partita_session_start(model_, &options, &session_)).message, HasSubstr("rank 0 does not come"));
  transport.size = sizeof(transport);
  EXPECT_THAT(Of(partita_session_start(model_, &options, &session_)).message,
              HasSubstr("the program's barrier failed"));
  transport.size = offsetof(partita_transport, user);
  EXPECT_THAT(Of(partita_session_start(model_, &options, &session_)).message,
              HasSubstr("the size of options->transport is 40; expected"));
  EXPECT_EQ(session_, nullptr);
}

// The store of a program may give more than there is room for, or nothing.
TEST_F(CInterface, ATransportMayBeAStoreAlone) {
  auto transport = Sized<partita_transport>();
  transport.rank = 1;
  transport.ranks = 2;
  transport.put = [](void*, const char*, const void*, size_t) -> int32_t { return 1; };
  transport.get = [](void* user, const char* key, int64_t milliseconds, void*, size_t* bytes) -> int32_t {
    EXPECT_STREQ(key, "partita/job/token");
    EXPECT_EQ(milliseconds, 7000);
    EXPECT_EQ(*bytes, 65536U);
    *bytes = 65537;
    return user == nullptr ? 0 : 1;
  };
  auto options = Sized<partita_session_options>();
  options.settings = "dp = 2\njoin-timeout = 7";
  options.transport = &transport;
  for (void* user : {static_cast<void*>(nullptr), static_cast<void*>(&transport)}) {
    transport.user = user;
    EXPECT_THAT(Of(partita_session_start(model_, &options, &session_)).message,
                HasSubstr("rank 0 does not come: the program's get of partita/job/token failed"));
  }
  transport.get = nullptr;
  EXPECT_THAT(Of(partita_session_start(model_, &options, &session_)).message,
              HasSubstr("expected send, receive and close, or put and get"));
}

TEST_F(CInterface, AWrongBatchIsAnErrorOfItsCallAlone) {
  ASSERT_EQ(Start("dp = 2").message, "");
  auto first = Sized<partita_step>(), step = Sized<partita_step>();
  auto batch = Batch();
  batch[0].type = 9;
  EXPECT_THAT(Train(batch).message, HasSubstr("tensor 'x' has type 9; expected one of partita_type"));
  batch = Batch();
  batch[0].name = "y";
  EXPECT_EQ(Train(batch).code, PARTITA_INVALID_ARGUMENT);
  batch = Batch();
  batch[1].name = "x";
  EXPECT_EQ(Train(batch).message, "field 'x' is in the batch twice");
  labels_[3] = 2;
  step.loss = -1;
  EXPECT_THAT(Train(Batch(), &step).message, HasSubstr("label"));
  EXPECT_EQ(step.loss, -1) << "out-parameters are left as they were";
  labels_[3] = 1;
  EXPECT_EQ(Train(Batch(), &first).message, "");
  EXPECT_GT(first.loss, 0);
}

TEST_F(CInterface, SettingsAreLinesOrJsonAndEachIsChecked) {
  EXPECT_THAT(Start("dp == 2").message, HasSubstr("the settings: line 1"));
  EXPECT_THAT(Start("dpp = 2").message, HasSubstr("there is no setting 'dpp'; did you mean 'dp'?"));
  EXPECT_THAT(Start("dp = 0").message, HasSubstr("setting dp: "));
  EXPECT_THAT(Start(R"({"dp": "two"})").message, HasSubstr("setting dp: "));
  EXPECT_THAT(Start(R"({"dp": 2)").message, HasSubstr("the settings: "));
  EXPECT_THAT(Start("dp = 9").message, HasSubstr("9"));
  EXPECT_EQ(session_, nullptr);
  EXPECT_THAT(Start("data = \"x\"", /*predict_only=*/true).message, HasSubstr("not to train"));
  EXPECT_EQ(Start(R"( {"dp": 2, "mp": 1, "seed": 7, "precision": "f64"})").message, "");
}

TEST_F(CInterface, OneCallAtATime) {
  ASSERT_EQ(Start("").message, "");
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int mine = 0; mine < 50;) {
        auto step = Sized<partita_step>();
        const Refusal refusal = Train(Batch(), &step);
        ASSERT_TRUE(refusal.code == PARTITA_OK || refusal.code == PARTITA_MISUSE) << refusal.message;
        if (refusal.code == PARTITA_OK) ++mine, ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 200);
}

TEST_F(CInterface, CancelIsFinalAndFreeingIsSafeMeanwhile) {
  ASSERT_EQ(Start("").message, "");
  std::thread other([this] {
    while (Train(Batch()).code == PARTITA_OK) {
    }
  });
  EXPECT_EQ(Of(partita_session_cancel(session_)).message, "");
  other.join();
  EXPECT_EQ(Train(Batch()).code, PARTITA_CANCELLED);
}

// A callback that makes every call of its session that may not run now, and then ends it.
struct Meddling {
  partita_session* session = nullptr;
  std::vector<partita_tensor> batch;
  void (*end)(partita_session*) = partita_session_free;
  int epochs = 0;
  std::vector<Refusal> refusals = {};

  static void OnEpoch(void* user, const partita_epoch*) {
    auto& self = *static_cast<Meddling*>(user);
    if (++self.epochs != 2) return;
    partita_session* const session = self.session;
    partita_values* values = nullptr;
    size_t count = 0;
    const char* name = nullptr;
    auto preprocessing = Sized<partita_preprocessing>();
    for (partita_error* const refused :
         {partita_session_train(session, self.batch.data(), 2, nullptr),
          partita_session_evaluate(session, self.batch.data(), 2, nullptr),
          partita_session_predict(session, self.batch.data(), 1, &values),
          partita_session_compute(session, "train", self.batch.data(), 2, &values),
          partita_session_fit(session, nullptr, nullptr), partita_session_save(session, "never.safetensors"),
          partita_session_load(session, "never.safetensors"),
          partita_session_load_weights(session, "never.safetensors"), partita_session_state_count(session, &count),
          partita_session_state_name(session, 0, &name), partita_session_read(session, "w", &values),
          partita_session_write(session, self.batch.data()), partita_session_preprocessing(session, &preprocessing)}) {
      self.refusals.push_back(Of(refused));
    }
    self.end(session);
  }
};

TEST_F(CInterface, ACallbackMayFreeItsSessionAndMakeNoOtherCalls) {
  ASSERT_EQ(Start("mock-data = true\nepochs = 1000000\ndp = 2").message, "");
  Meddling meddling{session_, Batch()};
  auto options = Sized<partita_fit_options>();
  options.on_epoch = Meddling::OnEpoch;
  options.user = &meddling;
  auto result = Sized<partita_fit_result>();
  partita_session* const freed = std::exchange(session_, nullptr);
  EXPECT_EQ(Of(partita_session_fit(freed, &options, &result)).message, "");
  EXPECT_EQ(meddling.refusals.size(), 13U);
  for (const Refusal& refusal : meddling.refusals) {
    EXPECT_EQ(refusal.code, PARTITA_MISUSE);
    EXPECT_EQ(refusal.message, "another call of this session is running; a session runs one call at a time");
  }
  EXPECT_GE(meddling.epochs, 2);
  EXPECT_EQ(result.stopped, 1);
  EXPECT_GT(result.steps, 0);
  EXPECT_EQ(Of(partita_session_fit(freed, nullptr, nullptr)).message,
            "there is no such session; it was freed, or never made");
}

TEST_F(CInterface, ACallbackMayCancelAndFreeItsSession) {
  ASSERT_EQ(Start("mock-data = true\nepochs = 1000000").message, "");
  Meddling meddling{session_, Batch(), [](partita_session* session) {
                      EXPECT_EQ(Of(partita_session_cancel(session)).message, "");
                      partita_session_free(session);
                    }};
  auto options = Sized<partita_fit_options>();
  options.on_epoch = Meddling::OnEpoch;
  options.user = &meddling;
  EXPECT_EQ(Of(partita_session_fit(std::exchange(session_, nullptr), &options, nullptr)).code, PARTITA_CANCELLED);
}

TEST_F(CInterface, AnotherThreadMayFreeASessionWithinACall) {
  ASSERT_EQ(Start("mock-data = true\nepochs = 1000000").message, "");
  std::thread other;
  struct Freeing {
    partita_session* session;
    std::thread* thread;
    static int32_t OnProgress(void* user, const partita_progress*) {
      auto& self = *static_cast<Freeing*>(user);
      if (!self.thread->joinable()) {
        *self.thread = std::thread([session = self.session] { partita_session_free(session); });
      }
      return 1;
    }
  } freeing{session_, &other};
  auto options = Sized<partita_fit_options>();
  options.on_progress = Freeing::OnProgress;
  options.progress_seconds = 1e-6;
  options.user = &freeing;
  auto result = Sized<partita_fit_result>();
  EXPECT_EQ(Of(partita_session_fit(std::exchange(session_, nullptr), &options, &result)).message, "");
  EXPECT_EQ(result.stopped, 1);
  other.join();
}

TEST_F(CInterface, TensorsOfDlpackAreTakenAsTheyLie) {
  DLTensor tensor = {};
  tensor.data = x_.data();
  tensor.device = {kDLCPU, 0};
  tensor.ndim = 2;
  tensor.dtype = {kDLFloat, 32, 1};
  tensor.shape = shape_;
  auto view = Sized<partita_tensor>();
  ASSERT_EQ(Of(partita_tensor_from_dlpack("x", &tensor, &view)).message, "");
  EXPECT_EQ(view.data, x_.data());
  EXPECT_EQ(view.shape, shape_);
  EXPECT_EQ(view.type, PARTITA_F32);
  tensor.byte_offset = 8;
  int64_t strides[2] = {3, 1};
  tensor.strides = strides;
  ASSERT_EQ(Of(partita_tensor_from_dlpack("x", &tensor, &view)).message, "");
  EXPECT_EQ(view.data, x_.data() + 2);
  strides[0] = 1, strides[1] = 4;
  EXPECT_EQ(Of(partita_tensor_from_dlpack("x", &tensor, &view)).message,
            "tensor 'x' is not dense and row-major; copy it first");
  tensor.strides = nullptr;
  tensor.dtype.bits = 16;
  EXPECT_THAT(Of(partita_tensor_from_dlpack("x", &tensor, &view)).message, HasSubstr("expected f32, f64, i32 or u8"));
  tensor.dtype.bits = 32;
  tensor.device.device_type = kDLCUDA;
  EXPECT_THAT(Of(partita_tensor_from_dlpack("x", &tensor, &view)).message, HasSubstr("expected host memory"));
}

TEST_F(CInterface, ValuesLiveAsLongAsTheirTensors) {
  ASSERT_EQ(Start("", /*predict_only=*/true).message, "");
  const auto batch = Batch();
  partita_values* values = nullptr;
  ASSERT_EQ(Of(partita_session_predict(session_, batch.data(), 1, &values)).message, "");
  ASSERT_EQ(partita_values_count(values), 1U);
  auto found = Sized<partita_tensor>();
  EXPECT_EQ(Of(partita_values_find(values, "z", &found)).message, "there is no value 'z'");
  EXPECT_EQ(Of(partita_values_get(values, 1, &found)).message, "index is 1; there are 1 values");
  ASSERT_EQ(Of(partita_values_find(values, "y", &found)).message, "");
  ASSERT_EQ(found.rank, 2);
  void* exported = nullptr;
  ASSERT_EQ(Of(partita_values_to_dlpack(values, 0, &exported)).message, "");
  auto* const tensor = static_cast<DLManagedTensor*>(exported);
  EXPECT_EQ(tensor->dl_tensor.data, found.data);
  partita_values_free(values);
  EXPECT_EQ(Of(partita_values_get(values, 0, &found)).code, PARTITA_MISUSE);
  EXPECT_EQ(tensor->dl_tensor.ndim, 2);
  EXPECT_EQ(tensor->dl_tensor.shape[0] * tensor->dl_tensor.shape[1], 8);
  const float* const y = static_cast<const float*>(tensor->dl_tensor.data);
  EXPECT_EQ(y[0], y[2]) << "equal rows";
  tensor->deleter(tensor);
}

}  // namespace
