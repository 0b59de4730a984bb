#include "run/solver/cbc.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "run/solver/cbc_answer.h"
#include "run/solver/limited_process.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kCbc[] = "cbc";
constexpr int64_t kLargestSolution = int64_t{256} << 20;
constexpr std::chrono::seconds kSoon(10);  // to start, and to write what it has

// A folder of one program, which goes with it.
class SolverFolder {
 public:
  static absl::StatusOr<SolverFolder> Make() {
    std::error_code error;
    std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    if (error) parent = "/tmp";
    std::string path = (parent / "partita-cbc-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      return ResourceExhausted("{}: cannot make a folder for cbc: {}; set TMPDIR to another", parent.string(),
                               std::generic_category().message(errno));
    }
    return SolverFolder(std::move(path));
  }
  SolverFolder(SolverFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  SolverFolder& operator=(SolverFolder&&) = delete;
  ~SolverFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  std::string Path(const char* name) const { return path_ + "/" + name; }

 private:
  explicit SolverFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

// The last line that is not empty.
std::string EndOf(const std::string& log) {
  const size_t end = log.find_last_not_of(" \n");
  if (end == std::string::npos) return "nothing";
  const size_t begin = log.rfind('\n', end);
  return log.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

absl::StatusOr<ProgramSolution> Solve(const std::string& program, int64_t seconds) {
  ASSIGN_OR_RETURN(const SolverFolder folder, SolverFolder::Make());
  const std::string question = folder.Path("placement.lp"), answer = folder.Path("placement.sol");
  RETURN_IF_ERROR(WriteFileAtomically(question, program));
  ASSIGN_OR_RETURN(const std::string log, RunLimited({kCbc, question, "sec", fmt::format("{}", seconds), "timeMode",
                                                      "elapsed", "solve", "solution", answer},
                                                     std::chrono::seconds(seconds) + kSoon));
  if (!std::filesystem::exists(answer)) {
    return Unavailable("cbc wrote no solution; the end of what it says: {}", EndOf(log));
  }
  ASSIGN_OR_RETURN(const std::string solution, ReadFile(answer, kLargestSolution));
  return ReadCbcAnswer(log, solution);
}

}  // namespace

absl::StatusOr<ProgramSolver> CbcSolver(int64_t seconds) {
  const absl::Status here = RunLimited({kCbc, "quit"}, kSoon).status();
  if (!here.ok()) return Unavailable("{}; Debian's package coinor-cbc has it", std::string(here.message()));
  return [seconds](const std::string& program) { return Solve(program, seconds); };
}

}  // namespace partita
