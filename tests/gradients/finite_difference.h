// Derivatives of a scalar function by differences, for checking gradients in f64.
#ifndef PARTITA_TESTS_GRADIENTS_FINITE_DIFFERENCE_H_
#define PARTITA_TESTS_GRADIENTS_FINITE_DIFFERENCE_H_

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace partita {

inline constexpr double kGradientTolerance = 1e-7;  // of the largest derivative of the input

// Of f at 0, to fourth order: (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h. Its error is h^4 of the fifth derivative,
// and rounding / h: about 1e-12 of f.
template <typename Function>
double Derivative(const Function& f) {
  constexpr double h = 1e-3;
  return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
}

// The elements to check of a tensor with this number of elements: all, or `most` of them, drawn by seed.
inline std::vector<size_t> Sampled(size_t elements, size_t most, uint64_t seed) {
  std::vector<size_t> places(elements);
  for (size_t i = 0; i < elements; ++i) places[i] = i;
  if (elements <= most) return places;
  std::mt19937_64 generator(seed);
  for (size_t i = 0; i < most; ++i) std::swap(places[i], places[i + generator() % (elements - i)]);
  places.resize(most);
  return places;
}

inline double Inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

inline double Largest(const std::vector<double>& values) {
  double largest = 0;
  for (double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// Which elements a relu has cut to zero: if that changes between two places, a kink lies between them.
inline std::vector<bool> Zeros(const std::vector<double>& values) {
  std::vector<bool> zeros;
  for (double value : values) zeros.push_back(value == 0);
  return zeros;
}

}  // namespace partita

#endif  // PARTITA_TESTS_GRADIENTS_FINITE_DIFFERENCE_H_
