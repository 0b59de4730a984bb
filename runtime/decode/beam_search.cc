#include "runtime/decode/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr double kLeastCoverage = 1e-20;  // a place that nobody looked at

// A hypothesis that may go on.
struct Live {
  std::vector<int32_t> words;
  double log_probability = 0;
  std::vector<double> coverage;  // by place of the source
  int32_t row = 0;               // of the last step
};

// A word behind a live hypothesis.
struct Candidate {
  double log_probability = 0;
  int32_t slot = 0;  // of the hypothesis
  int32_t word = 0;
};

bool Before(const Candidate& a, const Candidate& b) {
  if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
  return a.slot != b.slot ? a.slot < b.slot : a.word < b.word;
}

double LengthPenalty(double words, double power) { return std::pow((5 + words) / 6, power); }

// One sentence of the batch.
class SentenceSearch {
 public:
  SentenceSearch(int64_t places, int32_t first_row, const BeamOptions& options)
      : options_(options), first_row_(first_row) {
    live_.push_back({{}, 0, std::vector<double>(static_cast<size_t>(places)), first_row});
  }

  bool done() const { return live_.empty(); }

  // Writes the rows of the next step.
  void Ask(std::span<int32_t> ids, std::span<int32_t> parents) const {
    for (int64_t slot = 0; slot < options_.beam; ++slot) {
      const int64_t row = first_row_ + slot;
      const bool there = slot < static_cast<int64_t>(live_.size());
      ids[row] = there && !live_[slot].words.empty() ? live_[slot].words.back() : options_.begin;
      parents[row] = there ? live_[slot].row : static_cast<int32_t>(row);
    }
  }

  void Take(const NextWords& next, int64_t words, int64_t places_of_row) {
    attended_ = !next.attention.empty();
    const std::vector<Candidate> candidates = Best(next, words);
    std::vector<Live> live;
    for (const Candidate& candidate : candidates) {
      const bool ends = candidate.word == options_.end;
      if (!ends && static_cast<int64_t>(live.size()) == options_.beam) continue;
      Live grown = Grown(candidate, next, places_of_row);
      if (ends) {
        End(grown, /*ended=*/true);
      } else {
        live.push_back(std::move(grown));
      }
    }
    live_ = std::move(live);
    ++length_;
    if (length_ == options_.most_words) {
      if (ended_.empty()) {
        for (const Live& each : live_) End(each, /*ended=*/false);
      }
      live_.clear();
    } else if (!ended_.empty() && !live_.empty() && Bound() <= ended_.front().score) {
      live_.clear();
    }
  }

  std::vector<Hypothesis> Found() && { return std::move(ended_); }

 private:
  // The best 2 beam of all continuations: as many may end as must not.
  std::vector<Candidate> Best(const NextWords& next, int64_t words) const {
    const auto most = static_cast<size_t>(2 * options_.beam);
    std::vector<Candidate> best;  // a heap whose front is the last of them
    for (size_t slot = 0; slot < live_.size(); ++slot) {
      const std::span<const float> row = next.log_probabilities.subspan(
          static_cast<size_t>((first_row_ + static_cast<int64_t>(slot)) * words), static_cast<size_t>(words));
      for (int64_t word = 0; word < words; ++word) {
        const double sum = live_[slot].log_probability + row[word];
        const Candidate candidate{sum, static_cast<int32_t>(slot), static_cast<int32_t>(word)};
        if (!std::isfinite(sum) || (best.size() == most && !Before(candidate, best.front()))) continue;
        if (std::ranges::find(options_.never, candidate.word) != options_.never.end()) continue;
        if (best.size() == most) {
          std::ranges::pop_heap(best, Before);
          best.pop_back();
        }
        best.push_back(candidate);
        std::ranges::push_heap(best, Before);
      }
    }
    std::ranges::sort(best, Before);
    return best;
  }

  Live Grown(const Candidate& candidate, const NextWords& next, int64_t places_of_row) const {
    Live grown = live_[candidate.slot];
    grown.row = first_row_ + candidate.slot;
    grown.log_probability = candidate.log_probability;
    if (candidate.word != options_.end) grown.words.push_back(candidate.word);
    for (size_t place = 0; !next.attention.empty() && place < grown.coverage.size(); ++place) {
      grown.coverage[place] += next.attention[static_cast<size_t>(grown.row * places_of_row) + place];
    }
    return grown;
  }

  double Coverage(const Live& live) const {
    if (!attended_) return 0;
    double sum = 0;
    for (const double each : live.coverage) sum += std::log(std::clamp(each, kLeastCoverage, 1.0));
    return options_.coverage_penalty * sum;
  }

