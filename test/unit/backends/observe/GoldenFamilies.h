// The input families of test/golden/observers, generated as the script generated them.
#ifndef TEST_UNIT_BACKENDS_OBSERVE_GOLDENFAMILIES_H
#define TEST_UNIT_BACKENDS_OBSERVE_GOLDENFAMILIES_H

#include "backends/observe/Observer.h"

#include "llvm/ADT/SmallVector.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace qfx::test {

/// One batch with its shape and the order in which it lies in memory.
struct Batch {
  std::vector<float> values;
  llvm::SmallVector<int64_t, 4> sizes, strides;
  ObservedTensor get() const { return {values.data(), sizes, strides}; }
};

/// test/golden/observers/<name>.json.
const nlohmann::json &getGolden(const std::string &name);

std::vector<Batch> makeFamily(const std::string &name);
std::vector<Batch> makeChannelFamily(const std::string &name);

float floatFromBits(uint32_t bits);
/// FNV-1a over bytes, in hex.
std::string hashBytes(const void *data, size_t sizeBytes);

} // namespace qfx::test

#endif // TEST_UNIT_BACKENDS_OBSERVE_GOLDENFAMILIES_H
