// What holds for every schema: a version first, a comment on each field, numbers without gaps.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <regex>

#include "proto/cluster.pb.h"
#include "proto/data.pb.h"
#include "proto/epochs.pb.h"
#include "proto/flight.pb.h"
#include "proto/graph.pb.h"
#include "proto/plan.pb.h"
#include "proto/profile.pb.h"
#include "proto/report.pb.h"
#include "proto/strategy.pb.h"
#include "runtime/base/files.h"

namespace partita {
namespace {

std::vector<const google::protobuf::Descriptor*> Roots() {
  return {ClusterProto::descriptor(),      DataProto::descriptor(),   EpochCurveProto::descriptor(),
          FlightRecordProto::descriptor(), GraphProto::descriptor(),  PlanProto::descriptor(),
          ProfileProto::descriptor(),      ReportProto::descriptor(), StrategyProto::descriptor()};
}

TEST(Schemas, RootsBeginWithTheirVersion) {
  for (const auto* root : Roots()) {
    const auto* field = root->FindFieldByNumber(1);
    ASSERT_NE(field, nullptr);
    EXPECT_EQ(field->name(), "schema_version") << root->name();
    EXPECT_EQ(field->cpp_type(), google::protobuf::FieldDescriptor::CPPTYPE_INT32) << root->name();
  }
}

TEST(Schemas, FieldsAreNumberedWithoutGaps) {
  for (const auto* root : Roots()) {
    for (int m = 0; m < root->file()->message_type_count(); ++m) {
      const auto* message = root->file()->message_type(m);
      for (int number = 1; number <= message->field_count(); ++number) {
        EXPECT_NE(message->FindFieldByNumber(number), nullptr) << message->name() << " has no field " << number;
      }
    }
  }
}

// "  int32 size = 2;   // at least 1": a line with a field number has a comment, here or on the line above.
TEST(Schemas, EveryFieldHasAComment) {
  const std::regex field("^ +.* = [0-9]+;.*"), commented(".*// .*"), only_comment("^ *// .*");
  for (const auto* root : Roots()) {
    std::istringstream lines(*ReadFile(root->file()->name(), 1 << 20));
    std::string line, before;
    int fields = 0;
    while (std::getline(lines, line)) {
      if (std::regex_match(line, field)) {
        ++fields;
        EXPECT_TRUE(std::regex_match(line, commented) || std::regex_match(before, only_comment)) << line;
      }
      before = line;
    }
    EXPECT_GE(fields, 6) << root->file()->name();
  }
}

}  // namespace
}  // namespace partita