  void End(const Live& live, bool ended) {
    const double length = static_cast<double>(live.words.size()) + (ended ? 1 : 0);
    const double score = live.log_probability / LengthPenalty(length, options_.length_penalty) + Coverage(live);
    const auto place = std::ranges::find_if(ended_, [&](const Hypothesis& each) { return each.score < score; });
    ended_.insert(place, {live.words, score, live.log_probability, ended});
    if (static_cast<int64_t>(ended_.size()) > options_.beam) ended_.pop_back();
  }

  // No live hypothesis can end with a better score: more words only cost, the longest sequence is divided by most.
  double Bound() const {
    double bound = -std::numeric_limits<double>::infinity();
    const double length = static_cast<double>(options_.length_penalty >= 0 ? options_.most_words : length_ + 1);
    for (const Live& live : live_) bound = std::max(bound, live.log_probability);
    return bound / LengthPenalty(length, options_.length_penalty);
  }

  const BeamOptions& options_;
  const int32_t first_row_;
  std::vector<Live> live_;         // best first
  std::vector<Hypothesis> ended_;  // best first
  int64_t length_ = 0;             // words of the live ones
  bool attended_ = false;
};

absl::Status CheckOptions(std::span<const int64_t> source_places, const BeamOptions& options) {
  if (options.beam < 1 || options.most_words < 1) {
    return InvalidArgument("beam search: found a beam of {} and {} words at most; at least 1 is needed of both",
                           options.beam, options.most_words);
  }
  if (!std::isfinite(options.length_penalty) || !(options.coverage_penalty >= 0)) {
    return InvalidArgument(
        "beam search: found a length penalty of {} and a coverage penalty of {}; finite numbers "
        "are needed, the latter at least 0",
        options.length_penalty, options.coverage_penalty);
  }
  for (const int64_t places : source_places) {
    if (places < 0) return InvalidArgument("beam search: a source has {} places", places);
  }
  return absl::OkStatus();
}

absl::Status CheckNext(const NextWords& next, std::span<const int64_t> source_places, int64_t rows,
                       const BeamOptions& options) {
  const auto words = static_cast<int64_t>(next.log_probabilities.size()) / rows;
  const auto places = static_cast<int64_t>(next.attention.size()) / rows;
  if (static_cast<int64_t>(next.log_probabilities.size()) != rows * words || words <= options.end || options.end < 0) {
    return InvalidArgument("beam search: {} log-probabilities of {} rows, whose word {} is the end",
                           next.log_probabilities.size(), rows, options.end);
  }
  const int64_t longest = source_places.empty() ? 0 : *std::ranges::max_element(source_places);
  if (!next.attention.empty() && (static_cast<int64_t>(next.attention.size()) != rows * places || places < longest)) {
    return InvalidArgument("beam search: {} numbers of attention of {} rows; sources have up to {} places",
                           next.attention.size(), rows, longest);
  }
  const auto wrong = std::ranges::find_if(next.log_probabilities, [](float each) { return !(each <= 1e-3F); });
  if (wrong == next.log_probabilities.end()) return absl::OkStatus();
  return OutOfRange("beam search: row {}: a log-probability is {}; at most 0 is possible",
                    (wrong - next.log_probabilities.begin()) / words, *wrong);
}

}  // namespace

absl::StatusOr<std::vector<std::vector<Hypothesis>>> BeamSearch(std::span<const int64_t> source_places,
                                                                const BeamOptions& options, const DecodeStep& step) {
  RETURN_IF_ERROR(CheckOptions(source_places, options));
  std::vector<SentenceSearch> sentences;
  for (size_t s = 0; s < source_places.size(); ++s) {
    sentences.emplace_back(source_places[s], static_cast<int32_t>(static_cast<int64_t>(s) * options.beam), options);
  }
  const int64_t rows = static_cast<int64_t>(sentences.size()) * options.beam;
  std::vector<int32_t> ids(static_cast<size_t>(rows)), parents(static_cast<size_t>(rows));
  while (!std::ranges::all_of(sentences, &SentenceSearch::done)) {
    for (const SentenceSearch& sentence : sentences) sentence.Ask(ids, parents);
    ASSIGN_OR_RETURN(const NextWords next, step(ids, parents));
    RETURN_IF_ERROR(CheckNext(next, source_places, rows, options));
    const auto words = static_cast<int64_t>(next.log_probabilities.size()) / rows;
    const auto places = static_cast<int64_t>(next.attention.size()) / rows;
    for (SentenceSearch& sentence : sentences) {
      if (!sentence.done()) sentence.Take(next, words, places);
    }
  }
  std::vector<std::vector<Hypothesis>> found;
  for (SentenceSearch& sentence : sentences) found.push_back(std::move(sentence).Found());
  return found;
}

}  // namespace partita
