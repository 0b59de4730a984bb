// Predictions of many clients, tokens, health and metrics.
#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "tests/tools/service/classifier.h"
#include "tests/tools/service/health.grpc.pb.h"
#include "tests/tools/service/service_fixture.h"

namespace partita::service {
namespace {

using testing::HasSubstr;

class CallsTest : public ServiceTest {
 protected:
  std::string Trained(const std::string& settings = "epochs = 3\n") {
    const v1::RunStatus status = WatchToTheEnd(Submitted(Request(settings)));
    EXPECT_EQ(status.state(), v1::FINISHED) << status.message();
    return status.id();
  }

  std::vector<float> PredictedByTrainer(const std::string& model_file, const std::vector<std::string>& flags = {}) {
    std::vector<std::string> command = {
        "tools/trainer",   "predict",     "--data=" + path("data"),         "--load=" + model_file, "--threads=1",
        "--deterministic", "--log=error", "--output=" + path("logits.npy"), path("graph.pbtxt")};
    command.insert(command.end() - 1, flags.begin(), flags.end());
    EXPECT_EQ(RunCommand(command), 0);
    return ReadNpy(path("logits.npy"));
  }

  void ExpectRefused(const v1::PredictRequest& request, grpc::StatusCode code, const std::string& says) {
    std::vector<float> logits;
    const grpc::Status status = Predict(request, &logits);
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(says));
  }
};

TEST_F(CallsTest, PredictsAsTheTrainer) {
  Start();
  const std::string id = Trained();
  const std::vector<float> expected = PredictedByTrainer(StatusOf(id).model_file());
  ASSERT_EQ(expected.size(), kTestSamples * kClasses);
  for (const int64_t count : {kBatch, int64_t{3}, int64_t{1}}) {
    std::vector<float> logits;
    const grpc::Status status = Predict(Rows(id, 0, count), &logits);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(logits, std::vector<float>(expected.begin(), expected.begin() + count * kClasses)) << count;
  }
  v1::PredictRequest saved = Rows("", kBatch, kBatch);
  saved.mutable_saved()->mutable_model()->set_path(path("graph.pbtxt"));
  saved.mutable_saved()->set_weights(StatusOf(id).model_file());
  std::vector<float> logits;
  const grpc::Status status = Predict(saved, &logits);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(logits, std::vector<float>(expected.begin() + kBatch * kClasses, expected.end()));
}

TEST_F(CallsTest, PredictsWithTheAdaptersOfARun) {
  Start();
  const std::string id = Trained("epochs = 3\nlora-rank = 2\nlora-alpha = 8\noptimizer = adam\nlearning-rate = 0.01\n");
  const std::vector<float> expected =
      PredictedByTrainer(StatusOf(id).model_file(), {"--lora-rank=2", "--lora-alpha=8"});
  std::vector<float> logits;
  const grpc::Status status = Predict(Rows(id, 0, kBatch), &logits);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(logits, std::vector<float>(expected.begin(), expected.begin() + kBatch * kClasses));
}

TEST_F(CallsTest, TwoHundredPredictionsAtOnce) {
  constexpr int64_t kClients = 200;
  Start({"--batch-delay=20"});
  const std::string id = Trained();
  const std::vector<float> expected = PredictedByTrainer(StatusOf(id).model_file());
  std::vector<std::vector<float>> logits(kClients);
  std::vector<std::thread> clients;
  for (int64_t client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      const grpc::Status status = Predict(Rows(id, client % kTestSamples, 1), &logits[static_cast<size_t>(client)]);
      EXPECT_TRUE(status.ok()) << status.error_message();
    });
  }
  for (std::thread& client : clients) client.join();
  for (int64_t client = 0; client < kClients; ++client) {
    const auto row = expected.begin() + client % kTestSamples * kClasses;
    EXPECT_EQ(logits[static_cast<size_t>(client)], std::vector<float>(row, row + kClasses)) << client;
  }
  const std::string metrics = service_->Metrics();
  EXPECT_THAT(metrics, HasSubstr("partita_predict_samples_total 200"));
  EXPECT_THAT(metrics, HasSubstr("partita_predict_batch_requests_sum 200"));
  EXPECT_THAT(metrics, testing::Not(HasSubstr("partita_predict_batch_requests_count 200")));
  EXPECT_THAT(metrics, HasSubstr("partita_calls_total{code=\"OK\",method=\"Predict\"} 200"));
}

TEST_F(CallsTest, AWrongRequestIsNoErrorOfOthers) {
  Start({"--batch-delay=200"});
  const std::string id = Trained();
  v1::PredictRequest bad = Rows(id, 0, 1);
  (*bad.mutable_fields())["x"].set_data(std::string(kFeatures * sizeof(float), '\xff'));  // not a number
  std::vector<float> first, second;
  grpc::Status of_bad;
  std::thread wrong([&] { of_bad = Predict(bad, &second); });
  const grpc::Status of_good = Predict(Rows(id, 0, 1), &first);
  wrong.join();
  EXPECT_TRUE(of_good.ok()) << of_good.error_message();
  EXPECT_EQ(first.size(), kClasses);
}

