#include "runtime/comm/shared/stream_copy.h"

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace partita {

#ifdef __SSE2__
void StreamCopy(void* to, const void* from, int64_t bytes) {
  constexpr int64_t kLine = 64, kVector = sizeof(__m128i);
  auto* out = static_cast<char*>(to);
  const auto* in = static_cast<const char*>(from);
  // To the beginning of a line, then whole lines.
  const auto before = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(out) % kLine);
  const int64_t head = std::min(bytes, before), lines = (bytes - head) / kLine * kLine;
  std::memcpy(out, in, static_cast<size_t>(head));
  out += head;
  in += head;
  for (int64_t line = 0; line < lines; line += kLine) {
    for (int64_t place = line; place < line + kLine; place += kVector) {
      const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + place));
      _mm_stream_si128(reinterpret_cast<__m128i*>(out + place), values);
    }
  }
  _mm_sfence();  // before anybody is told that it is there
  std::memcpy(out + lines, in + lines, static_cast<size_t>(bytes - head - lines));
}
#else
void StreamCopy(void* to, const void* from, int64_t bytes) { std::memcpy(to, from, static_cast<size_t>(bytes)); }
#endif

}  // namespace partita
