// A program bound to one set of input types: steps in order, buffers placed in one arena.
#ifndef BACKENDS_RUNTIME_PLAN_H
#define BACKENDS_RUNTIME_PLAN_H

#include "backends/runtime/RuntimeValue.h"
#include "backends/runtime/Step.h"
#include "backends/runtime/View.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace qfx::runtime {

struct NamedRuntimeValue {
  std::string name;
  RuntimeValue value;
};

struct Plan {
  std::vector<TensorType> inputTypes; ///< by placeholder
  bool keepsAll = false;              ///< every node's value stays until the end
  std::vector<View> inputs;           ///< where inputs are copied to, by placeholder
  std::vector<Step> steps;
  std::vector<BufferRef> buffers; ///< all that are not constant
  std::vector<NamedRuntimeValue> outputs;
  std::vector<NamedRuntimeValue> nodeValues; ///< in graph order; only if keepsAll
  int64_t arenaBytes = 0;
  int64_t scratchBytes = 0; ///< per thread
  std::byte *attachedTo = nullptr;

  /// Points all buffers into `arena` (arenaBytes long, aligned).
  void attach(std::byte *arena) {
    if (attachedTo == arena && arena)
      return;
    for (const BufferRef &buffer : buffers)
      buffer->data = arena + buffer->arenaOffset;
    attachedTo = arena;
  }
};

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_PLAN_H
