// The host's kernels where they are timed, by times that the tests say.
#include "ops/host/timing/timed_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "ops/host/host_kernels.h"
#include "runtime/base/status.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

// Of 8 x 8 pixels there are few tiles: Winograd's is not the rule's.
LocalNode Convolution(const std::string& name = "conv", int64_t samples = 1) {
  const Attributes attributes{{"stride", IntList{1, 1}}, {"padding", IntList{1, 1, 1, 1}}};
  LocalNode node = WholeNode("conv2d", attributes,
                             {TensorType{DType::kF32, {samples, 8, 8, 16}}, TensorType{DType::kF32, {16, 3, 3, 16}}});
  node.name = name;
  return node;
}

class TimedChoiceTest : public testing::Test {
 protected:
  TimedChoiceTest()
      : folder_(testing::TempDir() + "/timed_" + testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
  }
  void SetUp() override {
    if (HostKernelNames("conv2d").size() == 1) GTEST_SKIP() << "built with the reference kernels alone";
    rule_ = MakeHostKernels({})->Choose(Convolution())->kernel;
    ASSERT_NE(rule_, "im2col_conv2d");
  }

  // Every form takes 1 s but those that `seconds` names.
  HostTiming Timing(std::map<std::string, double> seconds) {
    HostTiming timing;
    timing.folder = folder_;
    timing.machine = "a machine";
    timing.warn = [this](const std::string& line) { warnings_.push_back(line); };
    timing.tell = [this](const std::string& line) { told_.push_back(line); };
    timing.detail = [this](const std::string& line) { details_.push_back(line); };
    timing.timer = [this, seconds](const LocalNode&, std::span<const Form> forms) {
      ++timed_;
      EXPECT_EQ(forms.front().name + "_conv2d", rule_);
      std::vector<double> all;
      for (const Form& form : forms) {
        EXPECT_NE(form.name, "reference");
        all.push_back(seconds.contains(form.name) ? seconds.at(form.name) : 1);
      }
      return all;
    };
    return timing;
  }
  std::unique_ptr<KernelLibrary> Library(std::map<std::string, double> seconds, int threads = 1) {
    return MakeHostKernels({.threads = threads, .timing = Timing(std::move(seconds))});
  }
  static std::string Kernel(const KernelLibrary& library, const LocalNode& node = Convolution()) {
    const auto choice = library.Choose(node);
    EXPECT_TRUE(choice.ok()) << choice.status();
    return choice.ok() ? choice->kernel : "";
  }
  fs::path OnlyFile() const {
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
    return fs::directory_iterator(folder_)->path();
  }

  const std::string folder_;
  std::string rule_;
  std::vector<std::string> warnings_, told_, details_;
  int timed_ = 0;
};

TEST_F(TimedChoiceTest, TheFastestIsTakenAndCanBeCreated) {
  const auto library = Library({{"im2col", 0.5}});
  const auto choice = library->Choose(Convolution());
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->kernel, "im2col_conv2d");
  EXPECT_THAT(choice->remark, HasSubstr("im2col 500.000 ms"));
  EXPECT_TRUE(library->Create(Convolution(), *choice, {{nullptr, nullptr}, {nullptr}}).ok());
  EXPECT_EQ(Kernel(*library, Convolution("of the same sizes")), "im2col_conv2d");
  EXPECT_EQ(timed_, 1);
  EXPECT_EQ(Kernel(*library, Convolution("another", 2)), "im2col_conv2d");
  EXPECT_EQ(timed_, 2);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_THAT(told_[0], HasSubstr(folder_));
  ASSERT_EQ(details_.size(), 2u);
  EXPECT_THAT(details_[0], HasSubstr(": im2col, of "));
  EXPECT_TRUE(warnings_.empty());
}

// What the rule finds too small can be timed, too.
TEST_F(TimedChoiceTest, WhatIsNotWorthwhileByTheRuleIsTimed) {
  if (HostKernelNames("conv2d", {.family = "winograd"}).empty() || rule_ == "winograd_conv2d") {
    GTEST_SKIP() << "built without Winograd's kernels, or they are what the rule takes";
  }
  const auto library = Library({{"winograd", 0.5}});
  const std::string kernel = Kernel(*library);
  if (kernel == rule_) GTEST_SKIP() << "the machine has no vectors for it";
  EXPECT_EQ(kernel, "winograd_conv2d");
  EXPECT_TRUE(library->Create(Convolution(), *library->Choose(Convolution()), {{nullptr, nullptr}, {nullptr}}).ok());
}

TEST_F(TimedChoiceTest, TheRuleStaysWhereOthersAreHardlyFaster) {
  EXPECT_EQ(Kernel(*Library({{"im2col", 0.97}})), rule_);
  EXPECT_EQ(timed_, 1);
}

TEST_F(TimedChoiceTest, TheNextRunTimesNothing) {
  EXPECT_EQ(Kernel(*Library({{"im2col", 0.5}})), "im2col_conv2d");
  EXPECT_EQ(Kernel(*Library({})), "im2col_conv2d");
  HostTiming to_plan = Timing({});
  to_plan.times = false;
  const auto plan = MakeHostKernels({.threads = 1, .timing = to_plan});
  EXPECT_EQ(Kernel(*plan), "im2col_conv2d");
  EXPECT_EQ(Kernel(*plan, Convolution("never timed", 2)), rule_);
  EXPECT_EQ(timed_, 1);
  EXPECT_EQ(Kernel(*MakeHostKernels({})), rule_) << "without timing nothing kept is looked at";
}

