#include "partitioner/search/placement_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "partitioner/search/placement/activity_order.h"
#include "partitioner/search/placement/heft.h"
#include "partitioner/search/placement/placement_blocks.h"

namespace partita {
namespace {

constexpr double kAll = std::numeric_limits<double>::infinity();

PlacementGraph Graph(const std::vector<double>& seconds, const std::vector<PlacedEdge>& edges) {
  PlacementGraph graph{{}, edges};
  for (const double one : seconds) graph.ops.push_back({"op" + std::to_string(graph.ops.size()), one, 1, -1});
  return graph;
}

// Every order in which activities can be started, each at the earliest; no branch but those that are already too late
// is left out.
class AllOrders {
 public:
  explicit AllOrders(const Activities& activities, double than)
      : all_(activities.all), end_(all_.size(), -1), free_(activities.resources, 0), best_(than) {}

  double Best() {
    Descend(0, 0);
    return best_;
  }

 private:
  void Descend(size_t started, double last) {
    if (last >= best_) return;
    if (started == all_.size()) best_ = last;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (end_[i] >= 0) continue;
      double start = free_[all_[i].resource];
      bool ready = true;
      for (const int before : all_[i].before) {
        ready = ready && end_[before] >= 0;
        start = std::max(start, end_[before]);
      }
      if (!ready) continue;
      const double free = free_[all_[i].resource];
      free_[all_[i].resource] = end_[i] = start + all_[i].seconds;
      Descend(started + 1, std::max(last, end_[i]));
      free_[all_[i].resource] = free;
      end_[i] = -1;
    }
  }

  const std::vector<Activity>& all_;
  std::vector<double> end_, free_;
  double best_;
};

bool KeepsTogether(const PlacementGraph& graph, const std::vector<int>& device) {
  for (size_t a = 0; a < device.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      if (graph.ops[a].together >= 0 && graph.ops[a].together == graph.ops[b].together && device[a] != device[b])
        return false;
    }
  }
  return true;
}

double BruteForce(const PlacementGraph& graph, int devices, double bytes) {
  double best = kAll;
  std::vector<int> device(graph.ops.size(), 0);
  for (;;) {
    if (KeepsTogether(graph, device) && FullestBytes(graph, device, devices) <= bytes)
      best = AllOrders(ActivitiesOf(graph, device, devices), best).Best();
    size_t op = 0;
    for (; op < device.size() && ++device[op] == devices; ++op) device[op] = 0;
    if (op == device.size()) return best;
  }
}

// Ends the latest; fails where two things overlap on a device or something starts before what it reads.
double Replay(const PlacementGraph& graph, const OpPlacement& placement) {
  double end = 0;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    end = std::max(end, placement.start[op] + graph.ops[op].seconds);
    for (size_t other = 0; other < op; ++other) {
      if (placement.device[op] != placement.device[other]) continue;
      EXPECT_TRUE(placement.start[other] + graph.ops[other].seconds <= placement.start[op] ||
                  placement.start[op] + graph.ops[op].seconds <= placement.start[other]);
    }
  }
  for (const PlacedEdge& edge : graph.edges) {
    const double transfer = placement.device[edge.from] == placement.device[edge.to] ? 0 : edge.seconds;
    EXPECT_LE(placement.start[edge.from] + graph.ops[edge.from].seconds + transfer, placement.start[edge.to]);
  }
  return end;
}

// What an op gives to several, or what several give to one, as one value.
void Share(bool forward, std::vector<PlacedEdge>& edges) {
  std::map<int, double> seconds;
  for (PlacedEdge& edge : edges) {
    edge.value = forward ? edge.from : edge.to;
    edge.seconds = seconds.emplace(edge.value, edge.seconds).first->second;
  }
}

