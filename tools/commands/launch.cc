// `trainer launch`: the ranks of a job as processes of this machine.
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_split.h"
#include "graph/value/node_name.h"
#include "run/job/launcher.h"
#include "run/plan/inputs.h"
#include "runtime/admission/descriptors.h"
#include "runtime/admission/socket.h"
#include "runtime/admission/token.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "tools/commands/commands.h"
#include "tools/commands/launch/child_processes.h"
#include "tools/commands/launch/fewer_ranks.h"
#include "tools/commands/launch/restarts.h"
#include "tools/program/exit_code.h"
#include "tools/program/queued_output.h"
#include "tools/program/start/waiting_threads.h"

namespace partita {
namespace {

constexpr char kLoopback[] = "127.0.0.1";
constexpr char kConfigFlag[] = "--config";

// For a reader of what the ranks have said on standard error.
constexpr std::chrono::milliseconds kLastPatience(1000);

// What is started, once or again.
struct LaunchedJob {
  std::vector<std::string> line;  // of the command that each rank runs
  int64_t ranks = 1;
  int64_t threads = 0;  // of each; 0: the cores shared among them
  int64_t start = 0;    // the how manyth
};

// Descriptors while a process is started: the ends of its pipes that it gets, and the reserved port.
constexpr int64_t kWhileItStarts = 5;

absl::Status MakeLogFolder(const std::string& folder) {
  if (folder.empty()) return absl::OkStatus();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return absl::OkStatus();
  return FlagError("flag --log-dir: {} cannot be made: {}", folder, error.message());
}

// Where a job that is started again begins must be no surprise.
absl::Status CheckRestarts(const ContextOf<RunSpec>& context, const RunSpec& command) {
  const bool restarts = context.spec.launch().max_restarts() > 0;
  if (context.spec.launch().elastic()) {
    RETURN_IF_ERROR(CheckElastic(command));
  }
  if (!restarts || !command.checkpoints().has_checkpoint()) return absl::OkStatus();
  if (command.checkpoints().resume() == "auto") return absl::OkStatus();
  return FlagError("flag --max-restarts: {} has --checkpoint, but would not go on from there: --resume=auto is needed",
                   context.rest[0]);
}

bool BeginsFromNothing(const std::string& name, const RunSpec& command) {
  const auto* const checkpoint =
      CheckpointSpec::descriptor()->FindFieldByNumber(CheckpointSpec::kCheckpointFieldNumber);
  return IsTakenBy(*checkpoint, name) && !command.checkpoints().has_checkpoint();
}

// All ranks, from their start to their end.
absl::StatusOr<JobEnd> RunJob(const ContextOf<RunSpec>& context, const LaunchedJob& job, std::ostream& error) {
  const std::string& logs = context.spec.launch().log_dir();
  const int64_t of_each = logs.empty() ? 3 : 4;  // its outputs, its end, its log
  RETURN_IF_ERROR(CheckDescriptors(fmt::format("launch of {} ranks", job.ranks), of_each * job.ranks + kWhileItStarts));
  int64_t port = context.spec.launch().port();
  Socket reserved;  // rank 0 listens there while this is open
  if (port == 0) {
    Endpoint endpoint{kLoopback};
    ASSIGN_OR_RETURN(reserved, ReservePort(endpoint));
    port = endpoint.port;
  }
  std::vector<std::string> arguments = {"/proc/self/exe"};
  arguments.insert(arguments.end(), job.line.begin(), job.line.end());
  const std::string count = std::to_string(job.ranks);
  std::map<std::string, std::string> variables = {
      {"WORLD_SIZE", count},
      {"LOCAL_WORLD_SIZE", count},
      {"ROLE_WORLD_SIZE", count},
      {"GROUP_RANK", "0"},
      {"MASTER_ADDR", kLoopback},
      {"MASTER_PORT", std::to_string(port)},
      {kTokenVariable, NewToken()},
      {kLauncherVariable, "trainer launch"},
      {"TORCHELASTIC_USE_AGENT_STORE", ""},
      {kStartVariable, std::to_string(job.start)},
  };
  variables.merge(WaitingOf(job.ranks, job.threads));
  ChildProcesses children(context.out, error);
  for (int64_t rank = 0; rank < job.ranks; ++rank) {
    for (const char* name : {"RANK", "LOCAL_RANK", "ROLE_RANK"}) variables[name] = std::to_string(rank);
    std::optional<ProcessLog> log;
    if (!logs.empty()) {
      ASSIGN_OR_RETURN(log, ProcessLog::Open(fmt::format("{}/rank-{}.log", logs, rank), /*goes_on=*/job.start > 0));
    }
    RETURN_IF_ERROR(children.Start(arguments, variables, std::move(log)));
  }
  return children.Wait();
}

// Of those that failed none is left; but there is always a rank.
int64_t RanksLeft(const LaunchedJob& job, const JobEnd& end) {
  return std::max<int64_t>(1, job.ranks - static_cast<int64_t>(Culprits(end).size()));
}

// Again and again, as long as the flags allow it and it may help.
absl::StatusOr<int> RunJobs(const ContextOf<RunSpec>& context, const RunSpec& command, LaunchedJob job,
                            std::ostream& error) {
  Restarts restarts(context.spec.launch().max_restarts());
  const bool from_nothing = BeginsFromNothing(context.rest[0], command);
  if (from_nothing && context.spec.launch().max_restarts() > 0) {
    error << fmt::format("launch: {} has no --checkpoint: if it is started again, it begins from nothing\n",
                         job.line[0])
          << std::flush;
  }
  while (true) {
    ASSIGN_OR_RETURN(const JobEnd end, RunJob(context, job, error));
    const bool again = restarts.Follows(end, job.ranks);
    std::string sentence = restarts.Sentence();
    ++job.start;
    if (again && from_nothing) sentence += ", from nothing";
    if (again && context.spec.launch().elastic()) {
      job.ranks = RanksLeft(job, end);
      job.line = CommandFor(job.ranks, context.rest[0], command);
      sentence += ", with " + Counted(job.ranks, "rank");
    }
    if (!sentence.empty()) error << "launch: " << sentence << std::endl;
    if (!again) return end.code;
  }
}

// Commands whose ranks join a job take its flags. Others would run once in each process.
absl::Status CheckCommand(const std::string& name) {
  const std::vector<std::string> known =
      absl::StrSplit(JobSpec::descriptor()->options().GetExtension(commands), ' ', absl::SkipEmpty());
  if (std::ranges::find(known, name) != known.end()) return absl::OkStatus();
  const auto meant = NearestName(name, known);
  return FlagError("launch: the command is {}; expected one of {}, whose ranks can be processes{}", Quoted(name),
                   fmt::join(known, ", "), meant ? fmt::format("; did you mean {}?", Quoted(*meant)) : "");
}

// The command's line, which takes the flags of launch's --config too, unless it has its own.
std::vector<std::string> LineOf(const ContextOf<RunSpec>& context) {
  std::vector<std::string> line = context.rest;
  const auto own = [](const std::string& word) {
    return word == kConfigFlag || word.starts_with(std::string(kConfigFlag) + "=");
  };
  if (!context.spec.general().has_config() || std::ranges::any_of(line, own)) return line;
  line.insert(line.begin() + 1, fmt::format("{}={}", kConfigFlag, context.spec.general().config()));
  return line;
}

bool AsksForText(const RunSpec& command) {
  const GeneralSpec& general = command.general();
  return general.help() || general.help_all() || general.dump_config();
}

absl::StatusOr<int> RunLaunch(const ContextOf<RunSpec>& context) {
  if (context.rest.empty()) return FlagError("launch needs a command behind `--`: launch -- train --dp=2 GRAPH");
  RETURN_IF_ERROR(CheckCommand(context.rest[0]));
  LaunchedJob job{.line = LineOf(context), .ranks = context.spec.launch().nproc()};
  RunSpec command;
  RETURN_IF_ERROR(context.parse(job.line, command));  // once, so that a mistake is reported once
  if (AsksForText(command)) {
    job.ranks = 1;
  } else if (!context.spec.launch().has_nproc()) {
    ASSIGN_OR_RETURN(job.ranks, RanksOf(command));
  }
  job.threads = command.execution().threads();
  RETURN_IF_ERROR(CheckRestarts(context, command));
  RETURN_IF_ERROR(MakeLogFolder(context.spec.launch().log_dir()));
  QueuedOutput error(STDERR_FILENO);
  const absl::StatusOr<int> code = RunJobs(context, command, std::move(job), error);
  error.Finish(kLastPatience).IgnoreError();  // there is nowhere to say it
  return code;
}

}  // namespace

Command LaunchCommand() {
  return {"launch", "run train, evaluate, predict or decode with a process for each rank: launch -- train --dp=2 GRAPH",
          "", Runs<RunSpec>(RunLaunch), /*passes_on=*/true};
}

}  // namespace partita