TEST_F(TimedChoiceTest, AnotherMachineAndOtherThreadsHaveChoicesOfTheirOwn) {
  EXPECT_EQ(Kernel(*Library({{"im2col", 0.5}})), "im2col_conv2d");
  EXPECT_EQ(Kernel(*Library({}, 2)), rule_);
  HostTiming elsewhere = Timing({});
  elsewhere.machine = "another machine";
  EXPECT_EQ(Kernel(*MakeHostKernels({.threads = 1, .timing = elsewhere})), rule_);
  EXPECT_EQ(timed_, 3);
  EXPECT_EQ(Kernel(*Library({})), "im2col_conv2d");
}

TEST_F(TimedChoiceTest, ADamagedFileIsToldAndMadeAnew) {
  EXPECT_EQ(Kernel(*Library({{"im2col", 0.5}})), "im2col_conv2d");
  std::ofstream(OnlyFile(), std::ios::trunc) << "garbage";
  EXPECT_EQ(Kernel(*Library({})), rule_);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], HasSubstr("is damaged and is made anew"));
  EXPECT_EQ(Kernel(*Library({{"im2col", 0.5}})), rule_) << "kept again";
  EXPECT_EQ(timed_, 2);
}

// No run depends on times that are lost with it.
TEST_F(TimedChoiceTest, WhatCannotBeKeptIsNotTaken) {
  HostTiming nowhere = Timing({{"im2col", 0.5}});
  nowhere.folder = "";
  EXPECT_EQ(Kernel(*MakeHostKernels({.threads = 1, .timing = nowhere})), rule_);
  EXPECT_EQ(timed_, 0);
  std::ofstream(folder_) << "a file";
  const auto library = Library({{"im2col", 0.5}});
  EXPECT_EQ(Kernel(*library), rule_);
  EXPECT_EQ(Kernel(*library, Convolution("another", 2)), rule_);
  EXPECT_EQ(timed_, 1);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("plans are not kept for the next run")));
  fs::remove(folder_);
}

TEST_F(TimedChoiceTest, WhatCannotBeTimedIsTheRules) {
  HostTiming timing = Timing({});
  timing.timer = [](const LocalNode&, std::span<const Form>) -> absl::StatusOr<std::vector<double>> {
    return absl::ResourceExhaustedError("there is no memory");
  };
  EXPECT_EQ(Kernel(*MakeHostKernels({.threads = 1, .timing = timing})), rule_);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("is not timed: there is no memory")));
}

TEST_F(TimedChoiceTest, OfTwoProcessesTheSecondTakesWhatTheFirstHasKept) {
  HostTiming second = Timing({});
  second.timer = [&](const LocalNode& node, std::span<const Form> forms) {
    EXPECT_EQ(Kernel(*Library({{"im2col", 0.5}}), node), "im2col_conv2d");  // the first is done meanwhile
    return std::vector<double>(forms.size(), 1);
  };
  EXPECT_EQ(Kernel(*MakeHostKernels({.threads = 1, .timing = second})), "im2col_conv2d");
}

TEST_F(TimedChoiceTest, OtherRanksAdoptAndTimeNothing) {
  const auto lowest = Library({{"im2col", 0.5}});
  EXPECT_EQ(Kernel(*lowest), "im2col_conv2d");
  const auto other = Library({}, 2);
  ASSERT_TRUE(other->Adopt(lowest->Choices()).ok());
  EXPECT_EQ(Kernel(*other), "im2col_conv2d");
  EXPECT_EQ(Kernel(*other, Convolution("that rank 0 has not asked for", 2)), rule_);
  EXPECT_EQ(timed_, 1);
  EXPECT_FALSE(Library({})->Adopt("nonsense").ok());
  // Of rank 0 nothing was timed: the others time nothing either.
  const auto third = Library({});
  ASSERT_TRUE(third->Adopt("").ok());
  EXPECT_EQ(Kernel(*third), rule_);
  EXPECT_EQ(timed_, 1);
}

// "partita-plan <bytes> <hash> <key>\n..."
std::string KeyIn(const std::string& plans) {
  size_t at = 0;
  for (int i = 0; i < 3; ++i) at = plans.find(' ', at) + 1;
  return plans.substr(at, plans.find('\n') - at);
}

TEST_F(TimedChoiceTest, AKernelThatIsNotThereIsTheRules) {
  const auto library = Library({});
  EXPECT_EQ(Kernel(*library), rule_);
  PlanCache told;
  told.Add(KeyIn(library->Choices()), "of_another_kind_of_machine\n");
  const auto other = Library({});
  ASSERT_TRUE(other->Adopt(told.Export()).ok());
  EXPECT_EQ(Kernel(*other), rule_);
  // The same of a file: told, and timed anew.
  std::ifstream file(OnlyFile());
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  PlanCache(folder_).Add(KeyIn(text), "gone\n");
  EXPECT_EQ(Kernel(*Library({{"im2col", 0.5}})), "im2col_conv2d");
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("is made anew: there is no kernel 'gone'")));
  EXPECT_EQ(Kernel(*Library({})), "im2col_conv2d");
  EXPECT_EQ(timed_, 2);
}

// So that it can be joined to the rest of its node.
TEST_F(TimedChoiceTest, APartIsComputedLikeTheWhole) {
  const auto library = Library({{"im2col", 0.5}});
  LocalNode part = Convolution();
  part.within = {part.inputs[0]->box, part.inputs[1]->box, part.outputs[0].box};
  Narrow(part.outputs[0], 1, 1, 7);
  EXPECT_NE(Kernel(*library, part), "im2col_conv2d");
  EXPECT_EQ(Kernel(*library), "im2col_conv2d");
  EXPECT_EQ(Kernel(*library, part), "im2col_conv2d");
  part.name = "a part of another";
  EXPECT_NE(Kernel(*library, part), "im2col_conv2d");
  EXPECT_EQ(timed_, 1);
}

}  // namespace
}  // namespace partita
