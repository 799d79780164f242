// Output stages: worked numbers of the specification, overflow, NaN, and when stage Q must not be used.
#include "Catch.h"
#include "kernels/int8/Int8Cases.h"

#include <limits>

using namespace qfx::kernels;
using namespace qfx::test;

namespace {
constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

/// A requantization of one channel with these numbers.
RequantParams makeParams(int32_t zeroPoint, bool relu) {
  RequantParams params;
  params.zeroPoint = zeroPoint;
  params.low = relu ? zeroPoint : 0;
  return params;
}

/// Prepares `spec` for one channel whose weights sum to `weightSum`.
struct Prepared {
  Memory memory{getRequantBytes(1)};
  RequantParams params;
  Prepared(const RequantSpec &spec, int32_t weightSum) : params(prepareRequant(spec, &weightSum, memory.data())) {}
};

RequantSpec makeSpec(const double *weightScale) {
  RequantSpec spec;
  spec.channels = spec.depth = 1;
  spec.weightScale = weightScale;
  return spec;
}
} // namespace

TEST_CASE("known trap B101: bias addition and multiplication round separately", "[requant]") {
  // The accumulator, multiplier and bias of the trap: 2851 * m - 2.14f would be 3.5 if it were fused.
  volatile float separate = 2851.0f * 0.001978253247216344f;
  CHECK(roundClamp(separate - 2.14f, 0, 255) == 3);
  separate = 577.0f * 0.09305025637149811f;
  CHECK(roundClamp(separate + 1.81f, 0, 255) == 56);
}

TEST_CASE("rounding is half to even and saturates to the nearer bound", "[requant]") {
  CHECK(roundClamp(0.5f, -255, 255) == 0);
  CHECK(roundClamp(1.5f, -255, 255) == 2);
  CHECK(roundClamp(-0.5f, -255, 255) == 0);
  CHECK(roundClamp(-1.5f, -255, 255) == -2);
  CHECK(roundClamp(254.5f, -255, 255) == 254);
  CHECK(roundClamp(3e9f, -255, 255) == 255);
  CHECK(roundClamp(-3e9f, -255, 255) == -255);
  CHECK(roundClamp(kInf, -255, 255) == 255);
  CHECK(roundClamp(-kInf, -255, 255) == -255);
  CHECK(roundClamp(kNan, -255, 255) == -255);
}

TEST_CASE("relu is the lower clamp at the zero point", "[requant]") {
  CHECK(int(requantize(-10, 0, 1, makeParams(100, false))) == 90);
  CHECK(int(requantize(-10, 0, 1, makeParams(100, true))) == 100);
  CHECK(int(requantize(-1000, 0, 1, makeParams(100, false))) == 0);
  CHECK(int(requantize(1000, 0, 1, makeParams(100, true))) == 255);
}

TEST_CASE("stage F and stage Q as written in the specification", "[requant]") {
  double weightScale = 0.25;
  float bias = 0.7f;
  RequantSpec spec = makeSpec(&weightScale);
  spec.srcScale = 0.5;
  spec.srcZeroPoint = 3;
  spec.dstScale = 1;
  spec.bias = &bias;
  // s_x s_w = 0.125, so the bias is 5.6 steps: stage F keeps 5.6, stage Q rounds it to 6.
  Prepared f(spec, 7);
  CHECK(f.params.offset[0] == -21);
  CHECK(f.params.bias[0] == 0.7f * 8.0f);
  CHECK(f.params.multiplier[0] == 0.125f);
  spec.stage = OutputStage::Q;
  Prepared q(spec, 7);
  CHECK(q.params.offset[0] == -21 + 6);
  CHECK(q.params.bias[0] == 0.0f);
  CHECK(q.params.multiplier[0] == 0.125f);
  // 9 accumulated: (9 + 5.6) / 8 = 1.825
  CHECK(int(requantize(9, f.params.bias[0], f.params.multiplier[0], f.params)) == 2);
}

TEST_CASE("known trap B55: a bias that does not fit int32 keeps stage F", "[requant]") {
  double weightScale = 1e-9 / 127.5;
  float bias = 5;
  RequantSpec spec = makeSpec(&weightScale);
  spec.srcScale = 1 / 255.0;
  spec.dstScale = 0.04;
  spec.bias = &bias;
  bool badMultiplier = true;
  CHECK_FALSE(canUseStageQ(spec, badMultiplier));
  CHECK_FALSE(badMultiplier);
  weightScale = 0.01;
  CHECK(canUseStageQ(spec, badMultiplier));
  spec.dstScale = kInf;
  CHECK_FALSE(canUseStageQ(spec, badMultiplier));
  CHECK(badMultiplier);
}

TEST_CASE("exact32 is dropped exactly when an int32 sum could overflow", "[requant]") {
  double weightScale = 0.01;
  RequantSpec spec = makeSpec(&weightScale);
  spec.depth = 65793; // 65793 * 255 * 128 = 2147483520
  CHECK(Prepared(spec, 0).params.exact32);
  spec.depth = 65794;
  CHECK_FALSE(Prepared(spec, 0).params.exact32);
  spec.depth = 10;
  int32_t zeroPoint = 1;
  spec.weightZeroPoint = &zeroPoint;
  CHECK_FALSE(Prepared(spec, 0).params.exact32);
}