PlacementGraph RandomGraph(std::mt19937& random, bool together) {
  const int ops = 2 + static_cast<int>(random() % 5);
  std::vector<double> seconds;
  for (int op = 0; op < ops; ++op) seconds.push_back(static_cast<double>(random() % 7));
  std::vector<PlacedEdge> edges;
  for (int to = 1; to < ops; ++to) {
    for (int from = 0; from < to; ++from) {
      if (random() % 5 < 2) edges.push_back({from, to, static_cast<double>(random() % 4)});
    }
  }
  if (const auto share = random() % 3; share > 0) Share(share == 1, edges);
  PlacementGraph graph = Graph(seconds, edges);
  for (PlacedOp& op : graph.ops) {
    op.bytes = static_cast<double>(random() % 5);
    if (together && random() % 3 == 0) op.together = static_cast<int>(random() % 2);
  }
  return graph;
}

void ExpectEqualsBruteForce(bool limited) {
  std::mt19937 random(limited ? 12 : 11);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    const PlacementGraph graph = RandomGraph(random, i % 2 == 1);
    const int devices = i % 10 == 0 ? 3 : 2;
    const double bytes = limited ? static_cast<double>(3 + random() % 6) : kAll;
    const double best = BruteForce(graph, devices, bytes);
    const auto answer = PlacementSearch(graph, {devices, bytes});
    ASSERT_EQ(answer.ok(), best < kAll) << i << ": " << answer.status();
    if (!answer.ok() && ++refused) continue;
    EXPECT_EQ(answer->seconds, best) << i;
    EXPECT_EQ(answer->lower_bound, best) << i;
    EXPECT_EQ(Replay(graph, answer->plan), best) << i;
    EXPECT_LE(answer->bytes, bytes);
    EXPECT_TRUE(KeepsTogether(graph, answer->plan.device));
  }
  EXPECT_EQ(refused > 0, limited);
  EXPECT_LT(refused, 400);
}

TEST(PlacementSearch, EqualsBruteForceOnRandomGraphs) { ExpectEqualsBruteForce(false); }

TEST(PlacementSearch, EqualsBruteForceUnderALimitOfMemory) { ExpectEqualsBruteForce(true); }

double Seconds(const PlacementGraph& graph, double bytes = kAll) {
  const auto answer = PlacementSearch(graph, {2, bytes});
  EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->Gap(), 0);
  return answer->seconds;
}

PlacementGraph Diamond(double transfer) {
  PlacementGraph graph = Graph({2, 4, 4, 2}, {{0, 1, transfer}, {0, 2, transfer}, {1, 3, transfer}, {2, 3, transfer}});
  for (const int op : {1, 2}) graph.ops[op].bytes = 3;
  return graph;
}

TEST(PlacementSearch, ValuesThatSeveralReadAreSentOnce) {
  PlacementGraph graph = Graph({1, 4, 2, 2}, {{0, 1, 3, 7}, {0, 2, 3, 7}, {0, 3, 3, 7}});
  for (PlacedEdge& edge : graph.edges) edge.seconds = 1;
  EXPECT_EQ(Seconds(graph), 6) << "op2 and op3 begin at 2";
  for (PlacedEdge& edge : graph.edges) edge.value = -1;
  EXPECT_EQ(Seconds(graph), 6);
  const auto sends = [&](int value) {
    for (PlacedEdge& edge : graph.edges) edge.value = value;
    return ActivitiesOf(graph, {0, 0, 1, 1}, 2).all.size() - graph.ops.size();
  };
  EXPECT_EQ(sends(-1), 2U);
  EXPECT_EQ(sends(7), 1U);
}

TEST(PlacementSearch, Diamond) {
  EXPECT_EQ(SerialSeconds(Diamond(1)), 12);
  EXPECT_EQ(Seconds(Diamond(1)), 9);
  EXPECT_EQ(Seconds(Diamond(3)), 11);
  EXPECT_EQ(Seconds(Diamond(1), 4), 9);
  PlacementGraph graph = Diamond(1);
  graph.ops[0].together = graph.ops[3].together = 5;
  EXPECT_EQ(Seconds(graph), 10);
  EXPECT_EQ(PlacementSearch(Diamond(1), {2, 3.5}).status().message(),
            "there is no placement of 4 ops of together 8 bytes on 2 devices of 3.5 each");
}

