#include "run/job/launcher.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "tools/program/exit_code.h"

namespace partita {
namespace {

using Variables = std::map<std::string, std::string>;

Environment EnvironmentOf(const Variables& variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

absl::StatusOr<std::optional<JobPlace>> Find(
    const Variables& variables, const NamePause& pause = [](const std::string&) { return false; }) {
  return FindPlace(EnvironmentOf(variables), pause);
}

// Rank 3 of 4, the second of its machine.
std::vector<Variables> OfEachLauncher() {
  return {
      {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}},
      {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}},
      {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}},
      {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"PMI_LOCAL_RANK", "1"}},
      {{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "1"}, {"SLURM_STEP_ID", "0"}},
  };
}

TEST(Launcher, NobodyIsThere) {
  EXPECT_FALSE((*Find({})).has_value());
  // A batch script outside of a step is one process, whatever the job has been given.
  EXPECT_FALSE((*Find({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}})).has_value());
}

TEST(Launcher, UnderstandsEach) {
  for (const Variables& variables : OfEachLauncher()) {
    const auto place = Find(variables);
    ASSERT_TRUE(place.ok() && place->has_value());
    EXPECT_EQ((*place)->rank, 3);
    EXPECT_EQ((*place)->ranks, 4);
    EXPECT_EQ((*place)->local_rank, 1);
    EXPECT_EQ((*place)->address, "127.0.0.1");
    EXPECT_EQ((*place)->port, 29500);
  }
  const auto pod = Find({{"PET_NNODES", "2"}, {"PET_NODE_RANK", "1"}, {"PET_MASTER_PORT", "23456"}});
  EXPECT_EQ((*pod)->rank, 1);
  EXPECT_EQ((*pod)->ranks, 2);
  EXPECT_EQ((*pod)->port, 23456);
  EXPECT_EQ((*pod)->launcher, "Kubernetes");
}

std::optional<int> Local(const Variables& variables) { return LocalRank(EnvironmentOf(variables)); }

// A GPU for each process of a machine.
TEST(Launcher, SaysTheLocalRank) {
  for (const Variables& variables : OfEachLauncher()) EXPECT_EQ(Local(variables), 1);
  EXPECT_EQ(Local({{"LOCAL_RANK", "2"}}), 2);
  // srun --mpi=pmi2 sets the rank of MPICH as well, but not its local rank.
  Variables pmi2 = {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}};
  EXPECT_EQ(Local(pmi2), std::nullopt);
  pmi2.insert({{"SLURM_LOCALID", "1"}, {"SLURM_STEP_ID", "0"}});
  EXPECT_EQ(Local(pmi2), 1);
  for (const char* text : {"-1", "one", "100000"}) EXPECT_EQ(Local({{"LOCAL_RANK", text}}), std::nullopt) << text;
  EXPECT_EQ(Local({}), std::nullopt);
  EXPECT_EQ(Local({{"SLURM_LOCALID", "1"}}), std::nullopt) << "outside of a step it is the batch script's";
}

TEST(Launcher, KeepsOutOfTheWayOfTorchrunsAgent) {
  const auto place = Find({{"RANK", "0"},
                           {"WORLD_SIZE", "1"},
                           {"LOCAL_RANK", "0"},
                           {"MASTER_ADDR", "localhost"},
                           {"MASTER_PORT", "29400"},
                           {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                           // torchrun's own place among the nodes
                           {"PET_NNODES", "2"},
                           {"PET_NODE_RANK", "1"}});
  ASSERT_TRUE(place.ok());
  EXPECT_EQ((*place)->port, 29401);
  EXPECT_EQ((*place)->address, "127.0.0.1");
}

// Whether this machine has an interface of IPv6.
bool HasIpv6() {
  const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool bound = fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  if (fd >= 0) close(fd);
  return bound;
}

TEST(Launcher, KnowsAddressesOfBothFamilies) {
  const struct {
    const char *given, *address;
    int port;
  } cases[] = {{"127.0.0.1", "127.0.0.1", 29500}, {"localhost", "127.0.0.1", 29500}, {"::1", "::1", 29500},
               {"[::1]", "::1", 29500},           {"[::1]:1234", "::1", 1234},       {"0:0:0:0:0:0:0:1", "::1", 29500}};
  for (const auto& [given, address, port] : cases) {
    if (std::string(address) == "::1" && !HasIpv6()) continue;
    const auto place = Find({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}, {"MASTER_ADDR", given}});
    ASSERT_TRUE(place.ok()) << given << ": " << place.status();
    EXPECT_EQ((*place)->address, address) << given;
    EXPECT_EQ((*place)->interface_address, address) << given;
    EXPECT_EQ((*place)->port, port) << given;
  }
}

