// The public interface of qfx in one header: models, backends, qconfigs, the quantization functions, the runtime.
#ifndef QFX_QFX_H
#define QFX_QFX_H

#include "backends/config/BackendConfigJson.h"
#include "backends/config/BackendConfigUtils.h"
#include "backends/config/DerivedMapping.h"
#include "backends/config/QConfigMapping.h"
#include "backends/config/QConfigPredicates.h"
#include "backends/runtime/Program.h"
#include "ir/GraphModule.h"
#include "ir/emit/Emit.h"
#include "ir/text/QfxText.h"
#include "ir/verify/Verifier.h"
#include "ir/weights/InputSet.h"
#include "passes/FxUtils.h"
#include "passes/ModelUtils.h"
#include "passes/PassManager.h"
#include "passes/QuantizeFx.h"
#include "passes/StateDict.h"
#include "passes/calibrate/Calibrate.h"
#include "passes/debug/Explain.h"
#include "passes/eager/Eager.h"

#endif // QFX_QFX_H
