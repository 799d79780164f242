// Why a backend entry refuses a qconfig.
#ifndef PASSES_PREPARE_SUPPORTFAILURE_H
#define PASSES_PREPARE_SUPPORTFAILURE_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace qfx {

/// One refusal, in words for a remark.
struct SupportFailure {
  std::string reason;        ///< "activation dtype 'qint8' matches no dtype_config of 'torch.nn.Conv2d'"
  llvm::StringRef code;      ///< qconfig_dtype, qconfig_constraint or operand_dtype
  bool isConstraint = false; ///< the dtype fits, a bound does not
};

} // namespace qfx

#endif // PASSES_PREPARE_SUPPORTFAILURE_H