PlacementGraph Inception(double transfer) {
  PlacementGraph graph = Graph({1, 3, 5, 6, 2, 1}, {});
  for (const int branch : {1, 2, 3, 4}) {
    graph.edges.push_back({0, branch, transfer});
    graph.edges.push_back({branch, 5, transfer});
  }
  return graph;
}

TEST(PlacementSearch, FourBranches) {
  EXPECT_EQ(Seconds(Inception(0)), 10);
  EXPECT_EQ(Seconds(Inception(1)), 11);
}

// Six blocks of four branches, each of two ops, between joints: 60 ops.
PlacementGraph Blocks() {
  PlacementGraph graph = Graph({1}, {});
  for (int block = 0; block < 6; ++block) {
    const int joint = static_cast<int>(graph.ops.size()) - 1;
    for (int branch = 0; branch < 4; ++branch) {
      const int op = static_cast<int>(graph.ops.size());
      for (const double seconds : {2.0 + branch, 3.0 - 0.5 * branch}) graph.ops.push_back({"branch", seconds, 1, -1});
      graph.edges.push_back({joint, op, 0.5});
      graph.edges.push_back({op, op + 1, 0.5});
    }
    graph.ops.push_back({"joint", 1, 1, -1});
    for (int branch = 0; branch < 4; ++branch) graph.edges.push_back({joint + 2 * branch + 2, joint + 9, 0.5});
  }
  return graph;
}

TEST(PlacementSearch, BlocksAreSummed) {
  const PlacementGraph graph = Blocks();
  EXPECT_EQ(PlacementBlocks(graph).size(), 6);
  const auto answer = PlacementSearch(graph, {2, kAll});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->Gap(), 0) << "proven";
  EXPECT_EQ(Replay(graph, answer->plan), answer->seconds);
  const auto one = PlacementSearch(PartOf(graph, PlacementBlocks(graph)[0]), {2, kAll});
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(answer->seconds, 6 * (one->seconds - 1) + 1);
  ASSERT_FALSE(answer->rejected.empty());
  EXPECT_GE(answer->rejected[0].seconds, answer->seconds);
}

TEST(PlacementSearch, TellsTheGapWhereItCannotProve) {
  const PlacementGraph graph = Blocks();
  const auto heft = HeftDevices(graph, 3, kAll);
  ASSERT_TRUE(heft.has_value());
  const auto answer = PlacementSearch(graph, {3, kAll, 20});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_GT(answer->Gap(), 0);
  EXPECT_LE(answer->lower_bound, PlacementSearch(graph, {3, kAll})->seconds);
  EXPECT_LE(answer->seconds, ListOrder(ActivitiesOf(graph, *heft, 3)).end);
}

TEST(PlacementBlocks, NoBorderWhereATransferPassesBy) {
  const std::vector<PlacedEdge> chain = {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}};
  EXPECT_EQ(PlacementBlocks(Graph({1, 1, 1, 1}, chain)).size(), 3);
  std::vector<PlacedEdge> past = chain;
  past.push_back({0, 2, 1});
  EXPECT_EQ(PlacementBlocks(Graph({1, 1, 1, 1}, past)).size(), 2);
  PlacementGraph together = Graph({1, 1, 1, 1}, chain);
  together.ops[1].together = together.ops[3].together = 0;
  EXPECT_EQ(PlacementBlocks(together).size(), 2);
}

TEST(PlacementSearch, RefusesWhatIsNoGraph) {
  EXPECT_EQ(PlacementSearch(Graph({1, 1}, {{1, 0, 1}}), {2, kAll}).status().message(),
            "an edge goes from op 1 to op 0: of 2 ops each stands after those that it reads");
  EXPECT_EQ(PlacementSearch(Graph({1, -1}, {}), {2, kAll}).status().message(),
            "op 'op1' takes -1 seconds and 1 bytes: both are finite and not below zero");
  EXPECT_EQ(PlacementSearch(Graph({1}, {}), {0, kAll}).status().message(),
            "1 ops on 0 devices: at least one of both is needed");
}

}  // namespace
}  // namespace partita
