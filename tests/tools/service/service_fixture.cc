#include "tests/tools/service/service_fixture.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/tools/service/classifier.h"

namespace partita::service {
namespace {

std::string NewFolder() {
  std::string name = testing::TempDir() + "/service-XXXXXX";
  return mkdtemp(name.data());
}

}  // namespace

ServiceTest::ServiceTest() : folder_(NewFolder()) {
  WriteData(path("data"));
  std::ofstream(path("graph.pbtxt")) << kClassifier;
}

void ServiceTest::Start(std::vector<std::string> flags) {
  service_.reset();
  flags.push_back("--state=" + std::filesystem::relative(path("state")).string());
  service_ = std::make_unique<ServiceProcess>(flags);
  ASSERT_TRUE(service_->started());
}

v1::RunRequest ServiceTest::Request(const std::string& settings) const {
  v1::RunRequest request;
  request.mutable_model()->set_text(kClassifier);
  request.set_settings("threads = 1\ndata = \"" + path("data") + "\"\n" + settings);
  return request;
}

grpc::Status ServiceTest::Submit(const v1::RunRequest& request, std::string* id) {
  grpc::ClientContext context;
  v1::RunStatus reply;
  const grpc::Status status = stub().Submit(&context, request, &reply);
  if (id != nullptr) *id = reply.id();
  return status;
}

std::string ServiceTest::Submitted(const v1::RunRequest& request) {
  std::string id;
  const grpc::Status status = Submit(request, &id);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return id;
}

v1::RunStatus ServiceTest::StatusOf(const std::string& id) {
  grpc::ClientContext context;
  v1::StatusRequest request;
  request.set_id(id);
  v1::StatusReply reply;
  const grpc::Status status = stub().Status(&context, request, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return reply.runs_size() == 1 ? reply.runs(0) : v1::RunStatus();
}

v1::RunStatus ServiceTest::WatchUntil(const std::string& id, const std::function<bool(const v1::RunStatus&)>& enough) {
  grpc::ClientContext context;
  v1::RunName name;
  name.set_id(id);
  const auto replies = stub().Watch(&context, name);
  v1::RunStatus status;
  while (replies->Read(&status)) {
    if (!enough(status)) continue;
    context.TryCancel();
    break;
  }
  replies->Finish();
  return status;
}

v1::RunStatus ServiceTest::WatchToTheEnd(const std::string& id) {
  return WatchUntil(id, [](const v1::RunStatus&) { return false; });
}

v1::RunStatus ServiceTest::WatchToStep(const std::string& id, int64_t step) {
  return WatchUntil(id, [step](const v1::RunStatus& status) { return status.progress().step() >= step; });
}

v1::RunStatus ServiceTest::Resumed(const std::string& id) {
  grpc::ClientContext context;
  v1::RunName name;
  name.set_id(id);
  v1::RunStatus reply;
  const grpc::Status status = stub().Resume(&context, name, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return reply;
}

v1::PredictRequest ServiceTest::Rows(const std::string& run, int64_t first, int64_t count) const {
  const std::vector<float> rows = TestRows();
  v1::PredictRequest request;
  request.set_run(run);
  v1::Tensor& x = (*request.mutable_fields())["x"];
  x.add_shape(count);
  x.add_shape(kFeatures);
  x.set_data(rows.data() + first * kFeatures, static_cast<size_t>(count * kFeatures) * sizeof(float));
  return request;
}

grpc::Status ServiceTest::Predict(const v1::PredictRequest& request, std::vector<float>* logits) {
  grpc::ClientContext context;
  v1::PredictReply reply;
  const grpc::Status status = stub().Predict(&context, request, &reply);
  const auto found = reply.values().find("logits");
  if (found == reply.values().end()) return status;
  logits->resize(found->second.data().size() / sizeof(float));
  std::memcpy(logits->data(), found->second.data().data(), found->second.data().size());
  return status;
}

std::string ServiceTest::TrainedByTrainer(const std::string& settings) {
  std::ofstream(path("settings")) << settings << "data = \"" << path("data") << "\"\n";
  const int code = RunCommand({"tools/trainer", "train", "--config=" + path("settings"), "--threads=1",
                               "--deterministic", "--log=error", "--save=" + path("trained"), path("graph.pbtxt")});
  EXPECT_EQ(code, 0);
  return ReadBytes(path("trained"));
}

}  // namespace partita::service
