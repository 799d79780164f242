// Python's slice of a list or tuple of known length.
#ifndef IR_SEQUENCESLICE_H
#define IR_SEQUENCESLICE_H

#include "ir/Argument.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace qfx {

/// Positions that `slice` takes from a sequence of `size` elements, in order: bounds count from the end if negative, and clamp.
/// \param slice  of kind Slice, its bounds and step ints or None; the step > 0 (asserted).
inline std::vector<size_t> getSlicedPositions(const Argument &slice, int64_t size) {
  assert(slice.getKind() == Argument::Kind::Slice && "a slice");
  auto bound = [&](size_t k, int64_t fallback) {
    const Argument &given = slice.getElements()[k];
    const int64_t value = given.isInt() ? given.getInt() : fallback;
    return std::clamp(value < 0 ? value + size : value, int64_t(0), size);
  };
  const Argument &given = slice.getElements()[2];
  const int64_t step = given.isInt() ? given.getInt() : 1, stop = bound(1, size);
  assert(step > 0 && "Python's sequences may step backwards, ours do not");
  std::vector<size_t> positions;
  for (int64_t i = bound(0, 0); i < stop; i += std::min(step, std::max<int64_t>(size, 1)))
    positions.push_back(static_cast<size_t>(i));
  return positions;
}

} // namespace qfx

#endif // IR_SEQUENCESLICE_H
