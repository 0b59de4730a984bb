// Exported programs of which one number, name or entry was changed are read or refused; nothing crashes, and nothing is
// read beyond its end (the sanitizers say so).
#include <gtest/gtest.h>
#include <minizip/zip.h>

#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "importer/import_model.h"
#include "importer/program/zip_members.h"
#include "ops/registry.h"
#include "runtime/base/status.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

using Json = nlohmann::json;

struct Archive {
  std::map<std::string, std::string> members;
  std::string program;  // the name of that with the JSON
};

absl::StatusOr<Archive> Read(const std::string& path) {
  Archive archive;
  ASSIGN_OR_RETURN(const auto members, MembersOfZip(path));
  for (const auto& [name, member] : members) {
    ASSIGN_OR_RETURN(archive.members[name], ReadMember(path, name, member, 1 << 26));
    if (name.ends_with("models/model.json")) archive.program = name;
  }
  return archive;
}

void Write(const Archive& archive, const std::string& path) {
  zipFile file = zipOpen(path.c_str(), APPEND_STATUS_CREATE);
  for (const auto& [name, bytes] : archive.members) {
    const zip_fileinfo info{};
    zipOpenNewFileInZip(file, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0, 0);
    zipWriteInFileInZip(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    zipCloseFileInZip(file);
  }
  zipClose(file, nullptr);
}

// Places of all values of the graph but what says where it comes from.
void Collect(const Json& json, const Json::json_pointer& at, std::vector<Json::json_pointer>& places) {
  places.push_back(at);
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      if (key != "metadata") Collect(value, at / key, places);
    }
  } else if (json.is_array()) {
    for (size_t i = 0; i < json.size(); ++i) Collect(json[i], at / i, places);
  }
}

Json Changed(const Json& value, std::mt19937& random) {
  constexpr int64_t kNumbers[] = {
      -1, 0, 1, 3, 1 << 20, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  if (value.is_number_integer()) return kNumbers[random() % std::size(kNumbers)];
  if (value.is_string()) return random() % 2 == 0 ? Json("") : Json("x");
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_array() && !value.empty()) {
    Json shorter = value;
    random() % 2 == 0 ? shorter.erase(random() % value.size()) : shorter.push_back(value[random() % value.size()]);
    return shorter;
  }
  if (value.is_object() && !value.empty()) {
    Json smaller = value;
    smaller.erase(std::next(smaller.begin(), static_cast<int64_t>(random() % value.size())));
    return smaller;
  }
  return Json();
}

class MutatedPrograms : public ::testing::TestWithParam<const char*> {};

TEST_P(MutatedPrograms, AreReadOrRefused) {
  ASSERT_OK_AND_ASSIGN(const Archive whole, Read(std::string("tests/importer/models/") + GetParam() + ".pt2"));
  const Json program = Json::parse(whole.members.at(whole.program));
  std::vector<Json::json_pointer> places;
  const Json::json_pointer graph("/graph_module/graph");
  Collect(program.at(graph), graph, places);
  std::mt19937 random(7);
  const std::string path = ::testing::TempDir() + "/mutated.pt2";
  int read = 0, refused = 0;
  for (int i = 0; i < 200; ++i) {
    Json mutated = program;
    Json& value = mutated.at(places[random() % places.size()]);
    value = Changed(value, random);
    Archive archive = whole;
    archive.members[whole.program] = mutated.dump();
    Write(archive, path);
    const auto imported = ImportModel(path, Ops());
    ++(imported.ok() ? read : refused);
    if (!imported.ok()) {
      EXPECT_NE(imported.status().message().find(path), std::string::npos) << imported.status();
    }
  }
  EXPECT_GT(read, 10);
  EXPECT_GT(refused, 50);
}

// Time grows with the file, not with its square, by which this test would not end in time.
TEST(LargePrograms, HaveValuesThatNothingReads) {
  ASSERT_OK_AND_ASSIGN(Archive archive, Read("tests/importer/models/language.pt2"));
  Json program = Json::parse(archive.members.at(archive.program));
  Json& values = program.at(Json::json_pointer("/graph_module/graph/tensor_values"));
  const Json scalar = {
      {"dtype", 7}, {"sizes", Json::array()}, {"strides", Json::array()}, {"storage_offset", {{"as_int", 0}}}};
  for (int i = 0; i < 400'000; ++i) values["unused" + std::to_string(i)] = scalar;
  archive.members[archive.program] = program.dump();
  const std::string path = ::testing::TempDir() + "/large.pt2";
  Write(archive, path);
  EXPECT_OK(ImportModel(path, Ops()).status());
}

INSTANTIATE_TEST_SUITE_P(Models, MutatedPrograms,
                         ::testing::Values("masked", "sizes", "statistics", "windows", "language", "functions/chosen",
                                           "functions/batch", "functions/numbers"));

}  // namespace
}  // namespace partita
