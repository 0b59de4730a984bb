// What a rank of a job tells when another one fails: also of where it met that one in steps, which is not the job's
// own.
#include "runtime/api/job/process_job.h"

#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/admission/socket.h"
#include "runtime/comm/processes/process_world.h"
#include "runtime/flight_recorder/flight_recorder.h"
#include "runtime/rendezvous/rendezvous_client.h"

namespace partita {
namespace {

// Stands for the ranks of a job on GPUs.
class StepWorld : public World {
 public:
  absl::StatusOr<std::unique_ptr<Communicator>> CreateCommunicator(int, std::vector<int>, int) override {
    return absl::UnimplementedError("it has none");
  }
  const FlightRecorder* recorder() const override { return &flown; }
  void Abort(const absl::Status& status) override { aborted.set_value(status); }

  FlightRecorder flown{2};
  std::promise<absl::Status> aborted;
};

struct Told {
  absl::Status status;
  std::vector<FlightRecord> records;
};

class ProcessJobTest : public testing::Test {
 protected:
  // Rank 0, and of rank 1 what a job knows of it.
  void SetUp() override {
    Endpoint rendezvous{"127.0.0.1"};
    const Socket reserved = *ReservePort(rendezvous);
    RendezvousClient::Options one;
    one.port = rendezvous.port;
    one.rank = 1;
    one.ranks = 2;
    one.token = "of this test";
    ProcessJobOptions zero;
    zero.port = one.port;
    zero.ranks = 2;
    zero.token = one.token;
    zero.on_failure = [this](const absl::Status& status, const std::vector<FlightRecord>& records) {
      told_.set_value({status, records});
    };
    std::thread other([&] {
      client_ = *RendezvousClient::Join(one);
      EXPECT_TRUE(CompareDigests(*client_, 1, {}, std::chrono::seconds(10)).ok());
      ProcessWorldOptions options;
      options.token = one.token;
      world_ = *ProcessWorld::Connect(1, 2, *client_, options);
    });
    job_ = *ProcessJob::Start(zero);
    other.join();
  }

  std::promise<Told> told_;
  std::unique_ptr<RendezvousClient> client_;
  std::unique_ptr<ProcessWorld> world_;
  std::unique_ptr<ProcessJob> job_;
};

TEST_F(ProcessJobTest, AFailureIsToldWithTheStepsAndEndsThem) {
  StepWorld steps, late;
  steps.flown.Join(0, 5, {0, 1}).Begin({5, 17, "all_reduce", 100, "f32"}, FlownOperation::State::kWaiting);
  job_->SetStepWorld(&steps);
  client_->Fail(absl::UnavailableError("rank 1 burns"));
  const Told told = told_.get_future().get();
  EXPECT_NE(std::string(told.status.message()).find("rank 1 burns"), std::string::npos) << told.status;
  ASSERT_EQ(told.records.size(), 1u);
  EXPECT_TRUE(told.records[0].groups.contains(-1)) << "the exchange of the job";
  EXPECT_TRUE(told.records[0].groups.contains(5));
  ASSERT_EQ(told.records[0].operations.size(), 1u);
  EXPECT_EQ(told.records[0].operations[0].sequence, 17);
  EXPECT_EQ(steps.aborted.get_future().get(), told.status);
  job_->SetStepWorld(&late);
  EXPECT_EQ(late.aborted.get_future().get(), told.status) << "steps that begin too late";
  job_->SetStepWorld(nullptr);
}

}  // namespace
}  // namespace partita
