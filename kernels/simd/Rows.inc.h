// Runs a lambda over rows of elements in batches; a short last batch goes through a padded buffer, so every element
// meets the same instructions whatever its position.  Included by tiles only.
#ifndef KERNELS_SIMD_ROWS_INC_H
#define KERNELS_SIMD_ROWS_INC_H

#include <cstdint>

namespace qfx::kernels {
namespace {

/// Copies `n` elements without calling memcpy's machinery for tiny counts.
template <class T> inline void copyFew(T *dst, const T *src, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    dst[i] = src[i];
}

/// dst[i] = fn(src[i]) for f32; src may equal dst.
template <class Ops, class Fn> inline void mapRow(const float *src, float *dst, int64_t n, Fn fn) {
  constexpr int N = Ops::N;
  int64_t i = 0;
  for (; i + N <= n; i += N)
    Ops::store(dst + i, fn(Ops::load(src + i)));
  if (N > 1 && i < n) {
    float buffer[N] = {};
    copyFew(buffer, src + i, n - i);
    Ops::store(buffer, fn(Ops::load(buffer)));
    copyFew(dst + i, buffer, n - i);
  }
}

/// dst[i] = fn(a[i], b[i]); a step of 0 repeats the first element.  dst may equal either source.
template <class Ops, class Fn>
inline void zipRow(const float *a, int aStep, const float *b, int bStep, float *dst, int64_t n, Fn fn) {
  constexpr int N = Ops::N;
  if (n <= 0)
    return;
  auto fixedA = Ops::set(*a), fixedB = Ops::set(*b);
  int64_t i = 0;
  if (aStep && bStep) {
    for (; i + N <= n; i += N)
      Ops::store(dst + i, fn(Ops::load(a + i), Ops::load(b + i)));
  } else if (aStep) {
    for (; i + N <= n; i += N)
      Ops::store(dst + i, fn(Ops::load(a + i), fixedB));
  } else {
    for (; i + N <= n; i += N)
      Ops::store(dst + i, fn(fixedA, bStep ? Ops::load(b + i) : fixedB));
  }
  if (N > 1 && i < n) {
    float bufferA[N] = {}, bufferB[N] = {};
    if (aStep)
      copyFew(bufferA, a + i, n - i);
    if (bStep)
      copyFew(bufferB, b + i, n - i);
    auto va = aStep ? Ops::load(bufferA) : fixedA;
    auto vb = bStep ? Ops::load(bufferB) : fixedB;
    Ops::store(bufferA, fn(va, vb));
    copyFew(dst + i, bufferA, n - i);
  }
}

/// dst[i] = fn(src[i]), f32 to 8-bit codes; fn gives int32 lanes within T's range.
template <class Ops, class T, class Fn> inline void floatToCodeRow(const float *src, T *dst, int64_t n, Fn fn) {
  constexpr int N = Ops::N;
  auto block = [&](const float *s, T *d) {
    Ops::storeCodes4(d, fn(Ops::load(s)), fn(Ops::load(s + N)), fn(Ops::load(s + 2 * N)), fn(Ops::load(s + 3 * N)));
  };
  int64_t i = 0;
  for (; i + 4 * N <= n; i += 4 * N)
    block(src + i, dst + i);
  if (i < n) {
    float in[4 * N] = {};
    T out[4 * N];
    copyFew(in, src + i, n - i);
    block(in, out);
    copyFew(dst + i, out, n - i);
  }
}

/// dst[i] = fn(src[i]), 8-bit codes to f32.
template <class Ops, class T, class Fn> inline void codeToFloatRow(const T *src, float *dst, int64_t n, Fn fn) {
  constexpr int N = Ops::N;
  int64_t i = 0;
  for (; i + N <= n; i += N)
    Ops::store(dst + i, fn(Ops::loadCodes(src + i)));
  if (i < n) {
    T in[N] = {};
    float out[N];
    copyFew(in, src + i, n - i);
    Ops::store(out, fn(Ops::loadCodes(in)));
    copyFew(dst + i, out, n - i);
  }
}

/// dst[i] = fn(src[i]), codes to codes of the same type; src may equal dst.
template <class Ops, class T, class Fn> inline void mapCodeRow(const T *src, T *dst, int64_t n, Fn fn) {
  constexpr int N = Ops::N;
  auto block = [&](const T *s, T *d) {
    Ops::storeCodes4(d, fn(Ops::loadCodes(s)), fn(Ops::loadCodes(s + N)), fn(Ops::loadCodes(s + 2 * N)),
                     fn(Ops::loadCodes(s + 3 * N)));
  };
  int64_t i = 0;
  for (; i + 4 * N <= n; i += 4 * N)
    block(src + i, dst + i);
  if (i < n) {
    T buffer[4 * N] = {};
    copyFew(buffer, src + i, n - i);
    block(buffer, buffer);
    copyFew(dst + i, buffer, n - i);
  }
}

/// dst[i] = fn(a[i], b[i]), codes to codes; a step of 0 repeats the first element.  dst may equal either source.
template <class Ops, class T, class Fn>
inline void zipCodeRow(const T *a, int aStep, const T *b, int bStep, T *dst, int64_t n, Fn fn) {
  constexpr int N = Ops::N;
  if (n <= 0)
    return;
  T repeatA[4 * N], repeatB[4 * N]; // a repeated operand becomes a block that is read again and again
  for (int j = 0; j < 4 * N; ++j) {
    repeatA[j] = *a;
    repeatB[j] = *b;
  }
  auto block = [&](const T *x, const T *y, T *d) {
    Ops::storeCodes4(d, fn(Ops::loadCodes(x), Ops::loadCodes(y)), fn(Ops::loadCodes(x + N), Ops::loadCodes(y + N)),
                     fn(Ops::loadCodes(x + 2 * N), Ops::loadCodes(y + 2 * N)),
                     fn(Ops::loadCodes(x + 3 * N), Ops::loadCodes(y + 3 * N)));
  };
  int64_t i = 0;
  for (; i + 4 * N <= n; i += 4 * N)
    block(aStep ? a + i : repeatA, bStep ? b + i : repeatB, dst + i);
  if (i < n) {
    T out[4 * N];
    if (aStep)
      copyFew(repeatA, a + i, n - i);
    if (bStep)
      copyFew(repeatB, b + i, n - i);
    block(repeatA, repeatB, out);
    copyFew(dst + i, out, n - i);
  }
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_SIMD_ROWS_INC_H
