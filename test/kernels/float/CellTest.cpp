// Recurrent cells: accuracy against double, equal bits on all instruction sets, lengths, positions and in place.
#include "kernels/recurrent/Cell.h"

#include "Catch.h"
#include "kernels/float/FloatTest.h"

#include <cmath>

using namespace qfx::kernels;
using namespace qfx::test;

namespace {

constexpr CellKind kCellKinds[] = {CellKind::Lstm, CellKind::Gru, CellKind::RnnTanh, CellKind::RnnRelu};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// One unit in double.  \returns {h', c'}.
std::pair<double, double> exact(CellKind kind, const float *x, const float *h, double state, int64_t n) {
  auto gate = [&](int64_t i) { return double(x[i * n]) + h[i * n]; };
  switch (kind) {
  case CellKind::Lstm: {
    double c = sigmoid(gate(1)) * state + sigmoid(gate(0)) * std::tanh(gate(2));
    return {sigmoid(gate(3)) * std::tanh(c), c};
  }
  case CellKind::Gru: {
    double fresh = std::tanh(x[2 * n] + sigmoid(gate(0)) * h[2 * n]);
    return {(state - fresh) * sigmoid(gate(1)) + fresh, 0};
  }
  case CellKind::RnnTanh:
    return {std::tanh(gate(0)), 0};
  case CellKind::RnnRelu:
    return {std::max(gate(0), 0.0), 0};
  }
  return {};
}

struct Output {
  std::vector<float> hidden, cell;
};

/// Runs at `offset` floats into every array, in place or not.
Output run(CellFn fn, int64_t n, const std::vector<float> &x, const std::vector<float> &h,
           const std::vector<float> &state, int offset, bool inPlace) {
  auto shifted = [&](const std::vector<float> &v) {
    std::vector<float> moved(v.size() + static_cast<size_t>(offset));
    std::copy(v.begin(), v.end(), moved.begin() + offset);
    return moved;
  };
  std::vector<float> mx = shifted(x), mh = shifted(h), ms = shifted(state), cell = ms, dst(ms.size(), -7.0f);
  CellArgs args;
  args.input = mx.data() + offset;
  args.hidden = mh.data() + offset;
  args.state = inPlace ? cell.data() + offset : ms.data() + offset;
  args.cell = cell.data() + offset;
  args.dst = dst.data() + offset;
  fn(n, args);
  return {{dst.begin() + offset, dst.end()}, {cell.begin() + offset, cell.end()}};
}

} // namespace

TEST_CASE("cells follow their formulas", "[kernels][cell]") {
  Random random(5);
  for (CellKind kind : kCellKinds)
    for (int64_t n : {1, 7, 64}) {
      int64_t gates = getNumGates(kind);
      std::vector<float> x = random.floats(gates * n), h = random.floats(gates * n), state = random.floats(n, -2, 2);
      Output out = run(selectCell(kind), n, x, h, state, 0, false);
      for (int64_t i = 0; i < n; ++i) {
        auto [hidden, cell] = exact(kind, x.data() + i, h.data() + i, state[static_cast<size_t>(i)], n);
        CHECK(std::fabs(out.hidden[static_cast<size_t>(i)] - hidden) <= 2e-6 * std::max(1.0, std::fabs(hidden)));
        if (kind == CellKind::Lstm)
          CHECK(std::fabs(out.cell[static_cast<size_t>(i)] - cell) <= 2e-6 * std::max(1.0, std::fabs(cell)));
      }
    }
}

TEST_CASE("cells give equal bits on every instruction set", "[kernels][cell]") {
  for (CellKind kind : kCellKinds)
    for (int64_t n = 1; n <= 130; ++n) {
      int64_t gates = getNumGates(kind);
      uint64_t seed = static_cast<uint64_t>(n) * 8 + static_cast<uint64_t>(kind);
      std::vector<float> x = nastyFloats(gates * n, seed), h = nastyFloats(gates * n, seed + 1000),
                         state = nastyFloats(n, seed + 2000);
      Output oracle = run(selectCell(kind, Isa::Scalar), n, x, h, state, 0, false);
      for (Isa isa : vectorIsas())
        for (int offset : {0, 1, 3}) {
          Output out = run(selectCell(kind, isa), n, x, h, state, offset, offset == 1);
          REQUIRE(sameBits(out.hidden, oracle.hidden));
          REQUIRE(sameBits(out.cell, oracle.cell));
        }
    }
}
