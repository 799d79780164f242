// Every operator that has a kernel runs: one of its samples in test/ir/ops at least, on made-up values.
#include "OperatorSamples.h"
#include "QuantizedCases.h"

#include "Catch.h"
#include "backends/runtime/BindContext.h"

#include <set>

using namespace qfx;
using namespace qfx::test;

/// Operators whose result cannot leave a graph: what reads it has the samples.
static const std::set<std::string> kPacked = {
    "LinearPrepack",   "LinearPrepackFp16",      "ConvPrepack1d",          "ConvPrepack2d",    "ConvPrepack3d",
    "EmbeddingPrepack", "ConvTransposePrepack1d", "ConvTransposePrepack2d", "ConvTransposePrepack3d", "CellParams"};

TEST_CASE("every operator with a kernel runs one of its samples", "[operators]") {
  int count = 0;
  for (const OpInfo &op : getAllOps()) {
    if (!runtime::hasKernel(op.kind) || kPacked.count(op.name.str()))
      continue;
    INFO(op.name.str());
    std::string first;
    bool runs = false;
    for (const Sample &sample : getSamples(op)) {
      auto program = compileSample(sample);
      if (!program) {
        first += toText(program.takeError());
        continue;
      }
      auto results = runSample(**program, sample);
      if (!results)
        first += toText(results.takeError());
      else
        runs = true;
      if (runs)
        break;
    }
    INFO(first);
    CHECK(runs);
    ++count;
  }
  CHECK(count > 300);
}
