// What the forms share; private to ir/emit.
#ifndef IR_EMIT_EMITDETAIL_H
#define IR_EMIT_EMITDETAIL_H

#include "ir/Graph.h"

namespace qfx {

/// The target as torch's texts print it: ATen overloads stand under torch.ops there.
std::string getFxTarget(const Node &node);

/// FX's type annotation of a node (its meta entry "type"), or null.
const std::string *findTypeAnnotation(const Node &node);

/// Python's str(): a string bare, anything else as repr.
std::string formatPythonStr(const Argument &argument);

/// Rows as columns of equal width, two spaces between them, nothing behind the last.
/// \param minWidths  of each column.
std::string formatColumns(llvm::ArrayRef<std::vector<std::string>> rows, llvm::ArrayRef<size_t> minWidths);

} // namespace qfx

#endif // IR_EMIT_EMITDETAIL_H
