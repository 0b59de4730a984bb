#include "ops/cuda/cudnn/cudnn_engines.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace partita {
namespace {

constexpr int64_t kMostWorkspace = int64_t{1} << 30;

using Notes = std::vector<cudnnBackendNumericalNote_t>;

// The descriptors that are an attribute of another: at most `most`, empty ones of which the library fills.
absl::StatusOr<std::vector<CudnnDescriptor>> PartsOf(const CudnnApi& api, const CudnnDescriptor& whole,
                                                     cudnnBackendAttributeName_t name,
                                                     cudnnBackendDescriptorType_t type, int64_t most,
                                                     const std::string& what) {
  std::vector<CudnnDescriptor> parts;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < most; ++i) {
    ASSIGN_OR_RETURN(CudnnDescriptor empty, CudnnBuilder(api, type, what).Empty());
    raw.push_back(empty.get());
    parts.push_back(std::move(empty));
  }
  int64_t found = 0;
  RETURN_IF_ERROR(CudnnStatus(
      api, api.cudnnBackendGetAttribute(whole.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &found, raw.data()),
      "cudnnBackendGetAttribute of " + what));
  parts.resize(static_cast<size_t>(std::clamp<int64_t>(found, 0, most)));
  return parts;
}

absl::StatusOr<CudnnDescriptor> PartOf(const CudnnApi& api, const CudnnDescriptor& whole,
                                       cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
                                       const std::string& what) {
  ASSIGN_OR_RETURN(std::vector<CudnnDescriptor> parts, PartsOf(api, whole, name, type, 1, what));
  if (parts.empty()) return Internal("cuDNN answers nothing for {}", what);
  return std::move(parts[0]);
}

// The configurations that one kind of heuristics names, best first.
absl::StatusOr<std::vector<CudnnDescriptor>> Configurations(const CudnnApi& api, const CudnnTarget& target,
                                                            const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode) {
  ASSIGN_OR_RETURN(const CudnnDescriptor heuristics, HeuristicsFor(api, target)
                                                         .Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
                                                         .Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode)
                                                         .Finalize());
  int64_t count = 0;
  RETURN_IF_ERROR(CudnnStatus(api,
                              api.cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                           CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
                              "cudnnBackendGetAttribute of the heuristics' results"));
  if (count <= 0) return std::vector<CudnnDescriptor>();
  return PartsOf(api, heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, count,
                 "the heuristics' results");
}

absl::StatusOr<CudnnDescriptor> EngineOf(const CudnnApi& api, const CudnnDescriptor& configuration) {
  return PartOf(api, configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR,
                "a configuration's engine");
}

absl::StatusOr<Notes> NotesOf(const CudnnApi& api, const CudnnDescriptor& engine) {
  Notes notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  int64_t found = 0;
  RETURN_IF_ERROR(CudnnStatus(
      api,
      api.cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                   CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &found, notes.data()),
      "cudnnBackendGetAttribute of an engine's notes"));
  notes.resize(static_cast<size_t>(std::clamp<int64_t>(found, 0, CUDNN_NUMERICAL_NOTE_TYPE_COUNT)));
  return notes;
}

absl::StatusOr<Notes> NotesOfConfiguration(const CudnnApi& api, const CudnnDescriptor& configuration) {
  ASSIGN_OR_RETURN(const CudnnDescriptor engine, EngineOf(api, configuration));
  return NotesOf(api, engine);
}

