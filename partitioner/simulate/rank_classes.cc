#include "partitioner/simulate/rank_classes.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace partita {
namespace {

using Signature = std::vector<int64_t>;

// A colour for each different signature, in the order in which they first appear.
std::vector<int> ColoursOf(const std::vector<Signature>& signatures) {
  std::map<Signature, int> known;
  std::vector<int> colours;
  colours.reserve(signatures.size());
  for (const Signature& signature : signatures) {
    colours.push_back(known.try_emplace(signature, static_cast<int>(known.size())).first->second);
  }
  return colours;
}

void Add(const Link& link, Signature& signature) {
  signature.push_back(static_cast<int64_t>(link.fabric));
  signature.push_back(std::bit_cast<int64_t>(link.bytes_per_second));
  signature.push_back(std::bit_cast<int64_t>(link.latency_seconds));
  signature.push_back(link.channels);
}

class Refinement {
 public:
  Refinement(const Program& program, const GroupTable& table, const Cluster& cluster, const std::vector<int>& work)
      : program_(program), table_(table), cluster_(cluster), ranks_(work) {
    for (size_t rank = 0; rank < work.size(); ++rank) paths_.push_back(DomainsOf(cluster, static_cast<int>(rank)));
    for (const CommunicationGroup& group : program.groups) left_.push_back(DomainsLeftBy(cluster, group.ranks));
    domains_ = ColoursOfLinks();
    groups_.assign(program.groups.size(), 0);
  }

  RankClasses Run() {
    for (size_t before = 0, now = 1; before != now;) {
      before = Count();
      Refine();
      now = Count();
    }
    return Classes();
  }

 private:
  static size_t Different(const std::vector<int>& colours) {
    return std::set<int>(colours.begin(), colours.end()).size();
  }
  size_t Count() const { return Different(ranks_) + Different(groups_) + Different(domains_); }

  std::vector<int> ColoursOfLinks() const {
    std::vector<Signature> signatures;
    for (const Domain& domain : cluster_.domains) {
      Signature& signature = signatures.emplace_back();
      Add(domain.within, signature);
      Add(domain.up, signature);
    }
    return ColoursOf(signatures);
  }

  void Refine() {
    std::vector<Signature> groups, ranks, domains;
    for (size_t g = 0; g < groups_.size(); ++g) groups.push_back(OfGroup(static_cast<int>(g)));
    groups_ = ColoursOf(groups);
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) ranks.push_back(OfRank(rank));
    for (const int domain : domains_) domains.push_back({domain});
    for (size_t g = 0; g < groups_.size(); ++g) {
      for (const int domain : left_[g]) domains[domain].push_back(groups_[g]);
    }
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
      if (IsSlowedByOthers(rank)) domains[cluster_.devices[rank].domain].push_back(-1 - ranks_[rank]);
    }
    for (Signature& signature : domains) std::sort(signature.begin() + 1, signature.end());
    ranks_ = ColoursOf(ranks);
    domains_ = ColoursOf(domains);
  }

  // By those on its cores, as far as they compute.
  bool IsSlowedByOthers(int rank) const { return !cluster_.KindOf(rank).slowdown.empty(); }

  // Its members, and how they lie over domains, which are numbered as they first appear.
  Signature OfGroup(int group) const {
    Signature signature = {table_.KeyOf(group)};
    std::map<int, int64_t> numbers;
    for (const int rank : program_.groups[group].ranks) {
      signature.push_back(ranks_[rank]);
      signature.push_back(static_cast<int64_t>(paths_[rank].size()));
      for (const int domain : paths_[rank]) {
        signature.push_back(numbers.try_emplace(domain, static_cast<int64_t>(numbers.size())).first->second);
        signature.push_back(domains_[domain]);
      }
    }
    return signature;
  }

  Signature OfRank(int rank) const {
    Signature signature = {ranks_[rank]};
    for (int key = 0; key < table_.keys(); ++key) {
      const int group = table_.GroupOf(key, rank);
      signature.push_back(group < 0 ? -1 : groups_[group]);
    }
    if (IsSlowedByOthers(rank)) signature.push_back(domains_[cluster_.devices[rank].domain]);
    return signature;
  }

  // Colours are numbered as they first appear.
  RankClasses Classes() const {
    RankClasses classes;
    classes.of_rank = ranks_;
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank] == static_cast<int>(classes.first.size())) classes.first.push_back(static_cast<int>(rank));
    }
    for (size_t g = 0; g < groups_.size(); ++g) AddGroup(g, classes.groups);
    for (const int first : classes.first) {
      std::vector<int>& own = classes.group_of.emplace_back();
      for (int key = 0; key < table_.keys(); ++key) {
        const int group = table_.GroupOf(key, first);
        own.push_back(group < 0 ? -1 : groups_[group]);
      }
    }
    return classes;
  }

  void AddGroup(size_t group, std::vector<GroupClass>& classes) const {
    if (groups_[group] == static_cast<int>(classes.size())) {
      GroupClass& added = classes.emplace_back();
      added.ranks = program_.groups[group].ranks;
      for (const int rank : added.ranks) added.classes.push_back(ranks_[rank]);
      std::ranges::sort(added.classes);
      added.classes.erase(std::unique(added.classes.begin(), added.classes.end()), added.classes.end());
      added.crossings.assign(cluster_.domains.size(), 0);
      added.left = left_[group];
    }
    for (const int domain : left_[group]) ++classes[groups_[group]].crossings[domain];
  }

  const Program& program_;
  const GroupTable& table_;
  const Cluster& cluster_;
  std::vector<std::vector<int>> paths_;        // by rank: its domains
  std::vector<std::vector<int>> left_;         // by group: the domains that it leaves
  std::vector<int> ranks_, groups_, domains_;  // their colours
};

}  // namespace

RankClasses ClassesOf(const Program& program, const GroupTable& groups, const Cluster& cluster,
                      const std::vector<int>& work) {
  return Refinement(program, groups, cluster, work).Run();
}

}  // namespace partita
