// The enumerators of the target table's operators.  Apart from Ops.h, so that a new row recompiles only the files that name one.
#ifndef IR_OPKIND_H
#define IR_OPKIND_H

#include <cstdint>

namespace qfx {

enum class OpKind : uint16_t {
#define QFX_OP(Kind, ...) Kind,
#include "ir/Ops.def"
};

} // namespace qfx

#endif // IR_OPKIND_H