// Its engine and knobs, by which two configurations are the same one; empty: the library does not say.
std::string IdentityOf(const CudnnApi& api, const CudnnDescriptor& configuration) {
  const absl::StatusOr<CudnnDescriptor> engine = EngineOf(api, configuration);
  if (!engine.ok()) return "";
  const absl::StatusOr<int64_t> index = GetInt64(api, *engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  const auto knobs = PartsOf(api, configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                             CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS, "a configuration's knobs");
  if (!index.ok() || !knobs.ok()) return "";
  std::set<std::string> texts;
  for (const CudnnDescriptor& knob : *knobs) {
    cudnnBackendKnobType_t type{};
    int64_t found = 0;
    const cudnnStatus_t read = api.cudnnBackendGetAttribute(knob.get(), CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                                                            CUDNN_TYPE_KNOB_TYPE, 1, &found, &type);
    const absl::StatusOr<int64_t> value = GetInt64(api, knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
    if (read != CUDNN_STATUS_SUCCESS || !value.ok()) return "";
    texts.insert(fmt::format("{}={}", static_cast<int>(type), *value));
  }
  return fmt::format("{} {}", *index, fmt::join(texts, " "));
}

// As the library's headers call them, in the order of their numbers.
constexpr const char* kNoteNames[] = {"TENSOR_CORE",
                                      "DOWN_CONVERT_INPUTS",
                                      "REDUCED_PRECISION_REDUCTION",
                                      "FFT",
                                      "NONDETERMINISTIC",
                                      "WINOGRAD",
                                      "WINOGRAD_TILE_4x4",
                                      "WINOGRAD_TILE_6x6",
                                      "WINOGRAD_TILE_13x13",
                                      "STRICT_NAN_PROP"};
static_assert(std::size(kNoteNames) == CUDNN_NUMERICAL_NOTE_TYPE_COUNT);

std::string NameOf(cudnnBackendNumericalNote_t note) {
  const auto number = static_cast<size_t>(note);
  return number < std::size(kNoteNames) ? kNoteNames[number] : fmt::format("note {}", number);
}

bool Has(const Notes& notes, cudnnBackendNumericalNote_t note) {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

// For f32, engines on tensor cores compute in TF32. None may add in less than f32: bf16 engines that do are named too.
bool KeepsTo(const EngineRules& rules, const Notes& notes) {
  if (Has(notes, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return false;
  if (rules.deterministic && Has(notes, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return false;
  if (rules.tensor_cores) return true;
  return !Has(notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) && !Has(notes, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
}

absl::StatusOr<CudnnPlan> PlanOf(const CudnnApi& api, const CudnnTarget& target, const CudnnDescriptor& configuration) {
  CudnnPlan plan;
  ASSIGN_OR_RETURN(
      plan.descriptor,
      PlanFor(api, target, "a plan").Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration).Finalize());
  ASSIGN_OR_RETURN(plan.workspace_bytes, GetInt64(api, plan.descriptor, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  return plan;
}

// Plans of what the heuristics name.
class PlanSearch {
 public:
  PlanSearch(const CudnnApi& api, const CudnnTarget& target, const CudnnDescriptor& graph, const EngineRules& rules,
             std::function<bool()> enough = nullptr)
      : api_(api), target_(target), graph_(graph), rules_(rules), enough_(std::move(enough)) {}

  // Adds up to `most` plans of one list.
  void Add(cudnnBackendHeurMode_t mode, int most) {
    const absl::StatusOr<std::vector<CudnnDescriptor>> configurations = Configurations(api_, target_, graph_, mode);
    if (!configurations.ok()) {
      last_ = configurations.status();
      return;
    }
    int named = 0;
    for (const CudnnDescriptor& configuration : *configurations) {
      if (named == most) return;
      named += Try(configuration, most > 1) ? 1 : 0;
    }
  }

  absl::StatusOr<CudnnCandidates> Found() {
    if (!found_.plans.empty()) return std::move(found_);
    return InvalidArgument("none of the {} engines that cuDNN names takes it{}{}", asked_, last_.ok() ? "" : ": ",
                           std::string(last_.message()));
  }

  bool empty() const { return found_.plans.empty(); }

 private:
  // Whether it counts for its list: it keeps to the rules and is a plan, of this or an earlier list, or is skipped.
  // `once`: what an earlier list named is not planned again.
  bool Try(const CudnnDescriptor& configuration, bool once) {
    ++asked_;
    const absl::StatusOr<Notes> notes = NotesOfConfiguration(api_, configuration);
    if (!notes.ok() || !KeepsTo(rules_, *notes)) return false;
    const std::string identity = once ? IdentityOf(api_, configuration) : "";
    if (const auto known = tried_.find(identity); known != tried_.end()) return known->second;
    bool counts = true;
    if (!empty() && enough_ && enough_()) {
      ++found_.skipped;
    } else {
      counts = AddPlan(configuration, !Has(*notes, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
    }
    if (!identity.empty()) tried_[identity] = counts;
    return counts;
  }

  bool AddPlan(const CudnnDescriptor& configuration, bool deterministic) {
    absl::StatusOr<CudnnPlan> plan = PlanOf(api_, target_, configuration);
    if (!plan.ok()) last_ = plan.status();
    if (!plan.ok() || plan->workspace_bytes > kMostWorkspace) return false;
    plan->deterministic = deterministic;
    found_.plans.push_back(*std::move(plan));
    return true;
  }

  const CudnnApi& api_;
  const CudnnTarget& target_;
  const CudnnDescriptor& graph_;
  const EngineRules rules_;
  const std::function<bool()> enough_;
  CudnnCandidates found_;
  std::map<std::string, bool> tried_;  // by identity: what Try returned
  int asked_ = 0;
  absl::Status last_;  // error
};

}  // namespace

absl::StatusOr<CudnnPlan> FirstPlan(const CudnnApi& api, const CudnnTarget& target, const CudnnDescriptor& graph,
                                    const EngineRules& rules) {
  PlanSearch search(api, target, graph, rules);
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    if (search.empty()) search.Add(mode, 1);
  }
  ASSIGN_OR_RETURN(CudnnCandidates found, search.Found());
  return std::move(found.plans[0]);
}

absl::StatusOr<CudnnCandidates> FindCandidates(const CudnnApi& api, const CudnnTarget& target,
                                               const CudnnDescriptor& graph, const EngineRules& rules,
                                               const CandidateLimits& limits) {
  PlanSearch search(api, target, graph, rules, limits.enough);
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    search.Add(mode, limits.most);
  }
  return search.Found();
}

absl::StatusOr<std::string> DescribeEngine(const CudnnApi& api, const CudnnPlan& plan) {
  ASSIGN_OR_RETURN(const CudnnDescriptor configuration,
                   PartOf(api, plan.descriptor, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                          CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "a plan's configuration"));
  ASSIGN_OR_RETURN(const CudnnDescriptor engine, EngineOf(api, configuration));
  ASSIGN_OR_RETURN(const int64_t index, GetInt64(api, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  ASSIGN_OR_RETURN(const Notes notes, NotesOf(api, engine));
  std::vector<std::string> names;
  for (const cudnnBackendNumericalNote_t note : notes) names.push_back(NameOf(note));
  return fmt::format("engine {}{}{}", index, names.empty() ? "" : ": ", fmt::join(names, ", "));
}

absl::StatusOr<std::string> WritePlan(const CudnnApi& api, const CudnnPlan& plan) {
  const auto get = [&](int64_t count, int64_t& found, char* text) {
    return CudnnStatus(
        api,
        api.cudnnBackendGetAttribute(plan.descriptor.get(), CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                     CUDNN_TYPE_CHAR, count, &found, text),
        "cudnnBackendGetAttribute of a plan's text");
  };
  int64_t size = 0, found = 0;
  RETURN_IF_ERROR(get(0, size, nullptr));
  std::string text(static_cast<size_t>(std::max<int64_t>(0, size)), '\0');
  RETURN_IF_ERROR(get(size, found, text.data()));
  return std::string(plan.deterministic ? "1" : "0") + text;
}

absl::StatusOr<CudnnPlan> ReadPlan(const CudnnApi& api, const CudnnTarget& target, const std::string& text) {
  if (text.size() < 2) return InvalidArgument("a plan's text is empty");
  CudnnPlan plan;
  plan.deterministic = text[0] == '1';
  ASSIGN_OR_RETURN(plan.descriptor, PlanFor(api, target, "a plan that was kept")
                                        .Set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                                             static_cast<int64_t>(text.size()) - 1, text.data() + 1)
                                        .Finalize());
  ASSIGN_OR_RETURN(plan.workspace_bytes, GetInt64(api, plan.descriptor, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  return plan;
}

}  // namespace partita
