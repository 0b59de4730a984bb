// Small graphs with random costs, whole numbers so that sums are exact, and every plan that they have.
#ifndef PARTITA_TESTS_PARTITIONER_SEARCH_RANDOM_TABLES_H_
#define PARTITA_TESTS_PARTITIONER_SEARCH_RANDOM_TABLES_H_

#include <functional>
#include <random>
#include <vector>

#include "partitioner/search/elimination/cost_tables.h"

namespace partita {

// Up to `most_ops` ops with up to `most_configs` configs; edges between any two, some twice; some configs impossible.
CostTables RandomTables(std::mt19937& random, int most_ops, int most_configs);

// Tries all plans. Seconds: kNever where none fits.
Cost BruteForce(const CostTables& tables, double bytes);

}  // namespace partita

#endif  // PARTITA_TESTS_PARTITIONER_SEARCH_RANDOM_TABLES_H_
