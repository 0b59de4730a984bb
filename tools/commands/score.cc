// `trainer score`: how near a file of sequences is to one of those that are right, line by line.
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/base/text_file.h"
#include "runtime/scores/bleu.h"
#include "runtime/scores/tokens.h"
#include "runtime/scores/word_accuracy.h"
#include "tools/commands/commands.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

constexpr int64_t kLargest = int64_t{1} << 32;  // bytes

using Tokens = std::vector<std::string>;

struct Scores {
  Bleu bleu;
  WordAccuracy accuracy;
};

TokenRule RuleOf(const std::string& name) {
  if (name == "none") return TokenRule::kNone;
  return name == "intl" ? TokenRule::kInternational : TokenRule::k13a;
}

// The last line may have no end.
std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

absl::StatusOr<std::vector<std::string>> ReadLines(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kLargest));
  if (text.empty()) return InvalidArgument("{}: found no lines", path);
  return LinesOf(text);
}

struct LineOptions {
  TokenOptions tokens;
  bool pieces = false;  // lines are of pieces
};

absl::StatusOr<Tokens> TokensOfLine(const std::string& path, size_t line, const std::string& text,
                                    const LineOptions& options) {
  absl::StatusOr<Tokens> tokens = TokensOf(options.pieces ? JoinPieces(text) : text, options.tokens);
  if (!tokens.ok()) return WithContext(fmt::format("{}: line {}", path, line), tokens.status());
  return tokens;
}

absl::StatusOr<Scores> ScoreFiles(const std::string& hypotheses, const std::string& references,
                                  const LineOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> ours, ReadLines(hypotheses));
  ASSIGN_OR_RETURN(const std::vector<std::string> right, ReadLines(references));
  if (ours.size() != right.size()) {
    return InvalidArgument("{}: found {}, {} has {}; each is compared with its line there", hypotheses,
                           Counted(ours.size(), "line"), references, right.size());
  }
  Scores scores;
  for (size_t i = 0; i < ours.size(); ++i) {
    ASSIGN_OR_RETURN(const Tokens hypothesis, TokensOfLine(hypotheses, i + 1, ours[i], options));
    ASSIGN_OR_RETURN(const Tokens reference, TokensOfLine(references, i + 1, right[i], options));
    scores.bleu.Add(hypothesis, reference);
    scores.accuracy.Add(hypothesis, reference);
  }
  return scores;
}

double Share(int64_t right, const WordAccuracy& of) {
  return static_cast<double>(right) / static_cast<double>(of.sequences());
}

std::string AsText(const BleuScore& bleu, const WordAccuracy& accuracy, const RunSpec& spec) {
  std::string text =
      fmt::format("BLEU            {:.2f}, tokens {}{}: precisions {:.1f}, brevity penalty {:.3f} ({} words for {})\n",
                  bleu.bleu, spec.score().tokens(), spec.score().lower_case() ? " in small letters" : "",
                  fmt::join(bleu.precisions, " "), bleu.brevity_penalty, bleu.hypothesis_words, bleu.reference_words);
  text += fmt::format("right           {:.4f}, {} of {}\n", Share(accuracy.right(), accuracy), accuracy.right(),
                      Counted(accuracy.sequences(), "line"));
  if (!accuracy.has_stress()) return text;
  return text + fmt::format("without stress  {:.4f}, {} of {}\n", Share(accuracy.right_without_stress(), accuracy),
                            accuracy.right_without_stress(), Counted(accuracy.sequences(), "line"));
}

std::string AsJson(const BleuScore& bleu, const WordAccuracy& accuracy, const RunSpec& spec) {
  nlohmann::ordered_json json = {{"schema_version", 1},
                                 {"bleu", bleu.bleu},
                                 {"tokens", spec.score().tokens()},
                                 {"lower_case", spec.score().lower_case()},
                                 {"precisions", bleu.precisions},
                                 {"brevity_penalty", bleu.brevity_penalty},
                                 {"hypothesis_words", bleu.hypothesis_words},
                                 {"reference_words", bleu.reference_words},
                                 {"lines", accuracy.sequences()},
                                 {"right", Share(accuracy.right(), accuracy)}};
  if (accuracy.has_stress()) json["right_without_stress"] = Share(accuracy.right_without_stress(), accuracy);
  return json.dump(2) + "\n";
}

absl::StatusOr<int> Score(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  const LineOptions options = {{RuleOf(spec.score().tokens()), spec.score().lower_case()}, spec.score().pieces()};
  ASSIGN_OR_RETURN(const Scores scores, ScoreFiles(spec.model().graph(), spec.score().references(), options));
  const BleuScore bleu = scores.bleu.Score();
  context.out << (spec.output().format() == "json" ? AsJson : AsText)(bleu, scores.accuracy, spec);
  return kExitFinished;
}

}  // namespace

Command ScoreCommand() {
  Command command{"score", "compare sequences with --references line by line: BLEU and exact matches", "HYPOTHESES",
                  Runs<RunSpec>(Score)};
  command.choices = {{"format", {"text", "json"}}};
  return command;
}

}  // namespace partita
