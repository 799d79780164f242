// Strided copies, split over threads along the longer of the two outer dimensions.
#include "backends/runtime/CopyStep.h"

#include "kernels/layout/Layout.h"

#include <cassert>

namespace qfx::runtime {

void copyElements(llvm::ArrayRef<int64_t> sizes, int64_t elemBytes, const void *src, llvm::ArrayRef<int64_t> srcStrides,
                  void *dst, llvm::ArrayRef<int64_t> dstStrides) {
  kernels::copyStrided(static_cast<int>(sizes.size()), sizes.data(), static_cast<int>(elemBytes), src,
                       srcStrides.data(), dst, dstStrides.data());
}

void runCopy(RunContext &run, const View &src, const View &dst) {
  assert(src.sizes == dst.sizes && src.getElemBytes() == dst.getElemBytes() && "copies keep sizes and element size");
  int64_t bytes = src.getElemBytes();
  if (src.getRank() < 2)
    return copyElements(src.sizes, bytes, src.getBytes(), src.strides, dst.getBytes(), dst.strides);
  size_t dim = src.sizes[0] >= src.sizes[1] ? 0 : 1;
  int64_t elements = src.getNumElements();
  int64_t grain = elements ? kElementGrain * src.sizes[dim] / elements + 1 : 1;
  run.parallelFor(src.sizes[dim], grain, [&](int64_t begin, int64_t end, void *) {
    Sizes sizes = src.sizes;
    sizes[dim] = end - begin;
    copyElements(sizes, bytes, src.getBytes() + begin * src.strides[dim] * bytes, src.strides,
                 dst.getBytes() + begin * dst.strides[dim] * bytes, dst.strides);
  });
}

} // namespace qfx::runtime
