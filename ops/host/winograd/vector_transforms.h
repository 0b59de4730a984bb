// The transforms of loops.h along one dimension, in vectors, for the file that includes this (vector_loops.h): of tiles
// of 2 and of 4 outputs, which the lengths of the arrays tell apart. PARTITA_VECTORS is their target, kLanes their
// floats.
//
// Not by target_clones: gcc 12 takes vectors apart before it clones, and before it inlines what has no target.
#ifndef PARTITA_OPS_HOST_WINOGRAD_VECTOR_TRANSFORMS_H_
#define PARTITA_OPS_HOST_WINOGRAD_VECTOR_TRANSFORMS_H_

#include <cstdint>

#define PARTITA_INLINED PARTITA_VECTORS inline __attribute__((always_inline))

namespace partita {
namespace {

typedef float Vector __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));
typedef int32_t Places __attribute__((vector_size(kLanes * sizeof(float))));

constexpr float kRoot = 1.41421356f;  // of 2

PARTITA_INLINED void TimesB(const Vector (&d)[4], Vector (&to)[4]) {
  to[0] = d[0] - d[2];
  to[1] = d[1] + d[2];
  to[2] = d[2] - d[1];
  to[3] = d[3] - d[1];
}

PARTITA_INLINED void TimesB(const Vector (&d)[6], Vector (&to)[6]) {
  const Vector near = d[4] - 2.0f * d[2], near_odd = d[3] - 2.0f * d[1];
  const Vector far = d[4] - 0.5f * d[2], far_odd = d[3] - 0.5f * d[1];
  to[0] = d[0] + d[4] - 2.5f * d[2];
  to[1] = near + 0.5f * kRoot * near_odd;
  to[2] = near - 0.5f * kRoot * near_odd;
  to[3] = far + kRoot * far_odd;
  to[4] = far - kRoot * far_odd;
  to[5] = d[1] + d[5] - 2.5f * d[3];
}

PARTITA_INLINED void TimesA(const Vector (&y)[2], Vector (&to)[4]) {
  to[0] = y[0];
  to[1] = y[0] + y[1];
  to[2] = y[0] - y[1];
  to[3] = y[1];
}

PARTITA_INLINED void TimesA(const Vector (&y)[4], Vector (&to)[6]) {
  const Vector near = y[0] + 0.5f * y[2], near_odd = y[1] + 0.5f * y[3];
  const Vector far = y[0] + 2.0f * y[2], far_odd = y[1] + 2.0f * y[3];
  to[0] = y[0];
  to[1] = near + 0.5f * kRoot * near_odd;
  to[2] = near - 0.5f * kRoot * near_odd;
  to[3] = far + kRoot * far_odd;
  to[4] = far - kRoot * far_odd;
  to[5] = y[3];
}

PARTITA_INLINED void TimesTransposedA(const Vector (&m)[4], Vector (&to)[2]) {
  to[0] = m[0] + (m[1] + m[2]);
  to[1] = m[3] + (m[1] - m[2]);
}

PARTITA_INLINED void TimesTransposedA(const Vector (&m)[6], Vector (&to)[4]) {
  const Vector near = m[1] + m[2], near_odd = 0.5f * kRoot * (m[1] - m[2]);
  const Vector far = m[3] + m[4], far_odd = kRoot * (m[3] - m[4]);
  to[0] = m[0] + (near + far);
  to[1] = near_odd + far_odd;
  to[2] = 0.5f * near + 2.0f * far;
  to[3] = m[5] + (0.5f * near_odd + 2.0f * far_odd);
}

PARTITA_INLINED void TimesG(const Vector (&g)[3], Vector (&to)[4]) {
  const Vector ends = (g[0] + g[2]) * 0.5f, middle = g[1] * 0.5f;
  to[0] = g[0];
  to[1] = ends + middle;
  to[2] = ends - middle;
  to[3] = g[2];
}

PARTITA_INLINED void TimesG(const Vector (&g)[3], Vector (&to)[6]) {
  const Vector near = (g[0] + 0.5f * g[2]) * (-2.0f / 3), far = (g[0] + 2.0f * g[2]) * (1.0f / 6);
  to[0] = g[0];
  to[1] = near - kRoot / 3 * g[1];
  to[2] = near + kRoot / 3 * g[1];
  to[3] = far + kRoot / 6 * g[1];
  to[4] = far - kRoot / 6 * g[1];
  to[5] = g[2];
}

PARTITA_INLINED void TimesTransposedG(const Vector (&m)[4], Vector (&to)[3]) {
  const Vector both = (m[1] + m[2]) * 0.5f;
  to[0] = m[0] + both;
  to[1] = (m[1] - m[2]) * 0.5f;
  to[2] = m[3] + both;
}

PARTITA_INLINED void TimesTransposedG(const Vector (&m)[6], Vector (&to)[3]) {
  const Vector near = (m[1] + m[2]) * (-2.0f / 3), far = (m[3] + m[4]) * (1.0f / 6);
  to[0] = m[0] + (near + far);
  to[1] = kRoot / 6 * (m[3] - m[4]) - kRoot / 3 * (m[1] - m[2]);
  to[2] = m[5] + (0.5f * near + 2.0f * far);
}

}  // namespace
}  // namespace partita

#endif  // PARTITA_OPS_HOST_WINOGRAD_VECTOR_TRANSFORMS_H_
