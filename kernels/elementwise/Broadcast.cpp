// Plans and walks broadcasts.
#include "kernels/elementwise/Broadcast.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace qfx::kernels {

BroadcastPlan planBroadcast(int rank, const int64_t *sizes, const int64_t *aStrides, const int64_t *bStrides) {
  assert(rank >= 0 && rank <= kMaxBroadcastRank && "rank out of range");
  BroadcastPlan plan;
  plan.numElements = 1;
  for (int d = 0; d < rank; ++d) {
    plan.numElements *= sizes[d];
    if (sizes[d] == 1)
      continue;
    int last = plan.rank - 1;
    if (last >= 0 && plan.aStrides[last] == aStrides[d] * sizes[d] && plan.bStrides[last] == bStrides[d] * sizes[d]) {
      plan.sizes[last] *= sizes[d];
      plan.aStrides[last] = aStrides[d];
      plan.bStrides[last] = bStrides[d];
      continue;
    }
    plan.sizes[plan.rank] = sizes[d];
    plan.aStrides[plan.rank] = aStrides[d];
    plan.bStrides[plan.rank++] = bStrides[d];
  }
  if (plan.rank == 0) {
    plan.rank = 1;
    plan.sizes[0] = 1;
    plan.aStrides[0] = plan.bStrides[0] = 1;
  }
  return plan;
}

static constexpr int64_t kBufferBytes = 2048;

template <class T> static void gather(const char *src, int64_t strideElems, char *dst, int64_t n) {
  const T *s = reinterpret_cast<const T *>(src);
  T *d = reinterpret_cast<T *>(dst);
  for (int64_t i = 0; i < n; ++i)
    d[i] = s[i * strideElems];
}

static void gatherElems(int elemSize, const char *src, int64_t strideElems, char *dst, int64_t n) {
  switch (elemSize) {
  case 1:
    return gather<uint8_t>(src, strideElems, dst, n);
  case 2:
    return gather<uint16_t>(src, strideElems, dst, n);
  case 4:
    return gather<uint32_t>(src, strideElems, dst, n);
  default:
    return gather<uint64_t>(src, strideElems, dst, n);
  }
}

/// One row whose steps may be anything: strides other than 0 and 1 go through buffers.
static void runRow(int elemSize, const char *a, int64_t aStride, const char *b, int64_t bStride, char *dst, int64_t n,
                   BroadcastRowFn row, const void *context) {
  bool plainA = aStride == 0 || aStride == 1, plainB = bStride == 0 || bStride == 1;
  if (plainA && plainB)
    return row(a, static_cast<int>(aStride), b, static_cast<int>(bStride), dst, n, context);
  alignas(64) char bufferA[kBufferBytes], bufferB[kBufferBytes];
  int64_t chunk = kBufferBytes / elemSize;
  for (int64_t i = 0; i < n; i += chunk) {
    int64_t count = std::min(chunk, n - i);
    const char *rowA = a + i * aStride * elemSize, *rowB = b + i * bStride * elemSize;
    if (!plainA) {
      gatherElems(elemSize, rowA, aStride, bufferA, count);
      rowA = bufferA;
    }
    if (!plainB) {
      gatherElems(elemSize, rowB, bStride, bufferB, count);
      rowB = bufferB;
    }
    row(rowA, aStride != 0, rowB, bStride != 0, dst + i * elemSize, count, context);
  }
}

void runBroadcast(const BroadcastPlan &plan, int elemSize, int64_t begin, int64_t end, const void *a, const void *b,
                  void *dst, BroadcastRowFn row, const void *context) {
  assert((elemSize == 1 || elemSize == 2 || elemSize == 4 || elemSize == 8) && "element size");
  assert(begin >= 0 && end <= plan.numElements && "range out of the result");
  if (begin >= end)
    return;
  int inner = plan.rank - 1;
  int64_t index[kMaxBroadcastRank] = {}, rest = begin;
  for (int d = inner; d >= 0; --d) {
    index[d] = rest % plan.sizes[d];
    rest /= plan.sizes[d];
  }
  const char *pa = static_cast<const char *>(a), *pb = static_cast<const char *>(b);
  char *pd = static_cast<char *>(dst);
  while (begin < end) {
    int64_t offsetA = 0, offsetB = 0;
    for (int d = 0; d <= inner; ++d) {
      offsetA += index[d] * plan.aStrides[d];
      offsetB += index[d] * plan.bStrides[d];
    }
    int64_t count = std::min(plan.sizes[inner] - index[inner], end - begin);
    runRow(elemSize, pa + offsetA * elemSize, plan.aStrides[inner], pb + offsetB * elemSize, plan.bStrides[inner],
           pd + begin * elemSize, count, row, context);
    begin += count;
    index[inner] = 0;
    for (int d = inner - 1; d >= 0 && ++index[d] == plan.sizes[d]; --d)
      index[d] = 0;
  }
}

} // namespace qfx::kernels
