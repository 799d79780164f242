// Walks two operands with arbitrary strides beside a dense result, and hands long rows to a row function.
#ifndef KERNELS_ELEMENTWISE_BROADCAST_H
#define KERNELS_ELEMENTWISE_BROADCAST_H

#include <cstdint>

namespace qfx::kernels {

inline constexpr int kMaxBroadcastRank = 8;

/// The shape of a broadcast, dimensions merged where all operands allow; a plain value, made once per shape.
struct BroadcastPlan {
  int rank = 0; // >= 1 once made; the last dimension is the row
  int64_t sizes[kMaxBroadcastRank] = {};
  int64_t aStrides[kMaxBroadcastRank] = {}; // elements, 0 where a is repeated
  int64_t bStrides[kMaxBroadcastRank] = {};
  int64_t numElements = 0;
};

/// \param rank      0 .. kMaxBroadcastRank (asserted); 0 is one element.
/// \param sizes     result sizes, in the order of the result's storage (outermost first): the result is dense in it.
/// \param aStrides  elements per step of each dimension in a, 0 where a is broadcast; any sign.
/// \param bStrides  the same for b.  A unary walk passes a's twice.
BroadcastPlan planBroadcast(int rank, const int64_t *sizes, const int64_t *aStrides, const int64_t *bStrides);

/// Called for each row: n elements of a (step 0 or 1), of b (step 0 or 1) and of dst; `context` is the caller's.
using BroadcastRowFn = void (*)(const void *a, int aStep, const void *b, int bStep, void *dst, int64_t n,
                                const void *context);

/// Runs `row` over result elements [begin, end) in storage order; results do not depend on how the range is split.
/// Rows of other strides are gathered into a small buffer on the stack first.
/// \param elemSize  1, 2, 4 or 8 bytes, of a, b and dst alike.
/// \param dst       element 0 of the result; may equal a or b where that operand is dense and not repeated.
void runBroadcast(const BroadcastPlan &plan, int elemSize, int64_t begin, int64_t end, const void *a, const void *b,
                  void *dst, BroadcastRowFn row, const void *context);

} // namespace qfx::kernels

#endif // KERNELS_ELEMENTWISE_BROADCAST_H
