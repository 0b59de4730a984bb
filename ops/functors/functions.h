// Functions as mathematics has them: beyond what a type holds they are infinite, and outside of where they are defined
// NaN; so are their derivatives.
#ifndef PARTITA_OPS_FUNCTORS_FUNCTIONS_H_
#define PARTITA_OPS_FUNCTORS_FUNCTIONS_H_

#include <cmath>
#include <string>

#include "runtime/base/philox.h"

namespace partita {

struct Exp {
  static std::string Name() { return "exp"; }
  static constexpr bool kGradientReadsResult = true;
  static constexpr int kCost = 10;
  static constexpr double kDomain[2] = {-2, 2};
  static constexpr double kExamples[][2] = {{-2, 0.1353352832366127}, {0, 1}, {3, 20.085536923187668}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    using std::exp;
    return exp(x);
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T y) {
    return dy * y;
  }
};

// exp(x) - 1, with the digits of a small x.
struct Expm1 {
  static std::string Name() { return "expm1"; }
  static constexpr bool kGradientReadsResult = true;
  static constexpr int kCost = 10;
  static constexpr double kDomain[2] = {-2, 2};
  static constexpr double kExamples[][2] = {{-2, -0.8646647167633873}, {0, 0}, {0.001, 0.0010005001667083417}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return std::expm1(x);
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T y) {
    return dy * (y + T(1));
  }
};

// To the base e.
struct Log {
  static std::string Name() { return "log"; }
  static constexpr bool kGradientReadsResult = false;
  static constexpr int kCost = 10;
  static constexpr double kDomain[2] = {0.25, 4};
  static constexpr double kExamples[][2] = {{0.5, -0.69314718055994531}, {1, 0}, {20, 2.9957322735539909}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return std::log(x);
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T x) {
    return dy / x;
  }
};

// log(1 + x), with the digits of a small x.
struct Log1p {
  static std::string Name() { return "log1p"; }
  static constexpr bool kGradientReadsResult = false;
  static constexpr int kCost = 10;
  static constexpr double kDomain[2] = {-0.75, 3};
  static constexpr double kExamples[][2] = {{-0.5, -0.69314718055994531}, {0, 0}, {0.001, 0.00099950033308353317}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return std::log1p(x);
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T x) {
    return dy / (x + T(1));
  }
};

// The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
struct Erf {
  static std::string Name() { return "erf"; }
  static constexpr bool kGradientReadsResult = false;
  static constexpr int kCost = 20;
  static constexpr double kDomain[2] = {-2, 2};
  static constexpr double kExamples[][2] = {{-1, -0.84270079294971487}, {0, 0}, {0.5, 0.52049987781304654}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return std::erf(x);
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T x) {
    return dy * T(1.1283791670955125739) * std::exp(-x * x);  // 2 / sqrt(pi)
  }
};

// The largest whole number up to x.
struct Floor {
  static std::string Name() { return "floor"; }
  static constexpr int kCost = 1;
  static constexpr double kDomain[2] = {0.1, 0.9};
  static constexpr double kExamples[][2] = {{-1.5, -2}, {0, 0}, {2.75, 2}, {3, 3}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return std::floor(x);
  }
};

// The nearest whole number, of two equally near ones the even one.
struct Round {
  static std::string Name() { return "round"; }
  static constexpr int kCost = 1;
  static constexpr double kDomain[2] = {-0.4, 0.4};
  static constexpr double kExamples[][2] = {{-1.5, -2}, {0.5, 0}, {2.5, 2}, {2.75, 3}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return std::rint(x);
  }
};

// Of an angle in radians.
struct Sin {
  static std::string Name() { return "sin"; }
  static constexpr bool kGradientReadsResult = false;
  static constexpr int kCost = 10;
  static constexpr double kDomain[2] = {-4, 4};
  static constexpr double kExamples[][2] = {{0, 0}, {1, 0.8414709848078965}, {-2.5, -0.59847214410395644}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return std::sin(x);
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T x) {
    return dy * std::cos(x);
  }
};

struct Cos {
  static std::string Name() { return "cos"; }
  static constexpr bool kGradientReadsResult = false;
  static constexpr int kCost = 10;
  static constexpr double kDomain[2] = {-4, 4};
  static constexpr double kExamples[][2] = {{0, 1}, {1, 0.54030230586813977}, {-2.5, -0.80114361554693374}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return std::cos(x);
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T x) {
    return -dy * std::sin(x);
  }
};

// The angle in radians, of (-pi/2, pi/2), whose tangent x is.
struct Atan {
  static std::string Name() { return "atan"; }
  static constexpr bool kGradientReadsResult = false;
  static constexpr int kCost = 20;
  static constexpr double kDomain[2] = {-4, 4};
  static constexpr double kExamples[][2] = {{0, 0}, {1, 0.78539816339744831}, {-2.5, -1.1902899496825317}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return std::atan(x);
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T x) {
    return dy / (T(1) + x * x);
  }
};

struct Sqrt {
  static std::string Name() { return "sqrt"; }
  static constexpr bool kGradientReadsResult = true;
  static constexpr int kCost = 5;
  static constexpr double kDomain[2] = {0.25, 4};
  static constexpr double kExamples[][2] = {{0, 0}, {0.25, 0.5}, {2, 1.4142135623730951}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return std::sqrt(x);
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T y) {
    return dy / (T(2) * y);
  }
};

struct Square {
  static std::string Name() { return "square"; }
  static constexpr bool kGradientReadsResult = false;
  static constexpr int kCost = 1;
  static constexpr double kDomain[2] = {-2, 2};
  static constexpr double kExamples[][2] = {{-3, 9}, {0, 0}, {0.5, 0.25}};

  template <typename T>
  PARTITA_HOST_DEVICE static T Value(T x) {
    return x * x;
  }

  template <typename T>
  PARTITA_HOST_DEVICE static T Gradient(T dy, T x) {
    return T(2) * dy * x;
  }
};

}  // namespace partita

#endif  // PARTITA_OPS_FUNCTORS_FUNCTIONS_H_
