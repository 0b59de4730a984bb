// Sessions of one process each keep what their own ranks did last, once.
#include "run/job/flight_keeper.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "run/flight/flight_folder.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

std::vector<FlightRecord> RecordsOf(int rank) {
  return {
      {rank, 2, 123'456, "", {{0, {0, 1}}}, {{0, 1, "all_gather", 12, "f32", FlownOperation::State::kEnded, 1, 2}}}};
}

TEST(FlightKeeper, EachSessionHasItsFolder) {
  std::string root = ::testing::TempDir() + "/keeper.XXXXXX";
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  FlightKeeper first, second, none;
  first.KeepIn(root + "/first", NewRunName());
  second.KeepIn(root + "/second", NewRunName());
  none.Keep(RecordsOf(0), Internal("nobody asked for it"));
  second.Keep(RecordsOf(1), Unavailable("rank 0 is gone"));
  second.Keep(RecordsOf(1), Internal("the end that followed"));
  first.Keep(RecordsOf(0), Unavailable("rank 1 is gone"));
  const auto of_first = LoadFlightRun(root + "/first"), of_second = LoadFlightRun(root + "/second");
  ASSERT_TRUE(of_first.ok()) << of_first.status();
  ASSERT_TRUE(of_second.ok()) << of_second.status();
  EXPECT_EQ(of_first->records.at(0).fault, "rank 1 is gone");
  EXPECT_EQ(of_second->records.at(0).fault, "rank 0 is gone");
  EXPECT_EQ(of_second->records.at(0).rank, 1);
}

}  // namespace
}  // namespace partita
