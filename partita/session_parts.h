// The implementation of the library's Session.
#ifndef PARTITA_PARTITA_SESSION_PARTS_H_
#define PARTITA_PARTITA_SESSION_PARTS_H_

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/ir/program.h"
#include "partita/model_parts.h"
#include "partita/partita.h"
#include "proto/run.pb.h"
#include "run/train/training_run.h"
#include "runtime/api/session.h"
#include "runtime/train/model_record.h"

namespace partita::api {

// What a job's threads call when it fails; the session may be gone by then.
struct Failing {
  std::mutex mutex;
  partita::Session* session = nullptr;
  absl::Status status;  // that came before there was a session

  void Fail(const absl::Status& failure) {
    const std::lock_guard lock(mutex);
    if (session != nullptr) return session->Abort(failure);
    if (status.ok()) status = failure;
  }
  void Serve(partita::Session* served) {
    const std::lock_guard lock(mutex);
    session = served;
    if (session != nullptr && !status.ok()) session->Abort(status);
  }
};

struct Session::Parts {
  std::shared_ptr<const Model::Parts> model;
  RunSpec spec;
  std::shared_ptr<Failing> failing = std::make_shared<Failing>();
  std::unique_ptr<TrainingRun> run;       // with data
  std::unique_ptr<partita::Session> own;  // without
  partita::Model trained;                 // the model with what settings say of its training
  partita::Session* session = nullptr;    // of the two that there is
  std::atomic<int> stop{0};               // Fit
  const pid_t process = getpid();
  std::atomic<bool> cancelled{false};
  std::atomic<bool> busy{false};  // a call is running
  ModelRecord record;             // of the file that was loaded last; where training stands is the states' to say
  int64_t steps = 0;              // done

  explicit Parts(std::shared_ptr<const Model::Parts> started) : model(std::move(started)) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() { failing->Serve(nullptr); }
  absl::Status Start(absl::StatusOr<RunSpec> described, const std::vector<std::string>& predict, bool train,
                     const std::shared_ptr<const Transport>& transport);
  absl::StatusOr<FitResult> Fit(const FitOptions& fit);
  bool Has(const std::string& entry) const { return session->program().Find(entry) != nullptr; }
  absl::Status Ready(const std::string& entry) const;
  absl::Status Stage(const std::string& entry, const Fields& batch);
  absl::Status StageField(const std::string& entry, const EntryInput& input, const View& view);
  absl::Status StageOnes(const std::string& entry, const EntryInput& input);
  absl::Status Diagnosed(const absl::Status& refused, const Fields& batch);
  absl::StatusOr<StepResult> Step(const std::string& entry, const Fields& batch);
  absl::StatusOr<std::map<std::string, Tensor>> Compute(const std::string& entry, const Fields& batch);
  absl::StatusOr<std::map<std::string, Tensor>> Predict(const Fields& batch);
  struct BatchSizes {
    int64_t given = 0, whole = 0;
  };
  absl::StatusOr<BatchSizes> SizesOf(const Fields& batch) const;
  absl::StatusOr<int64_t> StepsDone() const;
  absl::StatusOr<ModelRecord> Record() const;
  absl::Status Load(const std::string& path, bool weights_only);
};

// What every call returns after Session::Cancel.
inline absl::Status Cancelled() { return absl::CancelledError("the session was cancelled"); }

}  // namespace partita::api

#endif  // PARTITA_PARTITA_SESSION_PARTS_H_
