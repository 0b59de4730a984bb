#include "runtime/telemetry/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/base/files.h"

namespace partita {
namespace {

using ::testing::StartsWith;
using Json = nlohmann::json;

std::string Written(const std::vector<TraceRank>& ranks, const std::vector<std::string>& names) {
  const std::string path = ::testing::TempDir() + "/trace_" + std::to_string(::getpid()) + ".json";
  const absl::Status status = WriteChromeTrace(path, ranks, names);
  EXPECT_TRUE(status.ok()) << status;
  const std::string text = ReadFile(path, 1 << 28).value();
  ::unlink(path.c_str());
  return text;
}

TEST(Trace, BytesOfASmallOne) {
  const std::vector<TraceRank> ranks = {
      {0, {{"compute", "node", {{0, 1'000'500, 2'001}, {1, 1'003'000, 7}}}, {"communication", "move", {}}}},
      {1, {{"compute", "node", {{0, 1'000'000, 999}}}}}};
  EXPECT_EQ(Written(ranks, {"conv1", "relu1"}), R"({"displayTimeUnit":"ms","traceEvents":[
{"name":"process_name","ph":"M","pid":0,"tid":0,"args":{"name":"rank 0"}},
{"name":"process_sort_index","ph":"M","pid":0,"tid":0,"args":{"sort_index":0}},
{"name":"thread_name","ph":"M","pid":0,"tid":0,"args":{"name":"compute"}},
{"name":"conv1","cat":"node","ph":"X","ts":0.500,"dur":2.001,"pid":0,"tid":0},
{"name":"relu1","cat":"node","ph":"X","ts":3.000,"dur":0.007,"pid":0,"tid":0},
{"name":"thread_name","ph":"M","pid":0,"tid":1,"args":{"name":"communication"}},
{"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"rank 1"}},
{"name":"process_sort_index","ph":"M","pid":1,"tid":0,"args":{"sort_index":1}},
{"name":"thread_name","ph":"M","pid":1,"tid":0,"args":{"name":"compute"}},
{"name":"conv1","cat":"node","ph":"X","ts":0.000,"dur":0.999,"pid":1,"tid":0}
]}
)");
}

TEST(Trace, SpansOfAStreamAreInOrderAndOuterFirst) {
  const Json json = Json::parse(Written({{0, {{"s", "c", {{0, 50, 1}, {1, 0, 10}, {2, 0, 100}}}}}}, {"c", "b", "a"}));
  std::string order;
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] == "X") order += event["name"];
  }
  EXPECT_EQ(order, "abc");
}

TEST(Trace, AnyNameIsValidJson) {
  const std::string odd("quote \" back\\ \n \xff \xc3\xa4 \0 end", 27);
  const Json json = Json::parse(Written({{0, {{odd, odd, {{0, 1, 1}}}}}}, {odd}));
  EXPECT_THAT(json["traceEvents"].back()["name"].get<std::string>(), StartsWith("quote \" back\\ \n "));
}

TEST(Trace, NothingIsATraceToo) {
  EXPECT_TRUE(Json::parse(Written({}, {}))["traceEvents"].empty());
  EXPECT_EQ(Json::parse(Written({{3, {}}}, {}))["traceEvents"].size(), 2u);
}

TEST(Trace, ManySpans) {
  std::vector<TraceSpan> spans;
  for (int i = 0; i < 100'000; ++i) spans.push_back({0, int64_t{1} << 60 | i * 1000, 900});
  const Json json = Json::parse(Written({{0, {{"s", "c", spans}}}}, {"n"}));
  EXPECT_EQ(json["traceEvents"].size(), 100'003u);
  EXPECT_EQ(json["traceEvents"].back()["ts"], 99'999.0);
}

TEST(Trace, FailureNamesThePath) {
  EXPECT_THAT(std::string(WriteChromeTrace("/no/such/t.json", {}, {}).message()), StartsWith("/no/such/t.json: "));
}

}  // namespace
}  // namespace partita
