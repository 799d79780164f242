// Taking elements from, or putting them to, places that index tensors name.
#ifndef KERNELS_GATHER_GATHER_H
#define KERNELS_GATHER_GATHER_H

#include <cstddef>
#include <cstdint>

namespace qfx::kernels {

inline constexpr int kMaxGatherRank = 8;

/// A walk over `sizes`; beside it one side (the table) is addressed by strides plus, for each index tensor, index * tableStride.
struct GatherPlan {
  struct Index {
    const int64_t *data = nullptr;
    int64_t strides[kMaxGatherRank] = {}; ///< elements per step of each dimension; 0 where it repeats
    int64_t tableStride = 0;              ///< elements of the table per index
    int64_t size = 0;                     ///< indices lie in [-size, size)
  };
  int rank = 0;
  int64_t sizes[kMaxGatherRank] = {};
  int64_t tableStrides[kMaxGatherRank] = {}; ///< elements of the table, of dimensions that no index replaces; else 0
  int64_t valueStrides[kMaxGatherRank] = {}; ///< elements of the other side
  int numIndices = 0;
  Index indices[kMaxGatherRank];
  int elemBytes = 4;

  int64_t count() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i)
      n *= sizes[i];
    return n;
  }
};

/// The index that lies outside its range, by position of the index tensor and value.
struct GatherError {
  int index = -1;
  int64_t value = 0;
};

/// values[i] = table[...] for walk positions [begin, end).  \returns the first index out of range, index -1 if none; then nothing behind it is
/// written.
GatherError gather(const GatherPlan &plan, const std::byte *table, std::byte *values, int64_t begin, int64_t end);

enum class ScatterMode : uint8_t { Replace, AddF32, AddI64 };

/// table[...] = values[i], or += values[i], for all positions in order: of several writes to one place the last stays, sums run in order.
GatherError scatter(const GatherPlan &plan, const std::byte *values, std::byte *table, ScatterMode mode);

} // namespace qfx::kernels

#endif // KERNELS_GATHER_GATHER_H