TEST_F(CallsTest, RefusesBadPredictions) {
  Start();
  const std::string id = Trained();
  const grpc::StatusCode wrong = grpc::StatusCode::INVALID_ARGUMENT;
  ExpectRefused(Rows("run-9", 0, 1), grpc::StatusCode::NOT_FOUND, "there is no run 'run-9'");
  v1::PredictRequest request = Rows(id, 0, 1);
  (*request.mutable_fields())["x"].set_data("short");
  ExpectRefused(request, wrong, "field 'x': 5 bytes for the shape [1,6] of F32");
  request = Rows(id, 0, 1);
  (*request.mutable_fields())["x"].mutable_shape()->Set(0, int64_t{1} << 62);
  ExpectRefused(request, wrong, "expected positive sizes");
  request = Rows(id, 0, kBatch + 1);
  ExpectRefused(request, wrong, "a batch of 9 samples; expected 1 to 8");
  request = Rows(id, 0, 1);
  (*request.mutable_fields())["y"] = request.fields().at("x");
  ExpectRefused(request, wrong, "the graph has no field 'y'");
  request = Rows(id, 0, 1);
  request.clear_fields();
  ExpectRefused(request, wrong, "field 'x' is missing");
  request = Rows(id, 0, 1);
  request.add_values("logit");
  ExpectRefused(request, wrong, "logit");
  request = Rows(id, 0, 1);
  request.clear_run();
  ExpectRefused(request, wrong, "neither a run nor a saved model");
}

TEST_F(CallsTest, PredictorsAreLimitedByTheirPlan) {
  Start({"--predict-memory=1KiB"});
  ExpectRefused(Rows(Trained(), 0, 1), grpc::StatusCode::RESOURCE_EXHAUSTED, "the service allows 1KiB");
}

TEST_F(CallsTest, ADeadlineEndsTheWait) {
  Start({"--batch-delay=10000"});
  const std::string id = Trained();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(300));
  v1::PredictReply reply;
  EXPECT_EQ(stub().Predict(&context, Rows(id, 0, 1), &reply).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(CallsTest, NeedsTheToken) {
  const std::string token = "0123456789abcdef";
  std::ofstream(path("token")) << token << "\n";
  Start({"--token=" + path("token")});
  const auto code_with = [&](const std::string& authorization) {
    grpc::ClientContext context;
    if (!authorization.empty()) context.AddMetadata("authorization", authorization);
    v1::StatusReply reply;
    return stub().Status(&context, {}, &reply).error_code();
  };
  EXPECT_EQ(code_with(""), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(code_with("Bearer 0123456789abcdeg"), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(code_with(token), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(code_with("Bearer " + token), grpc::StatusCode::OK);
  EXPECT_EQ(Submit(Request(), nullptr).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(CallsTest, EncryptsWithACertificate) {
  const auto make = [&](const std::string& name) {
    return RunCommand({"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                       "-noenc", "-days", "2", "-subj", "/CN=partita", "-addext", "subjectAltName=IP:127.0.0.1",
                       "-keyout", path(name + ".key"), "-out", path(name + ".pem")});
  };
  ASSERT_EQ(make("own"), 0);
  ASSERT_EQ(make("foreign"), 0);
  Start({"--tls-certificate=" + path("own.pem"), "--tls-key=" + path("own.key")});
  const auto code_with = [&](const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    const auto stub = v1::Partita::NewStub(grpc::CreateCustomChannel(service_->address(), credentials, arguments));
    grpc::ClientContext context;
    v1::StatusReply reply;
    return stub->Status(&context, {}, &reply).error_code();
  };
  const auto trusting = [&](const std::string& name) {
    return grpc::SslCredentials(
        {.pem_root_certs = ReadBytes(path(name + ".pem")), .pem_private_key = "", .pem_cert_chain = ""});
  };
  EXPECT_EQ(code_with(trusting("own")), grpc::StatusCode::OK);
  EXPECT_EQ(code_with(trusting("foreign")), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(code_with(grpc::InsecureChannelCredentials()), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(CallsTest, IsHealthy) {
  Start();
  grpc::ClientContext context;
  grpc::health::v1::HealthCheckResponse reply;
  ASSERT_TRUE(grpc::health::v1::Health::NewStub(service_->channel())->Check(&context, {}, &reply).ok());
  EXPECT_EQ(reply.status(), grpc::health::v1::HealthCheckResponse::SERVING);
}

TEST_F(CallsTest, SaysItsLimitsAndVersions) {
  Start({"--memory=1GiB", "--queue=3"});
  grpc::ClientContext context;
  v1::StatusReply reply;
  ASSERT_TRUE(stub().Status(&context, {}, &reply).ok());
  EXPECT_EQ(reply.limits().memory_bytes(), 1 << 30);
  EXPECT_EQ(reply.limits().queued_runs(), 3);
  EXPECT_EQ(reply.runs_size(), 0);
  EXPECT_EQ(reply.versions().count("partita"), 1);
}

}  // namespace
}  // namespace partita::service
