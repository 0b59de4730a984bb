// How the service ends, and what the next one finds.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/tools/service/classifier.h"
#include "tests/tools/service/service_fixture.h"

namespace partita::service {
namespace {

using testing::HasSubstr;

class EndsTest : public ServiceTest {
 protected:
  // Files that only a process in the middle of something may have.
  std::vector<std::string> Leftovers() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path("state"))) {
      const std::string name = entry.path().string();
      const bool is_scratch = name.find("/scratch/") != std::string::npos;
      if (is_scratch || name.find("writing-") != std::string::npos || name.find(".tmp-") != std::string::npos)
        found.push_back(name);
    }
    return found;
  }
};

// Delays make steps slow and change no bit.
constexpr char kEpochs[] = "epochs = 5000\n", kSlow[] = "epochs = 5000\ndelay-seed = 1\ncheckpoint-every = 100\n";

TEST_F(EndsTest, RunsOfAKilledServiceCanBeResumed) {
  Start();
  const std::string running = Submitted(Request(kSlow)), queued = Submitted(Request());
  WatchToStep(running, 10);
  service_->Signal(SIGKILL);
  EXPECT_EQ(service_->Wait(), 128 + SIGKILL);
  Start();
  EXPECT_EQ(Leftovers(), std::vector<std::string>());
  EXPECT_EQ(StatusOf(queued).state(), v1::INTERRUPTED);
  const v1::RunStatus interrupted = StatusOf(running);
  EXPECT_EQ(interrupted.state(), v1::INTERRUPTED);
  EXPECT_THAT(interrupted.message(), HasSubstr("Resume continues it"));
  Resumed(running);
  const v1::RunStatus status = WatchToTheEnd(running);
  EXPECT_EQ(status.state(), v1::FINISHED) << status.message();
  EXPECT_EQ(ReadBytes(status.model_file()), TrainedByTrainer(kEpochs));
}

TEST_F(EndsTest, ATerminatedServiceSavesItsRuns) {
  Start();
  const std::string id = Submitted(Request(kSlow));
  WatchToStep(id, 4);
  service_->Signal(SIGTERM);
  EXPECT_EQ(service_->Wait(), 0);
  EXPECT_EQ(Leftovers(), std::vector<std::string>());
  Start();
  const v1::RunStatus interrupted = StatusOf(id);
  EXPECT_EQ(interrupted.state(), v1::INTERRUPTED);
  EXPECT_TRUE(std::filesystem::exists(interrupted.model_file()));
  Resumed(id);
  const v1::RunStatus status = WatchToTheEnd(id);
  EXPECT_EQ(status.state(), v1::FINISHED) << status.message();
  EXPECT_EQ(ReadBytes(status.model_file()), TrainedByTrainer(kEpochs));
}

TEST_F(EndsTest, KeepsFilesOfOthers) {
  std::filesystem::create_directories(path("state/runs/mine"));
  std::filesystem::create_directories(path("state/runs/run-1"));
  std::filesystem::create_directories(path("state/scratch"));
  const std::vector<std::string> files = {"state/runs/mine/file", "state/runs/run-1/file", "state/scratch/file"};
  for (const std::string& file : files) std::ofstream(path(file)) << "mine";
  Start();
  for (const std::string& file : files) EXPECT_TRUE(std::filesystem::exists(path(file))) << file;
}

TEST_F(EndsTest, OneServiceAFolder) {
  Start();
  ServiceProcess other({"--state=" + path("state"), "--log=error"});
  EXPECT_FALSE(other.started());
  EXPECT_EQ(other.Wait(), 3);
}

TEST_F(EndsTest, OneServiceAPort) {
  Start();
  EXPECT_EQ(RunCommand({"tools/service/partita_service", "serve", "--state=" + path("another"),
                        "--address=" + service_->address()}),
            4);
}

TEST_F(EndsTest, FlagsThatDoNotGoTogether) {
  const auto code_of = [&](const std::vector<std::string>& flags) {
    ServiceProcess service(flags);
    EXPECT_FALSE(service.started());
    return service.Wait();
  };
  EXPECT_EQ(code_of({}), 2);
  EXPECT_EQ(code_of({"--state=" + path("state"), "--tls-key=" + path("key")}), 2);
  EXPECT_EQ(code_of({"--state=" + path("state"), "--checkpoint-every=often"}), 2);
  EXPECT_EQ(code_of({"--state=" + path("state"), "--token=" + path("missing")}), 3);
}

}  // namespace
}  // namespace partita::service
