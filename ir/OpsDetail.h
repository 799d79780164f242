// Declares every inference rule that an operator row names; private to ir/.
#ifndef IR_OPSDETAIL_H
#define IR_OPSDETAIL_H

#include "ir/Infer.h"

namespace qfx {

#define QFX_INFER(name) llvm::Expected<ValueType> name(const InferContext &);
#include "ir/infer/Rules.def"
#undef QFX_INFER

} // namespace qfx

#endif // IR_OPSDETAIL_H
