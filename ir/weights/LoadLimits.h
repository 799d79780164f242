// How much a file may ask of the loader.
#ifndef IR_WEIGHTS_LOADLIMITS_H
#define IR_WEIGHTS_LOADLIMITS_H

#include <cstdint>

namespace qfx {

/// Upper bounds that are checked before anything of that size is allocated or mapped; rule `tensor_size` on excess.
struct LoadLimits {
  uint64_t maxFileBytes = uint64_t(1) << 28;      ///< a .qfx text
  uint64_t maxWeightsBytes = uint64_t(1) << 40;   ///< a weights or input file, which is mapped, not read
  uint64_t maxHeaderBytes = 100'000'000;          ///< a safetensors or npy header (safetensors' own limit)
  uint64_t maxTensorBytes = uint64_t(1) << 32;    ///< one tensor
  uint64_t maxGeneratedBytes = uint64_t(1) << 31; ///< all tensors that a text fills (`= 0.5`, `random(...)`, lists) together
  uint64_t maxTensors = 1'000'000;                ///< tensors in one file
};

} // namespace qfx

#endif // IR_WEIGHTS_LOADLIMITS_H
