// What flags say of training, over what a graph says.
#include "run/plan/training_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"
#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

using testing::HasSubstr;

absl::StatusOr<Model> Set(const std::function<void(ModelSpec&)>& flags) {
  absl::StatusOr<Model> mlp = LoadModel("tools/models/examples/mlp.pbtxt", Ops());
  if (!mlp.ok()) return mlp;
  RunSpec spec;
  flags(*spec.mutable_model());
  return WithTrainingSettings(spec, *std::move(mlp));
}

absl::StatusOr<Model> WithOptimizer(const std::string& text) {
  return Set([&](ModelSpec& flags) { flags.set_optimizer(text); });
}

absl::StatusOr<Model> WithSchedule(const std::string& text) {
  return Set([&](ModelSpec& flags) { flags.set_schedule(text); });
}

absl::StatusOr<Model> WithFrozen(const std::string& patterns) {
  return Set([&](ModelSpec& flags) { flags.set_freeze(patterns); });
}

std::string Refusal(const absl::StatusOr<Model>& model) { return std::string(model.status().message()); }

std::string Written(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

std::set<std::string> ParametersOf(const Model& model) {
  std::set<std::string> names;
  for (const Node& node : model.graph.nodes()) {
    if (node.op->role == Role::kParameter) names.insert(model.graph.value(node.outputs[0]).name);
  }
  return names;
}

TEST(TrainingSettings, LeaveAModelAloneThatNoFlagSpeaksOf) {
  ASSERT_OK_AND_ASSIGN(const Model model, Set([](ModelSpec&) {}));
  EXPECT_EQ(model.optimizer.name, "");
  EXPECT_EQ(model.optimizer.attributes.Float("momentum"), 0.9);
  EXPECT_EQ(model.learning_rate.schedule, "one_cycle");
  EXPECT_EQ(ParametersOf(model).size(), 6u);
}

TEST(TrainingSettings, ReplaceTheWholeOptimizer) {
  ASSERT_OK_AND_ASSIGN(const Model model, WithOptimizer("adamw, beta2=0.95,clip_norm=1"));
  EXPECT_EQ(model.optimizer.name, "adamw");
  EXPECT_EQ(model.optimizer.attributes.Float("beta2"), 0.95);
  EXPECT_EQ(model.optimizer.attributes.Float("weight_decay"), 0.01) << "adamw's default, not the graph's";
  EXPECT_EQ(model.optimizer.clip_norm, 1);
  ASSERT_OK_AND_ASSIGN(const Model lamb, WithOptimizer("lamb,adapt=false"));
  EXPECT_FALSE(lamb.optimizer.attributes.Bool("adapt"));
}

TEST(TrainingSettings, ReadAnOptimizerWithGroupsFromAFile) {
  const std::string path = Written("adam.pbtxt",
                                   "schema_version: 1\n"
                                   "optimizer {\n"
                                   "  name: \"adam\"\n"
                                   "  groups { pattern: \"*bias/values\" rate: 0.5 }\n"
                                   "  average { decay: 0.9 }\n"
                                   "}\n");
  ASSERT_OK_AND_ASSIGN(const Model model, WithOptimizer(path));
  EXPECT_EQ(model.optimizer.name, "adam");
  ASSERT_EQ(model.optimizer.groups.size(), 1u);
  EXPECT_EQ(model.optimizer.groups[0].rate, 0.5);
  EXPECT_EQ(model.optimizer.average->decay, 0.9);
  const std::string other = Written("other.pbtxt",
                                    "schema_version: 1\n"
                                    "optimizer { name: \"adam\" groups { pattern: \"*bias/valeus\" rate: 0.5 } }\n");
  EXPECT_THAT(Refusal(WithOptimizer(other)),
              HasSubstr("flag --optimizer: optimizer.groups '*bias/valeus' matches none"));
}

TEST(TrainingSettings, RefuseWhatIsNoOptimizer) {
  EXPECT_THAT(Refusal(WithOptimizer("adamww")), HasSubstr("is unknown; did you mean 'adamw'?"));
  EXPECT_THAT(Refusal(WithOptimizer("adamw,beta3=1")), HasSubstr("has no attribute 'beta3'; did you mean"));
  EXPECT_THAT(Refusal(WithOptimizer("adamw,beta2")), HasSubstr("found 'beta2'; expected name=value behind 'adamw'"));
  EXPECT_THAT(Refusal(WithOptimizer("adamw,=1")), HasSubstr("expected name=value"));
  EXPECT_THAT(Refusal(WithOptimizer("adamw,beta2=1,beta2=0")), HasSubstr("'beta2' is given twice"));
  EXPECT_THAT(Refusal(WithOptimizer("adamw,beta2=2")), HasSubstr("flag --optimizer: optimizer.beta2 is 2"));
  EXPECT_THAT(Refusal(WithOptimizer("adamw,clip_norm=x")), HasSubstr("clip_norm is no number"));
  EXPECT_THAT(Refusal(WithOptimizer("adamw,clip_norm=-1")), HasSubstr("clip_norm is -1"));
  EXPECT_THAT(Refusal(WithOptimizer(Written("empty.pbtxt", "schema_version: 1\n"))), HasSubstr("has no optimizer"));
  EXPECT_THAT(Refusal(WithOptimizer(Written("bare.pbtxt", "name: \"adam\"\n"))), HasSubstr("bare.pbtxt:1:"));
  EXPECT_THAT(Refusal(WithOptimizer("/nowhere/adam.pbtxt")), HasSubstr("/nowhere/adam.pbtxt: cannot open"));
}

TEST(TrainingSettings, ReplaceTheScheduleButNotTheBase) {
  ASSERT_OK_AND_ASSIGN(const Model model,
                       WithSchedule("cosine,warmup_steps=5,final=0.001,steps=50,warmup=exponential"));
  EXPECT_EQ(model.learning_rate.schedule, "cosine");
  EXPECT_EQ(model.learning_rate.base, 0.1);
  EXPECT_EQ(model.learning_rate.warmup_steps, 5);
  EXPECT_EQ(model.learning_rate.final, 0.001);
  EXPECT_EQ(model.learning_rate.steps, 50);
  EXPECT_EQ(model.learning_rate.warmup, "exponential");
  ASSERT_OK_AND_ASSIGN(const Model step, WithSchedule("step,decay=1,decay_steps=10"));
  EXPECT_EQ(step.learning_rate.decay, 1) << "an integer is a number too";
  EXPECT_THAT(Refusal(WithSchedule("cosin")), HasSubstr("flag --schedule: learning_rate.schedule is 'cosin'"));
  EXPECT_THAT(Refusal(WithSchedule("cosine,warmupsteps=3")), HasSubstr("there is no 'warmupsteps'; did you mean"));
  EXPECT_THAT(Refusal(WithSchedule("cosine,steps=0.5")), HasSubstr("'steps' has another type; expected an integer"));
  EXPECT_THAT(Refusal(WithSchedule("step")), HasSubstr("learning_rate.decay_steps is 0"));
}

TEST(TrainingSettings, FreezeParametersThatMatch) {
  ASSERT_OK_AND_ASSIGN(const Model model, WithFrozen("dense1/*,dense2/bias/values"));
  EXPECT_EQ(ParametersOf(model),
            (std::set<std::string>{"dense2/matmul/weights", "classifier/matmul/weights", "classifier/bias/values"}));
  EXPECT_EQ(model.graph.states().size(), 6u) << "what is frozen is still saved and loaded";
  EXPECT_THAT(Refusal(WithFrozen("dense1/*,dens2/*")), HasSubstr("flag --freeze: pattern 'dens2/*' matches none"));
  EXPECT_THAT(Refusal(WithFrozen("*")), HasSubstr("all 6 parameters would stay as they are"));
}

TEST(TrainingSettings, DropGroupsOfFrozenParametersAlone) {
  const std::string path = Written("groups.pbtxt",
                                   "schema_version: 1\n"
                                   "optimizer {\n"
                                   "  name: \"adam\"\n"
                                   "  groups { pattern: \"dense1/*\" rate: 0.5 }\n"
                                   "  groups { pattern: \"*bias/values\" rate: 2 }\n"
                                   "}\n");
  ASSERT_OK_AND_ASSIGN(const Model model, Set([&](ModelSpec& flags) {
                         flags.set_optimizer(path);
                         flags.set_freeze("dense1/*");
                       }));
  ASSERT_EQ(model.optimizer.groups.size(), 1u);
  EXPECT_EQ(model.optimizer.groups[0].pattern, "*bias/values");
}

// A parameter of which both flags, or a group, speak has a group of its own before theirs.
TEST(TrainingSettings, MakeGroupsOfRatesAndDecay) {
  const std::string path = Written("biases.pbtxt",
                                   "schema_version: 1\n"
                                   "optimizer {\n"
                                   "  name: \"adamw\"\n"
                                   "  groups { pattern: \"dense2/bias/*\" rate: 2 }\n"
                                   "}\n");
  ASSERT_OK_AND_ASSIGN(const Model model, Set([&](ModelSpec& flags) {
                         flags.set_optimizer(path);
                         flags.set_rate_scale("dense1/*=0.5, dense*=3");
                         flags.set_no_decay("*bias/values");
                       }));
  const std::vector<ParameterGroup>& groups = model.optimizer.groups;
  ASSERT_EQ(groups.size(), 6u);
  const auto group = [&](const std::string& pattern) {
    const auto found = std::ranges::find(groups, pattern, &ParameterGroup::pattern);
    EXPECT_NE(found, groups.end()) << pattern;
    return *found;
  };
  EXPECT_EQ(group("dense1/bias/values").rate, 0.5);
  EXPECT_EQ(group("dense1/bias/values").attributes.Float("weight_decay"), 0);
  EXPECT_EQ(group("dense2/bias/values").rate, 6) << "twice the factor 3";
  EXPECT_EQ(group("dense2/bias/values").attributes.Float("weight_decay"), 0);
  EXPECT_FALSE(group("dense1/*").attributes.Has("weight_decay"));
  EXPECT_EQ(group("*bias/values").rate, 1);
}

TEST(TrainingSettings, RefuseGroupsThatSayNothing) {
  const auto rates = [](const std::string& text) {
    return Refusal(Set([&](ModelSpec& flags) { flags.set_rate_scale(text); }));
  };
  EXPECT_THAT(rates("dense1/*"), HasSubstr("flag --rate-scale: found 'dense1/*'; expected PATTERN=FACTOR"));
  EXPECT_THAT(rates("=2"), HasSubstr("expected PATTERN=FACTOR"));
  EXPECT_THAT(rates("dense1/*=-1"), HasSubstr("a factor of 0 or more"));
  EXPECT_THAT(rates("dens1/*=1"), HasSubstr("flag --rate-scale: pattern 'dens1/*' matches none"));
  EXPECT_THAT(Refusal(Set([&](ModelSpec& flags) { flags.set_no_decay("*bias"); })),
              HasSubstr("flag --no-decay: pattern '*bias' matches none"));
  const std::string path = Written("clipped.pbtxt",
                                   "schema_version: 1\n"
                                   "optimizer { name: \"adamw\" groups { pattern: \"dense1/*\" clip_norm: 1 } }\n");
  EXPECT_THAT(Refusal(Set([&](ModelSpec& flags) {
                flags.set_optimizer(path);
                flags.set_no_decay("*bias/values");
              })),
              HasSubstr("'dense1/bias/values' is in group 'dense1/*' of the optimizer, which has a clip_norm"));
}

}  // namespace
}  // namespace partita
