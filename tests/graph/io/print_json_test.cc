// Messages as JSON: what is written, read back by another library.
#include "graph/proto_io/print_json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "proto/graph.pb.h"
#include "proto/plan.pb.h"
#include "proto/report.pb.h"

namespace partita {
namespace {

nlohmann::json Printed(const google::protobuf::Message& message) { return nlohmann::json::parse(PrintJson(message)); }

TEST(PrintJson, NumbersAreNumbers) {
  ReportProto report;
  report.set_schema_version(1);
  report.set_seed(uint64_t{1} << 53);
  report.set_samples_per_second(0.1);
  report.add_epochs()->set_steps(-(int64_t{1} << 53));
  const nlohmann::json json = Printed(report);
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_TRUE(json["seed"].is_number_unsigned());
  EXPECT_EQ(json["seed"], uint64_t{1} << 53);
  EXPECT_EQ(json["samples_per_second"], 0.1);
  EXPECT_EQ(json["epochs"][0]["steps"], -(int64_t{1} << 53));
}

TEST(PrintJson, WhatNumbersCannotHoldIsAString) {
  ReportProto report;
  report.set_seed((uint64_t{1} << 53) + 1);
  report.set_test_loss(std::numeric_limits<double>::quiet_NaN());
  report.set_samples_per_second(-std::numeric_limits<double>::infinity());
  report.add_epochs()->set_steps(std::numeric_limits<int64_t>::min());
  const nlohmann::json json = Printed(report);
  EXPECT_EQ(json["seed"], "9007199254740993");
  EXPECT_EQ(json["test_loss"], "NaN");
  EXPECT_EQ(json["samples_per_second"], "-Infinity");
  EXPECT_EQ(json["epochs"][0]["steps"], "-9223372036854775808");
}

TEST(PrintJson, ValuesOfAnyKindAreWhatTheyAre) {
  ReportProto report;
  (*report.mutable_flags())["dp"].set_number_value(2);
  (*report.mutable_flags())["learning-rate"].set_number_value(0.02);
  (*report.mutable_flags())["flip"].set_bool_value(true);
  (*report.mutable_flags())["data"].set_string_value("2");
  const nlohmann::json flags = Printed(report)["flags"];
  EXPECT_EQ(flags.dump(), R"({"data":"2","dp":2,"flip":true,"learning-rate":0.02})");
}

TEST(PrintJson, HasEveryFieldButMessagesAndOptionalOnesThatAreUnset) {
  const nlohmann::json report = Printed(ReportProto());
  EXPECT_EQ(report["outcome"], "");
  EXPECT_EQ(report["epochs"], nlohmann::json::array());
  EXPECT_EQ(report["flags"], nlohmann::json::object());
  EXPECT_FALSE(report.contains("test_loss"));
  EXPECT_FALSE(Printed(PlanNodeProto()).contains("ghosts"));
  ReportProto zero;
  zero.set_test_loss(0);
  EXPECT_EQ(Printed(zero)["test_loss"], 0);
}

TEST(PrintJson, IsTheSameForEqualMessages) {
  ReportProto report, other;
  for (const char* name : {"b", "a", "c"}) (*report.mutable_libraries())[name] = name;
  for (const char* name : {"c", "b", "a"}) (*other.mutable_libraries())[name] = name;
  EXPECT_EQ(PrintJson(report), PrintJson(other));
  EXPECT_LT(PrintJson(report).find("schema_version"), PrintJson(report).find("tool_version")) << "the schema's order";
  EXPECT_EQ(PrintJson(report).back(), '\n');
}

TEST(PrintJson, TakesWhateverAStringHolds) {
  ReportProto report;
  report.set_model("a\"b\\\n");
  EXPECT_EQ(Printed(report)["model"], "a\"b\\\n");
}

TEST(PrintJson, OfAChoiceOfFieldsHasTheOneThatIsSet) {
  AttributeProto attribute;
  attribute.set_name("rate");
  attribute.set_number(0.5);
  EXPECT_EQ(Printed(attribute), (nlohmann::json{{"name", "rate"}, {"number", 0.5}}));
}

}  // namespace
}  // namespace partita
