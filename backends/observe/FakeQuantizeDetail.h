// What the files on fake-quantizers share; private to observe/.
#ifndef BACKENDS_OBSERVE_FAKEQUANTIZEDETAIL_H
#define BACKENDS_OBSERVE_FAKEQUANTIZEDETAIL_H

#include "ir/Module.h"

#include "llvm/Support/Error.h"

namespace qfx {

/// The child `activation_post_process` of a fake-quantizer.
ModuleRef getInnerObserver(const Module &fakeQuantize);

/// Is the flag buffer `observer_enabled` or `fake_quant_enabled` 1?
bool isEnabled(const Module &module, llvm::StringRef flag);

struct FusedQParams {
  std::vector<float> scales;
  std::vector<int32_t> zeroPoints;
};
/// numerics 4.5 step 4: parameters of the fused operator from the running minima and maxima.  An error if there are none.
llvm::Expected<FusedQParams> chooseFusedQParams(const Module &module);

} // namespace qfx

#endif // BACKENDS_OBSERVE_FAKEQUANTIZEDETAIL_H
