// Float binary functions and broadcasting.
#include "kernels/elementwise/Binary.h"
#include "kernels/elementwise/Broadcast.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

#include <algorithm>
#include <cmath>

using namespace qfx::kernels;
using namespace qfx::test;

static float exactBinary(BinaryKind kind, float a, float b) {
  switch (kind) {
  case BinaryKind::Add:
    return a + b;
  case BinaryKind::Sub:
    return a - b;
  case BinaryKind::Mul:
    return a * b;
  case BinaryKind::Div:
    return a / b;
  case BinaryKind::Minimum:
    return std::isnan(a) || std::isnan(b) ? NAN : a < b ? a : b;
  case BinaryKind::Maximum:
    return std::isnan(a) || std::isnan(b) ? NAN : a > b ? a : b;
  }
  return 0;
}

TEST_CASE("binary rows follow IEEE and agree on all instruction sets", "[float][binary]") {
  std::vector<Isa> isas = vectorIsas();
  isas.push_back(Isa::Scalar);
  for (Isa isa : isas)
    for (int k = 0; k < kNumBinaryKinds; ++k)
      for (int steps = 0; steps < 4; ++steps) {
        auto kind = static_cast<BinaryKind>(k);
        std::vector<float> a = nastyFloats(200, 11 + k), b = nastyFloats(200, 29 + k);
        bool same = true;
        for (int n = 1; n <= 130; ++n) {
          int sa = steps & 1, sb = steps >> 1, shift = n % 7;
          std::vector<float> want(n), got(n);
          BinaryParams params;
          if (n % 3 == 0)
            params = {0.5f, 0.0f, 6.0f};
          for (int i = 0; i < n; ++i) {
            float y = exactBinary(kind, a[shift + i * sa], params.alpha * b[shift + i * sb]);
            want[i] = std::isnan(y) ? y : std::min(std::max(y, params.lo), params.hi);
          }
          selectBinary(kind, isa)(a.data() + shift, sa, b.data() + shift, sb, got.data(), n, params);
          for (int i = 0; i < n; ++i)
            same = same && (got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])));
        }
        INFO(getIsaName(isa) << " kind " << k << " steps " << steps);
        CHECK(same);
      }
}

static void addRow(const void *a, int aStep, const void *b, int bStep, void *dst, int64_t n, const void *context) {
  selectBinary(BinaryKind::Sub)(static_cast<const float *>(a), aStep, static_cast<const float *>(b), bStep,
                                static_cast<float *>(dst), n, *static_cast<const BinaryParams *>(context));
}

TEST_CASE("broadcast walks any strides, in any split", "[float][broadcast]") {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    int rank = static_cast<int>(random.below(5));
    int64_t sizes[5], aStrides[5], bStrides[5], total = 1, aSpan = 1, bSpan = 1;
    for (int d = rank - 1; d >= 0; --d) {
      sizes[d] = 1 + random.below(5);
      total *= sizes[d];
      bool repeatA = random.below(3) == 0, repeatB = random.below(3) == 0;
      int64_t gap = 1 + random.below(2);
      aStrides[d] = repeatA ? 0 : aSpan;
      bStrides[d] = repeatB ? 0 : bSpan * gap;
      aSpan *= repeatA ? 1 : sizes[d];
      bSpan *= repeatB ? 1 : sizes[d] * gap;
    }
    std::vector<float> a = random.floats(aSpan + 1), b = random.floats(bSpan + 1), want(total), got(total);
    for (int64_t i = 0; i < total; ++i) {
      int64_t rest = i, oa = 0, ob = 0;
      for (int d = rank - 1; d >= 0; --d) {
        oa += rest % sizes[d] * aStrides[d];
        ob += rest % sizes[d] * bStrides[d];
        rest /= sizes[d];
      }
      want[i] = a[oa] - b[ob];
    }
    BroadcastPlan plan = planBroadcast(rank, sizes, aStrides, bStrides);
    REQUIRE(plan.numElements == total);
    BinaryParams params;
    int64_t cut = random.below(total + 1);
    runBroadcast(plan, 4, 0, cut, a.data(), b.data(), got.data(), &addRow, &params);
    runBroadcast(plan, 4, cut, total, a.data(), b.data(), got.data(), &addRow, &params);
    CHECK(sameBits(want, got));
  }
}

TEST_CASE("broadcast merges dimensions and handles nothing at all", "[float][broadcast]") {
  int64_t sizes[] = {2, 3, 4}, dense[] = {12, 4, 1}, perRow[] = {3, 1, 0}, empty[] = {2, 0, 4};
  CHECK(planBroadcast(3, sizes, dense, dense).rank == 1);
  CHECK(planBroadcast(3, sizes, dense, perRow).rank == 2);
  CHECK(planBroadcast(3, empty, dense, dense).numElements == 0);
  CHECK(planBroadcast(0, sizes, dense, dense).numElements == 1);
}