TEST(Launcher, OursCountsAlone) {
  const auto place = Find({{"RANK", "1"},
                           {"WORLD_SIZE", "2"},
                           {"LOCAL_RANK", "1"},
                           {kLauncherVariable, "trainer launch"},
                           {"SLURM_STEP_ID", "0"},
                           {"SLURM_PROCID", "0"},
                           {"SLURM_NTASKS", "1"}});
  ASSERT_TRUE(place.ok());
  EXPECT_EQ((*place)->rank, 1);
  EXPECT_EQ((*place)->launcher, "trainer launch");
}

TEST(Launcher, RefusesWhatCannotBe) {
  const std::pair<Variables, std::string> cases[] = {
      {{{"RANK", "one"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}, "RANK is 'one'"},
      {{{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}, "must be below"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "0"}, {"LOCAL_RANK", "0"}}, "WORLD_SIZE is '0'"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}, {"MASTER_PORT", "70000"}}, "MASTER_PORT is '70000'"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}, {"MASTER_ADDR", "203.0.113.1"}}, kTokenVariable},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}, {"MASTER_ADDR", "2001:db8::1"}}, kTokenVariable},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}, {"MASTER_ADDR", "[::1]x"}},
       "MASTER_ADDR is '[::1]x'; expected HOST"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}, {"MASTER_ADDR", "[::1]:0"}},
       "MASTER_ADDR is '[::1]:0'; expected HOST"},
      {{{"RANK", "0"},
        {"WORLD_SIZE", "2"},
        {"LOCAL_RANK", "0"},
        {"OMPI_COMM_WORLD_RANK", "1"},
        {"OMPI_COMM_WORLD_SIZE", "2"}},
       "torchrun say rank 0 of 2, those of mpirun (Open MPI) rank 1 of 2"},
      {{{"WORLD_SIZE", "2"}}, "WORLD_SIZE is '2' and RANK is not set"},
      {{{"RANK", "0"}}, "RANK is '0' and WORLD_SIZE is not set"},
  };
  for (const auto& [variables, words] : cases) {
    const absl::Status status = Find(variables).status();
    EXPECT_EQ(ToExitCode(status), kExitFlags);
    EXPECT_NE(std::string(status.message()).find(words), std::string::npos) << status;
  }
}

TEST(Launcher, LooksUpANameAgainAfterEachPause) {
  const Variables variables = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "rank-0.invalid"}};
  std::vector<std::string> hosts;
  const absl::Status status = Find(variables, [&](const std::string& host) {
                                hosts.push_back(host);
                                return hosts.size() < 3;
                              }).status();
  EXPECT_EQ(ToExitCode(status), kExitUnavailable);
  EXPECT_EQ(ToExitCode(Find(variables).status()), kExitFlags);
  EXPECT_NE(std::string(status.message()).find("MASTER_ADDR is 'rank-0.invalid'"), std::string::npos) << status;
  EXPECT_EQ(hosts, std::vector<std::string>(3, "rank-0.invalid"));
}

// A link-local address without its interface: to start again would not help.
TEST(Launcher, AnAddressThatNoInterfaceReachesIsNoLostPeer) {
  const absl::Status status = Find({{"RANK", "1"},
                                    {"WORLD_SIZE", "2"},
                                    {"LOCAL_RANK", "1"},
                                    {"MASTER_ADDR", "fe80::1"},
                                    {kTokenVariable, std::string(32, 't')}})
                                  .status();
  EXPECT_EQ(ToExitCode(status), kExitFiles);
  EXPECT_NE(std::string(status.message())
                .find("no interface of this machine reaches rank 0 at fe80::1; a link-local "
                      "address needs the interface behind it, as fe80::1%eth0"),
            std::string::npos)
      << status;
}

}  // namespace
}  // namespace partita
