// A service with a folder of its own, and what its tests ask of it.
#ifndef PARTITA_TESTS_TOOLS_SERVICE_SERVICE_FIXTURE_H_
#define PARTITA_TESTS_TOOLS_SERVICE_SERVICE_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/tools/service/service_process.h"

namespace partita::service {

class ServiceTest : public testing::Test {
 protected:
  ServiceTest();

  // In place of the one before, which has ended, with the same folder.
  void Start(std::vector<std::string> flags = {});
  v1::Partita::Stub& stub() { return service_->stub(); }

  // The classifier as text, on its data.
  v1::RunRequest Request(const std::string& settings = "epochs = 3\n") const;
  // One that does not end before it is stopped.
  v1::RunRequest Endless(const std::string& settings = "") const { return Request("epochs = 1000000\n" + settings); }

  grpc::Status Submit(const v1::RunRequest& request, std::string* id);
  std::string Submitted(const v1::RunRequest& request);
  v1::RunStatus StatusOf(const std::string& id);
  // Watches until `enough` holds or the run has ended.
  v1::RunStatus WatchUntil(const std::string& id, const std::function<bool(const v1::RunStatus&)>& enough);
  v1::RunStatus WatchToTheEnd(const std::string& id);
  v1::RunStatus WatchToStep(const std::string& id, int64_t step);
  v1::RunStatus Resumed(const std::string& id);

  // Rows of the test set, from `first` on.
  v1::PredictRequest Rows(const std::string& run, int64_t first, int64_t count) const;
  grpc::Status Predict(const v1::PredictRequest& request, std::vector<float>* logits);

  // What the trainer makes of the same run: the bytes of its model.
  std::string TrainedByTrainer(const std::string& settings);
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::unique_ptr<ServiceProcess> service_;

 private:
  const std::string folder_;
};

}  // namespace partita::service

#endif  // PARTITA_TESTS_TOOLS_SERVICE_SERVICE_FIXTURE_H_
