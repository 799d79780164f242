// Selects transposes; copies between arbitrary strides.
#include "kernels/layout/LayoutDetail.h"
#include "kernels/simd/Select.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace qfx::kernels {

static constexpr IsaRow<TransposeKernels> kRows[] = {
#define QFX_TRANSPOSE_TABLE(IsaName, Table) {Isa::IsaName, &Table},
#include "kernels/layout/TransposeKernels.def"
};

const TransposeKernels &selectTranspose(Isa isa) { return selectLast(kRows, isa); }

template <class T>
void channelsToInner(const TransposeKernels &kernels, const T *src, T *dst, int64_t channels, int64_t positions,
                     int64_t begin, int64_t end) {
  for (int64_t n = begin; n < end; ++n) {
    const T *s = src + n * channels * positions;
    T *d = dst + n * channels * positions;
    if (channels == 1 || positions == 1)
      std::memcpy(d, s, static_cast<size_t>(channels * positions) * sizeof(T));
    else if constexpr (sizeof(T) == 1)
      kernels.transpose8(reinterpret_cast<const uint8_t *>(s), positions, reinterpret_cast<uint8_t *>(d), channels,
                         channels, positions);
    else
      kernels.transpose32(reinterpret_cast<const uint32_t *>(s), positions, reinterpret_cast<uint32_t *>(d), channels,
                          channels, positions);
  }
}

template void channelsToInner(const TransposeKernels &, const float *, float *, int64_t, int64_t, int64_t, int64_t);
template void channelsToInner(const TransposeKernels &, const uint8_t *, uint8_t *, int64_t, int64_t, int64_t, int64_t);
template void channelsToInner(const TransposeKernels &, const int8_t *, int8_t *, int64_t, int64_t, int64_t, int64_t);

namespace {
struct CopyDim {
  int64_t size, src, dst; // strides in elements
};
struct Element16 {
  uint64_t half[2];
};
} // namespace

template <class T> static void copyDims(const CopyDim *dims, int rank, const T *src, T *dst) {
  const CopyDim &dim = dims[0];
  if (rank > 1) {
    for (int64_t i = 0; i < dim.size; ++i)
      copyDims(dims + 1, rank - 1, src + i * dim.src, dst + i * dim.dst);
    return;
  }
  if (dim.src == 1 && dim.dst == 1)
    std::memcpy(dst, src, static_cast<size_t>(dim.size) * sizeof(T));
  else if (dim.dst == 1 && dim.src == 0)
    std::fill_n(dst, dim.size, *src);
  else
    for (int64_t i = 0; i < dim.size; ++i)
      dst[i * dim.dst] = src[i * dim.src];
}

template <class T> static void copyTyped(const CopyDim *dims, int rank, const void *src, void *dst) {
  if constexpr (sizeof(T) == 1 || sizeof(T) == 4) {
    // a crosswise pair of innermost dimensions is a transpose
    const TransposeKernels &kernels = selectTranspose();
    if (rank >= 2 && dims[rank - 1].dst == 1 && dims[rank - 2].src == 1 && dims[rank - 1].src > 1) {
      const CopyDim rows = dims[rank - 1], cols = dims[rank - 2];
      int64_t index[kMaxCopyRank] = {};
      for (;;) {
        int64_t s = 0, d = 0;
        for (int k = 0; k < rank - 2; ++k) {
          s += index[k] * dims[k].src;
          d += index[k] * dims[k].dst;
        }
        const T *from = static_cast<const T *>(src) + s;
        T *to = static_cast<T *>(dst) + d;
        if constexpr (sizeof(T) == 1)
          kernels.transpose8(from, rows.src, to, cols.dst, rows.size, cols.size);
        else
          kernels.transpose32(from, rows.src, to, cols.dst, rows.size, cols.size);
        int k = rank - 3;
        for (; k >= 0 && ++index[k] == dims[k].size; --k)
          index[k] = 0;
        if (k < 0)
          return;
      }
    }
  }
  copyDims(dims, rank, static_cast<const T *>(src), static_cast<T *>(dst));
}

void copyStrided(int rank, const int64_t *sizes, int elemSizeBytes, const void *src, const int64_t *srcStrides,
                 void *dst, const int64_t *dstStrides) {
  assert(rank >= 0 && rank <= kMaxCopyRank && "rank out of range");
  CopyDim dims[kMaxCopyRank + 1];
  int count = 0;
  for (int d = 0; d < rank; ++d) {
    if (sizes[d] == 0)
      return;
    if (sizes[d] != 1)
      dims[count++] = {sizes[d], srcStrides[d], dstStrides[d]};
  }
  // widest step of the destination outermost: it is written in order
  std::stable_sort(dims, dims + count,
                   [](const CopyDim &a, const CopyDim &b) { return std::abs(a.dst) > std::abs(b.dst); });
  int merged = 0;
  for (int d = 0; d < count; ++d) {
    CopyDim *last = merged ? &dims[merged - 1] : nullptr;
    if (last && last->src == dims[d].src * dims[d].size && last->dst == dims[d].dst * dims[d].size)
      *last = {last->size * dims[d].size, dims[d].src, dims[d].dst};
    else
      dims[merged++] = dims[d];
  }
  if (merged == 0)
    dims[merged++] = {1, 1, 1};
  switch (elemSizeBytes) {
  case 1:
    return copyTyped<uint8_t>(dims, merged, src, dst);
  case 2:
    return copyTyped<uint16_t>(dims, merged, src, dst);
  case 4:
    return copyTyped<uint32_t>(dims, merged, src, dst);
  case 8:
    return copyTyped<uint64_t>(dims, merged, src, dst);
  default:
    assert(elemSizeBytes == 16 && "element size");
    return copyTyped<Element16>(dims, merged, src, dst);
  }
}

void copyRows(int64_t rows, int64_t rowBytes, const void *src, int64_t srcStrideBytes, void *dst,
              int64_t dstStrideBytes) {
  const char *s = static_cast<const char *>(src);
  char *d = static_cast<char *>(dst);
  for (int64_t r = 0; r < rows; ++r)
    std::memcpy(d + r * dstStrideBytes, s + r * srcStrideBytes, static_cast<size_t>(rowBytes));
}

template <class T> static void fillTyped(void *dst, int64_t n, const void *value) {
  T element;
  std::memcpy(&element, value, sizeof(T));
  std::fill_n(static_cast<T *>(dst), n, element);
}

void fillElements(void *dst, int elemSizeBytes, int64_t n, const void *value) {
  switch (elemSizeBytes) {
  case 1:
    return fillTyped<uint8_t>(dst, n, value);
  case 2:
    return fillTyped<uint16_t>(dst, n, value);
  case 4:
    return fillTyped<uint32_t>(dst, n, value);
  default:
    assert(elemSizeBytes == 8 && "element size");
    return fillTyped<uint64_t>(dst, n, value);
  }
}

} // namespace qfx::kernels
