#include "run/solver/cbc_answer.h"

#include <optional>
#include <sstream>

#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kBound[] = "Lower bound:";
constexpr char kObjective[] = "objective value";
constexpr double kRounded = 1e-5;  // the bound is written with six digits

bool Begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

// The number behind a label, where it stands last.
std::optional<double> NumberBehind(const std::string& text, const std::string& label) {
  const size_t at = text.rfind(label);
  if (at == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(at + label.size()));
  double number = 0;
  return rest >> number ? std::optional(number) : std::nullopt;
}

// "12 x3_0 1 0.5": place, variable, value, reduced cost; what breaks a row begins with asterisks.
absl::Status ReadValues(std::istringstream& lines, std::map<std::string, double>& values) {
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string place, variable;
    double value = 0;
    if (!(words >> place >> variable >> value)) return Unavailable("cbc's solution has the line '{}'", line);
    if (value != 0) values[variable] = value;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ProgramSolution> ReadCbcAnswer(const std::string& log, const std::string& file) {
  std::istringstream lines(file);
  std::string outcome;
  std::getline(lines, outcome);
  ProgramSolution solution;
  if (Begins(outcome, "Infeasible") || Begins(outcome, "Integer infeasible")) {
    solution.proven = true;
    return solution;
  }
  const bool stopped = Begins(outcome, "Stopped on time");
  const std::optional<double> objective = NumberBehind(outcome, kObjective);
  if (!objective || (!stopped && !Begins(outcome, "Optimal"))) {
    return Unavailable("cbc found no answer: its solution begins with '{}'", outcome);
  }
  solution.proven = !stopped;
  solution.lower_bound = stopped ? (1 - kRounded) * NumberBehind(log, kBound).value_or(0) : *objective;
  const bool found = outcome.find("no integer solution") == std::string::npos;
  if (found) RETURN_IF_ERROR(ReadValues(lines, solution.values));
  return solution;
}

}  // namespace partita
