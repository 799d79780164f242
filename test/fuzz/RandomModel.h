// Random valid models: layers, functions and methods in random order with shapes that fit, as .qfx text.
#ifndef TEST_FUZZ_RANDOMMODEL_H
#define TEST_FUZZ_RANDOMMODEL_H

#include "test/fuzz/Random.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace qfx::fuzz {

struct RandomModel {
  std::string text;
  std::vector<std::pair<std::string, std::vector<int64_t>>> inputs; ///< float placeholders with their sizes
  std::vector<std::string> modulePaths;
};

/// A graph of 1 to `maxSteps` steps.  A step may reuse a value, a module or a weight that is there already; results are a value, a tuple, list
/// or dict of some.  The same state of `random` gives the same model.
RandomModel makeRandomModel(Random &random, unsigned maxSteps);

} // namespace qfx::fuzz

#endif // TEST_FUZZ_RANDOMMODEL_H
