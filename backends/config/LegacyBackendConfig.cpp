// native with static float16, as PyTorch's own tests use it (backend_config.md 1.6).
#include "backends/config/BackendConfigUtils.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

/// The linear, binary, fixed and share families of native, told by what only their entries have.
static bool takesHalf(const BackendPatternConfig &entry) {
  auto hasName = [&](llvm::StringRef name) { return llvm::is_contained(entry.dtypeConfigNames, name); };
  bool isLinear = hasName("weighted_int8") && hasName("dynamic_int8");
  bool isBinary = !entry.numTensorArgsToObservationType.empty() || entry.pattern.getHead().text == "torch.matmul";
  bool isFixed = hasName("fixed_0to1_quint8") || hasName("fixed_neg1to1_quint8");
  bool isShare = entry.observationType == ObservationType::OutputShareObserverWithInput && entry.pattern.getHead().text != "torch.cat";
  return isLinear || isBinary || isFixed || isShare;
}

BackendConfig getTestOnlyLegacyNativeBackendConfig() {
  BackendConfig native = *getBuiltinBackendConfig("native");
  DTypeConfig half;
  half.input = half.output = half.weight = DType::Float16;
  half.bias = DType::Float16;
  BackendConfig legacy("_native_and_fp16");
  for (BackendPatternConfig entry : native.getConfigs()) {
    if (takesHalf(entry))
      entry.addDTypeConfig(half, "default_fp16");
    legacy.setBackendPatternConfig(std::move(entry));
  }
  return legacy.setDefaultMappingName("native");
}

} // namespace qfx
