// --verify-diagnostics: a test file says which errors it expects.
#ifndef TOOLS_OPT_VERIFYDIAGNOSTICS_H
#define TOOLS_OPT_VERIFYDIAGNOSTICS_H

#include "ir/Diagnostics.h"

#include <vector>

namespace qfx::tool {

/// Compares what a run reported with the comments `// expected-error {{text}}`, `expected-warning`, `expected-remark`, each optionally with
/// a line as `@+1`, `@-2` or `@7` (default: its own line).  A report matches if severity and line agree and its message, with the code in
/// brackets behind it, contains the text.  Prints what is missing and what was not expected to stderr.
/// \returns true if both lists agree and the source expects something.
bool verifyDiagnostics(const SourceText &source, const std::vector<Diagnostic> &reported);

} // namespace qfx::tool

#endif // TOOLS_OPT_VERIFYDIAGNOSTICS_H
