// Plans.
#include <utility>

#include "partita/c/objects.h"
#include "partita/c/structs.h"

namespace {

using partita::api::Outcome;
using partita::api::Plan;
using partita::api::Result;
using partita::api::Run;
using partita::c::CallOf;
using partita::c::Invalid;
using partita::c::Live;

// A text of the plan, made by the first call that asks for it.
partita_error* TextOf(const partita_plan* plan, const char** text, const char* name,
                      std::optional<std::string> partita_plan::*kept, Result<std::string> (Plan::*make)() const) {
  return CallOf(plan, "plan", [&](partita_plan& known) -> Outcome {
    if (text == nullptr) return Invalid(std::string(name) + " is NULL");
    const std::lock_guard lock(known.mutex);
    if (!(known.*kept)) {
      Result<std::string> made = (known.plan.*make)();
      if (!made) return made.error();
      known.*kept = *std::move(made);
    }
    *text = (known.*kept)->c_str();
    return std::nullopt;
  });
}

}  // namespace

extern "C" {

partita_error* partita_plan_make(const partita_model* model, const partita_session_options* options,
                                 partita_plan** plan) {
  return CallOf(model, "model", [&](const partita_model& known) -> Outcome {
    if (plan == nullptr) return Invalid("plan is NULL");
    partita_session_options given = {};
    if (options != nullptr) {
      if (const Outcome wrong = partita::c::ReadStruct(options, "options", given)) return wrong;
    }
    Run run;
    if (given.settings != nullptr) run.settings = given.settings;
    Result<Plan> made = Plan::Make(known.model, run);
    if (!made) return made.error();
    *plan = Live<partita_plan>::Add(std::make_shared<partita_plan>(*std::move(made)));
    return std::nullopt;
  });
}

partita_error* partita_plan_summarize(const partita_plan* plan, partita_plan_summary* summary) {
  return CallOf(plan, "plan", [&](const partita_plan& known) -> Outcome {
    if (const Outcome wrong = partita::c::CheckSize(summary, "summary")) return wrong;
    const partita::api::PlanSummary& made = known.plan.summary();
    partita_plan_summary told = {};
    told.split = made.split.c_str();
    told.cluster = made.cluster.c_str();
    told.ranks = made.ranks;
    told.batch = made.batch;
    told.step_seconds = made.step_seconds;
    told.compute_seconds = made.compute_seconds;
    told.exposed_seconds = made.exposed_seconds;
    told.idle_seconds = made.idle_seconds;
    told.memory_bytes = made.memory_bytes;
    told.memory_limit_bytes = made.memory_limit_bytes;
    told.device_used_bytes = made.device_used_bytes;
    told.device_memory_bytes = made.device_memory_bytes;
    told.wire_bytes = made.wire_bytes;
    partita::c::WriteStruct(told, summary);
    return std::nullopt;
  });
}

partita_error* partita_plan_json(const partita_plan* plan, const char** json) {
  return TextOf(plan, json, "json", &partita_plan::json, &Plan::Json);
}

partita_error* partita_plan_page(const partita_plan* plan, const char** html) {
  return TextOf(plan, html, "html", &partita_plan::page, &Plan::Page);
}

partita_error* partita_plan_strategy(const partita_plan* plan, const char** strategy) {
  return TextOf(plan, strategy, "strategy", &partita_plan::strategy, &Plan::StrategyText);
}

void partita_plan_free(partita_plan* plan) { Live<partita_plan>::Remove(plan); }

}  // extern "C"
