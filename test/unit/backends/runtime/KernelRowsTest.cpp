// Every operator that a graph can call has a kernel, or a reason why not.
#include "Catch.h"
#include "backends/runtime/BindContext.h"
#include "ir/Ops.h"

#include "llvm/ADT/StringMap.h"

using namespace qfx;

namespace {

/// Operators without a kernel, and why.
const llvm::StringMap<std::string> &getReasons() {
  static const llvm::StringMap<std::string> reasons = {
      {"PackedWeights", "weights of a layer, read by the call that takes them; it is never called itself"},
  };
  return reasons;
}

} // namespace

TEST_CASE("every operator has a kernel or a reason", "[runtime][kernels]") {
  for (const OpInfo &op : getAllOps()) {
    INFO(op.name.str());
    bool isCalled = !op.has(Traits::HostValue) && !op.has(Traits::Composite);
    bool hasReason = getReasons().count(op.name);
    CHECK((!isCalled || runtime::hasKernel(op.kind) || hasReason));
    CHECK_FALSE((hasReason && runtime::hasKernel(op.kind))); // a reason leaves with its cause
  }
}
