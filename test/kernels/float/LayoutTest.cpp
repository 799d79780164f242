// Transposes and strided copies against index arithmetic.
#include "kernels/layout/Layout.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

#include <algorithm>
#include <numeric>

using namespace qfx::kernels;
using namespace qfx::test;

TEST_CASE("transposes around the tile", "[float][layout]") {
  std::vector<Isa> isas = vectorIsas();
  isas.push_back(Isa::Scalar);
  for (Isa isa : isas)
    for (int rows : {1, 7, 8, 9, 16, 17, 33})
      for (int cols : {1, 3, 8, 15, 16, 31, 40}) {
        Random random(rows * 100 + cols);
        const int srcStride = cols + 1, dstStride = rows + 2;
        std::vector<uint8_t> a = random.codes<uint8_t>(rows * srcStride), b(cols * dstStride);
        std::vector<uint32_t> c(rows * srcStride), d(cols * dstStride);
        std::iota(c.begin(), c.end(), 5u);
        selectTranspose(isa).transpose8(a.data(), srcStride, b.data(), dstStride, rows, cols);
        selectTranspose(isa).transpose32(c.data(), srcStride, d.data(), dstStride, rows, cols);
        bool same = true;
        for (int i = 0; i < rows; ++i)
          for (int j = 0; j < cols; ++j)
            same = same && b[j * dstStride + i] == a[i * srcStride + j] && d[j * dstStride + i] == c[i * srcStride + j];
        for (int j = 0; j < cols; ++j)
          same = same && b[j * dstStride + rows] == 0 && d[j * dstStride + rows] == 0;
        INFO(getIsaName(isa) << " " << rows << "x" << cols);
        CHECK(same);
      }
}

TEST_CASE("channels move inwards and back", "[float][layout]") {
  Random random(3);
  std::vector<float> nchw = random.floats(2 * 5 * 12), nhwc(nchw.size()), back(nchw.size());
  channelsToInner(selectTranspose(), nchw.data(), nhwc.data(), 5, 12, 0, 1);
  channelsToInner(selectTranspose(), nchw.data(), nhwc.data(), 5, 12, 1, 2);
  CHECK(nhwc[(1 * 12 + 7) * 5 + 3] == nchw[(1 * 5 + 3) * 12 + 7]);
  channelsToInner(selectTranspose(), nhwc.data(), back.data(), 12, 5, 0, 2);
  CHECK((back == nchw));
}

template <class T> static void checkCopies(uint64_t seed) {
  Random random(seed);
  const int rank = static_cast<int>(random.below(6));
  int64_t sizes[6], srcStrides[6], dstStrides[6], order[6], total = 1;
  for (int d = 0; d < rank; ++d) {
    sizes[d] = 1 + random.below(6);
    total *= sizes[d];
    order[d] = d;
  }
  // dense source in one random order of dimensions, destination in another; some source dimensions repeated or reversed
  int64_t span = 1, start = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (int d = rank - 1; d > 0; --d)
      std::swap(order[d], order[random.below(d + 1)]);
    int64_t *strides = pass ? dstStrides : srcStrides;
    int64_t step = 1;
    for (int i = 0; i < rank; ++i) {
      int64_t d = order[i];
      strides[d] = step;
      step *= sizes[d];
      if (!pass && random.below(5) == 0) {
        strides[d] = -strides[d];
        start += (sizes[d] - 1) * -strides[d];
      } else if (!pass && random.below(5) == 0)
        strides[d] = 0;
    }
    if (!pass)
      span = step;
  }
  std::vector<T> src(span), want(total), got(total);
  for (int64_t i = 0; i < span; ++i)
    std::memset(&src[i], static_cast<int>(random.bits()), sizeof(T));
  for (int64_t i = 0; i < total; ++i) {
    int64_t rest = i, s = start, t = 0;
    for (int d = rank - 1; d >= 0; --d) {
      s += rest % sizes[d] * srcStrides[d];
      t += rest % sizes[d] * dstStrides[d];
      rest /= sizes[d];
    }
    want[t] = src[s];
  }
  copyStrided(rank, sizes, sizeof(T), src.data() + start, srcStrides, got.data(), dstStrides);
  CHECK(std::memcmp(want.data(), got.data(), static_cast<size_t>(total) * sizeof(T)) == 0);
}

namespace {
struct Wide {
  uint64_t a, b;
};
} // namespace

TEMPLATE_TEST_CASE("strided copies of any order and sign", "[float][layout]", uint8_t, uint16_t, uint32_t, uint64_t,
                   Wide) {
  for (uint64_t seed = 0; seed < 200; ++seed)
    checkCopies<TestType>(seed);
}

TEST_CASE("rows and fills", "[float][layout]") {
  const uint8_t src[] = {1, 2, 3, 4, 5, 6};
  uint8_t dst[8] = {};
  copyRows(2, 2, src + 1, 3, dst, 4);
  CHECK((std::vector<uint8_t>(dst, dst + 8) == std::vector<uint8_t>{2, 3, 0, 0, 5, 6, 0, 0}));
  float value = 1.5f, filled[3];
  fillElements(filled, 4, 3, &value);
  CHECK(filled[2] == 1.5f);
  int64_t none[] = {3, 0}, strides[] = {0, 0};
  copyStrided(2, none, 4, nullptr, strides, nullptr, strides); // nothing to do
}
