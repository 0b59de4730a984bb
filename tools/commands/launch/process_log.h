// The log file of one process of a job.
#ifndef PARTITA_TOOLS_COMMANDS_LAUNCH_PROCESS_LOG_H_
#define PARTITA_TOOLS_COMMANDS_LAUNCH_PROCESS_LOG_H_

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace partita {

class ProcessLog {
 public:
  // What was in the file is replaced, or with `goes_on` stays before what is written. kResourceExhausted: it cannot be
  // opened.
  static absl::StatusOr<ProcessLog> Open(const std::string& path, bool goes_on);

  // kResourceExhausted: it cannot be written; the file is named.
  absl::Status Write(const std::string& text);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  ProcessLog(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_LAUNCH_PROCESS_LOG_H_
