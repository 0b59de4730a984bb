// The folder of a service's runs: what outlives the process.
//
//   STATE/lock              held by the one service that uses the folder
//   STATE/scratch/          models of requests in progress; emptied at the start
//   STATE/runs/ID/run.pbtxt           RunRecord
//   STATE/runs/ID/model.pbtxt         the graph, if the request had its text
//   STATE/runs/ID/model.safetensors   the last saved model, unless the request names another file
//   STATE/runs/ID/checkpoints/        likewise
#ifndef PARTITA_TOOLS_SERVICE_RUN_FOLDER_H_
#define PARTITA_TOOLS_SERVICE_RUN_FOLDER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/sharded/folder_lock.h"
#include "tools/service/service_spec.pb.h"

namespace partita::service {

class RunFolder {
 public:
  // Makes the folder if it is not there, and removes what a process that was killed had not finished.
  // kInvalidArgument: another service uses it.
  static absl::StatusOr<RunFolder> Open(const std::string& path);

  std::string scratch() const { return state_ + "/scratch"; }
  std::string Of(const std::string& id) const { return state_ + "/runs/" + id; }
  // A folder whose record cannot be read is an error that names it.
  absl::StatusOr<std::vector<RunRecord>> Read() const;
  // Replaces the run's record, which is on the disk afterwards.
  absl::Status Write(const RunRecord& record) const;

 private:
  RunFolder(std::string state, FolderLock lock) : state_(std::move(state)), lock_(std::move(lock)) {}

  std::string state_;
  FolderLock lock_;
};

}  // namespace partita::service

#endif  // PARTITA_TOOLS_SERVICE_RUN_FOLDER_H_
