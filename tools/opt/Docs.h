// Tables of docs/*.md, printed from the tables of the code.
#ifndef TOOLS_OPT_DOCS_H
#define TOOLS_OPT_DOCS_H

#include "llvm/ADT/StringRef.h"

namespace qfx::tool {

/// Prints the Markdown table of that name to stdout; an unknown name is a usage error that lists them.  \returns the tool's exit code.
int printDocs(llvm::StringRef toolName, llvm::StringRef table);

} // namespace qfx::tool

#endif // TOOLS_OPT_DOCS_H
