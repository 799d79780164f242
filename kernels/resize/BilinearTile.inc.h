// One output pixel of bilinear resizing, and its table.
#ifndef KERNELS_RESIZE_BILINEARTILE_INC_H
#define KERNELS_RESIZE_BILINEARTILE_INC_H

#include "kernels/quantize/CodeRounder.inc.h"
#include "kernels/quantize/QParams.h"
#include "kernels/resize/BilinearDetail.h"
#include "kernels/simd/Rows.inc.h"

namespace qfx::kernels {
namespace {

template <class Ops, class T>
void bilinearPixel(const BilinearPixels<T> &src, int64_t channels, int32_t zeroPoint, T *dst) {
  constexpr int N = Ops::N, B = 4 * N;
  using F = typename Ops::F;
  const F h0 = Ops::set(src.h0), h1 = Ops::set(src.h1), w0 = Ops::set(src.w0), w1 = Ops::set(src.w1);
  const F zero = Ops::set(static_cast<float>(zeroPoint));
  const CodeRounder<Ops> round(CodeRange<T>::lo, CodeRange<T>::hi, 0);
  auto batch = [&](const T *a, const T *b, const T *c, const T *d) {
    F top = w0 * Ops::toFloat(Ops::loadCodes(a)) + w1 * Ops::toFloat(Ops::loadCodes(b));
    F bottom = w0 * Ops::toFloat(Ops::loadCodes(c)) + w1 * Ops::toFloat(Ops::loadCodes(d));
    return round((h0 * top + h1 * bottom - zero) + zero);
  };
  auto block = [&](const T *a, const T *b, const T *c, const T *d, T *out) {
    Ops::storeCodes4(out, batch(a, b, c, d), batch(a + N, b + N, c + N, d + N),
                     batch(a + 2 * N, b + 2 * N, c + 2 * N, d + 2 * N),
                     batch(a + 3 * N, b + 3 * N, c + 3 * N, d + 3 * N));
  };
  int64_t i = 0;
  for (; i + B <= channels; i += B)
    block(src.p00 + i, src.p01 + i, src.p10 + i, src.p11 + i, dst + i);
  if (i < channels) {
    T a[B] = {}, b[B] = {}, c[B] = {}, d[B] = {}, out[B];
    copyFew(a, src.p00 + i, channels - i);
    copyFew(b, src.p01 + i, channels - i);
    copyFew(c, src.p10 + i, channels - i);
    copyFew(d, src.p11 + i, channels - i);
    block(a, b, c, d, out);
    copyFew(dst + i, out, channels - i);
  }
}

template <class Ops> constexpr BilinearKernels makeBilinearKernels() {
  return {&bilinearPixel<Ops, uint8_t>, &bilinearPixel<Ops, int8_t>};
}

} // namespace
} // namespace qfx::kernels

#endif // KERNELS_RESIZE_BILINEARTILE_INC_H
