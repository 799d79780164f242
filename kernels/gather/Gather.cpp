// One walk serves gather, index_select, embedding, advanced indexing and their inverses.
#include "kernels/gather/Gather.h"

#include <algorithm>
#include <cstring>

namespace qfx::kernels {

namespace {

/// Where one walk position lies on both sides, in elements.
struct Place {
  int64_t table = 0, value = 0;
  GatherError error;
};

Place locate(const GatherPlan &plan, int64_t position) {
  Place place;
  int64_t at[kMaxGatherRank];
  for (int d = plan.rank - 1; d >= 0; --d) {
    at[d] = position % plan.sizes[d];
    position /= plan.sizes[d];
    place.table += at[d] * plan.tableStrides[d];
    place.value += at[d] * plan.valueStrides[d];
  }
  for (int k = 0; k < plan.numIndices; ++k) {
    const GatherPlan::Index &index = plan.indices[k];
    int64_t offset = 0;
    for (int d = 0; d < plan.rank; ++d)
      offset += at[d] * index.strides[d];
    int64_t value = index.data[offset];
    if (value < -index.size || value >= index.size) {
      place.error = {k, value};
      return place;
    }
    place.table += (value < 0 ? value + index.size : value) * index.tableStride;
  }
  return place;
}

/// Elements of a run: the last dimension, if no index changes along it and both sides are dense there.
int64_t getRun(const GatherPlan &plan) {
  if (!plan.rank)
    return 1;
  const int last = plan.rank - 1;
  bool isDense = plan.tableStrides[last] == 1 && plan.valueStrides[last] == 1;
  for (int k = 0; k < plan.numIndices; ++k)
    isDense = isDense && plan.indices[k].strides[last] == 0;
  return isDense ? plan.sizes[last] : 1;
}

template <class T> void addTo(std::byte *place, const std::byte *value) {
  T a, b;
  std::memcpy(&a, place, sizeof(T));
  std::memcpy(&b, value, sizeof(T));
  a = static_cast<T>(a + b);
  std::memcpy(place, &a, sizeof(T));
}

} // namespace

GatherError gather(const GatherPlan &plan, const std::byte *table, std::byte *values, int64_t begin, int64_t end) {
  const int64_t run = getRun(plan), bytes = plan.elemBytes;
  for (int64_t at = begin; at < end;) {
    const int64_t count = run > 1 ? std::min(run - at % run, end - at) : 1;
    const Place place = locate(plan, at);
    if (place.error.index >= 0)
      return place.error;
    std::memcpy(values + place.value * bytes, table + place.table * bytes, static_cast<size_t>(count * bytes));
    at += count;
  }
  return {};
}

GatherError scatter(const GatherPlan &plan, const std::byte *values, std::byte *table, ScatterMode mode) {
  const int64_t bytes = plan.elemBytes, count = plan.count();
  for (int64_t at = 0; at < count; ++at) {
    const Place place = locate(plan, at);
    if (place.error.index >= 0)
      return place.error;
    std::byte *to = table + place.table * bytes;
    const std::byte *from = values + place.value * bytes;
    if (mode == ScatterMode::Replace)
      std::memcpy(to, from, static_cast<size_t>(bytes));
    else if (mode == ScatterMode::AddF32)
      addTo<float>(to, from);
    else
      addTo<int64_t>(to, from);
  }
  return {};
}

} // namespace qfx::kernels
