// Runs of the service: trained to the bits of the trainer, watched, saved, cancelled, resumed, refused.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/tools/service/classifier.h"
#include "tests/tools/service/service_fixture.h"

namespace partita::service {
namespace {

using testing::HasSubstr;

class RunsTest : public ServiceTest {
 protected:
  template <typename Reply>
  grpc::Status Ask(grpc::Status (v1::Partita::Stub::*call)(grpc::ClientContext*, const v1::RunName&, Reply*),
                   const std::string& id, Reply* reply) {
    grpc::ClientContext context;
    v1::RunName name;
    name.set_id(id);
    return (stub().*call)(&context, name, reply);
  }

  v1::RunStatus Cancelled(const std::string& id) {
    v1::RunStatus reply;
    EXPECT_TRUE(Ask<v1::RunStatus>(&v1::Partita::Stub::Cancel, id, &reply).ok());
    return WatchToTheEnd(id);
  }

  void ExpectRefused(const v1::RunRequest& request, grpc::StatusCode code, const std::string& says) {
    const grpc::Status status = Submit(request, nullptr);
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(says));
  }
};

TEST_F(RunsTest, TrainsToTheBitsOfTheTrainer) {
  Start();
  const std::string id = Submitted(Request());
  const v1::RunStatus status = WatchToTheEnd(id);
  EXPECT_EQ(status.state(), v1::FINISHED) << status.message();
  EXPECT_EQ(status.last_epoch().number(), 3);
  EXPECT_TRUE(status.last_epoch().has_test_loss());
  EXPECT_GT(status.planned_bytes(), 0);
  EXPECT_EQ(ReadBytes(status.model_file()), TrainedByTrainer("epochs = 3\n"));
}

TEST_F(RunsTest, TakesADescriptionAsAMessage) {
  Start();
  v1::RunRequest request = Request();
  request.clear_settings();
  request.mutable_spec()->mutable_dataset()->set_data(path("data"));
  request.mutable_spec()->mutable_execution()->set_threads(1);
  request.mutable_spec()->mutable_train()->set_epochs(3);
  request.mutable_model()->set_path(path("graph.pbtxt"));
  const v1::RunStatus status = WatchToTheEnd(Submitted(request));
  EXPECT_EQ(status.state(), v1::FINISHED) << status.message();
  EXPECT_EQ(ReadBytes(status.model_file()), TrainedByTrainer("epochs = 3\n"));
}

TEST_F(RunsTest, PlansAsTheTrainer) {
  Start();
  grpc::ClientContext context;
  v1::PlanReply reply;
  ASSERT_TRUE(stub().Plan(&context, Request("dp = 2\n"), &reply).ok());
  EXPECT_EQ(reply.ranks(), 2);
  EXPECT_THAT(reply.json(), HasSubstr("\"model\": \"classifier\""));
  EXPECT_TRUE(std::filesystem::is_empty(path("state/scratch")));
  EXPECT_TRUE(std::filesystem::is_empty(path("state/runs")));
}

TEST_F(RunsTest, SavesWithoutAChangeOfTheRun) {
  Start();
  const std::string id = Submitted(Request("epochs = 5000\ndelay-seed = 1\n"));
  WatchToStep(id, 1);
  v1::SaveReply saved;
  ASSERT_TRUE(Ask<v1::SaveReply>(&v1::Partita::Stub::Save, id, &saved).ok());
  EXPECT_TRUE(std::filesystem::exists(saved.model_file()));
  const v1::RunStatus status = WatchToTheEnd(id);
  EXPECT_EQ(status.state(), v1::FINISHED) << status.message();
  EXPECT_EQ(ReadBytes(status.model_file()), TrainedByTrainer("epochs = 5000\n"));
}

TEST_F(RunsTest, ACancelledRunCanBeResumed) {
  Start();
  const std::string id = Submitted(Endless());
  WatchToStep(id, 1);
  const v1::RunStatus cancelled = Cancelled(id);
  EXPECT_EQ(cancelled.state(), v1::CANCELLED) << cancelled.message();
  EXPECT_TRUE(std::filesystem::exists(cancelled.model_file()));
  EXPECT_EQ(Resumed(id).state(), v1::QUEUED);
  const int64_t step = cancelled.progress().step();
  EXPECT_GT(WatchToStep(id, step + 1).progress().step(), step);
  Cancelled(id);
}

TEST_F(RunsTest, EndsAtItsDeadline) {
  Start();
  v1::RunRequest request = Endless();
  request.set_deadline_seconds(0.1);
  const v1::RunStatus status = WatchToTheEnd(Submitted(request));
  EXPECT_EQ(status.state(), v1::CANCELLED);
  EXPECT_THAT(status.message(), HasSubstr("deadline"));
}

TEST_F(RunsTest, TwentySubmitsFillTheQueue) {
  Start({"--queue=4"});
  std::vector<std::string> ids;
  int refused = 0;
  for (int i = 0; i < 20; ++i) {
    std::string id;
    const grpc::Status status = Submit(Endless(), &id);
    if (status.ok()) {
      ids.push_back(id);
      continue;
    }
    ++refused;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(status.error_message(), HasSubstr("--queue"));
  }
  EXPECT_EQ(ids.size(), 5);
  EXPECT_EQ(refused, 15);
  WatchToStep(ids[0], 1);
  EXPECT_EQ(StatusOf(ids[4]).state(), v1::QUEUED);
  EXPECT_EQ(Cancelled(ids[4]).state(), v1::CANCELLED);
  Cancelled(ids[0]);
  EXPECT_GT(WatchToStep(ids[1], 1).progress().step(), 0);  // its turn
}

TEST_F(RunsTest, RefusesByThePlan) {
  Start({"--memory=1MiB", "--ranks=2"});
  ExpectRefused(Request(), grpc::StatusCode::RESOURCE_EXHAUSTED, "of memory by its plan; the service allows 1MiB");
  ExpectRefused(Request("dp = 4\n"), grpc::StatusCode::RESOURCE_EXHAUSTED, "the run has 4 ranks; the service allows 2");
  EXPECT_TRUE(std::filesystem::is_empty(path("state/runs")));
  EXPECT_TRUE(std::filesystem::is_empty(path("state/scratch")));
}

TEST_F(RunsTest, ADataSetCountsInThePlan) {
  Start({"--memory=1GiB"});
  EXPECT_EQ(Submit(Request(), nullptr).error_code(), grpc::StatusCode::OK);
  std::filesystem::copy(path("data"), path("large"), std::filesystem::copy_options::recursive);
  const std::string array = path("large/train/x.npy");
  ASSERT_TRUE(std::filesystem::exists(array));
  std::filesystem::resize_file(array, int64_t{3} << 30);  // sparse
  v1::RunRequest request = Request();
  request.set_settings("threads = 1\ndata = \"" + path("large") + "\"\n");
  ExpectRefused(request, grpc::StatusCode::RESOURCE_EXHAUSTED, "3GiB of them for its data, of memory by its plan");
}

TEST_F(RunsTest, WatchesTheNormOfGradientsIfAsked) {
  Start();
  const std::string slow = "epochs = 5000\ndelay-seed = 1\n";
  const std::string asked = Submitted(Request(slow + "gradient-norm = true\n"));
  EXPECT_GT(WatchToStep(asked, 1).progress().gradient_norm(), 0);
  Cancelled(asked);
  EXPECT_FALSE(WatchToStep(Submitted(Request(slow)), 1).progress().has_gradient_norm());
}

TEST_F(RunsTest, RefusesBadRequests) {
  Start({"--message-bytes=64KiB"});
  const grpc::StatusCode wrong = grpc::StatusCode::INVALID_ARGUMENT;
  ExpectRefused(Request("epoch = 3\n"), wrong, "there is no setting 'epoch'; did you mean 'epochs'?");
  ExpectRefused(Request("epochs\n"), wrong, "the settings: ");
  ExpectRefused(Request("epochs = \"many\"\n"), wrong, "setting epochs: the value is 'many'");
  ExpectRefused(Request("tf32 = true\n"), wrong, "--tf32 needs --device=cuda");
  ExpectRefused(Request("epochs = -1\n"), wrong, "an integer from 1 to");
  ExpectRefused(Request("report = \"/tmp/report.json\"\n"), wrong, "there is no setting 'report'");
  v1::RunRequest request = Request();
  request.set_settings("epochs = 3\n");
  ExpectRefused(request, wrong, "the run has no data");
  request = Request();
  request.mutable_model()->set_path(path("missing.pbtxt"));
  ExpectRefused(request, wrong, "missing.pbtxt");
  request.mutable_model()->set_path("graph.pbtxt");
  ExpectRefused(request, wrong, "expected an absolute path");
  request.mutable_model()->set_text("nodes { op: \"no_such_op\" }");
  ExpectRefused(request, wrong, "the text");
  request.clear_model();
  ExpectRefused(request, wrong, "the request has no model");
  request.mutable_model()->set_text(std::string(100000, ' '));
  ExpectRefused(request, grpc::StatusCode::RESOURCE_EXHAUSTED, "larger than max");
  v1::RunStatus status;
  const grpc::Status unknown = Ask<v1::RunStatus>(&v1::Partita::Stub::Cancel, "run-7", &status);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(unknown.error_message(), HasSubstr("there is no run 'run-7'"));
}

TEST_F(RunsTest, ServesTheExampleClient) {
  Start();
  EXPECT_EQ(RunCommand({"tools/examples/service_client", service_->address(), path("graph.pbtxt"),
                        "data = \"" + path("data") + "\"", "x", "6"}),
            0);
  EXPECT_EQ(
      RunCommand({"tools/examples/service_client", service_->address(), path("graph.pbtxt"), "dat = 1", "x", "6"}), 1);
}

TEST_F(RunsTest, SaysWhyARunFailed) {
  Start();
  v1::RunRequest request = Request();
  request.set_settings("data = \"" + path("no data") + "\"\n");
  const v1::RunStatus status = WatchToTheEnd(Submitted(request));
  EXPECT_EQ(status.state(), v1::FAILED);
  EXPECT_THAT(status.message(), HasSubstr("no data"));
}

}  // namespace
}  // namespace partita::service
