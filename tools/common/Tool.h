// What every qfx tool shares: exit codes, error output, small command line types.
#ifndef TOOLS_COMMON_TOOL_H
#define TOOLS_COMMON_TOOL_H

#include "ir/Diagnostics.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace qfx::tool {

/// spec/cli.md: 0 done, 1 an input is at fault, 2 the command line is at fault, 3 a comparison failed.
enum ExitCode : int { kDone = 0, kBadInput = 1, kBadUsage = 2, kComparisonFailed = 3 };

/// Prints the diagnostics of `err` to stderr, prefixed with the tool's name where they have no place of their own.
/// \returns 2 if all of them say that a path could not be read or written, else 1.
int reportError(llvm::StringRef toolName, llvm::Error err);
/// `TOOL: error: TEXT` for a wrong command line.  \returns 2.
int reportUsage(llvm::StringRef toolName, const llvm::Twine &text);
void reportWarning(llvm::StringRef toolName, const Diagnostic &warning);

/// Takes LLVM's own flags off the command line, all but --help.  Comes before any flag of ours is made.
void removeForeignOptions();

/// Parses the command line into llvm::cl options, hiding LLVM's own.  \returns false after printing what is wrong to stderr.
bool parseCommandLine(int argc, char **argv, llvm::StringRef overview);

/// Sets loggers from `--log`: a level for all rooms ("debug") or a list ("passes=debug,ir=info").  An error names the bad part.
llvm::Error setLogLevels(llvm::StringRef text);

/// Checks QFX_ISA and `--isa`: an unknown or unsupported name is an error that lists what this processor has.  Empty: nothing.
llvm::Error selectIsa(llvm::StringRef name);

/// Checks `--threads`: 1..256.
llvm::Error checkThreads(unsigned threads);

/// A tool's last step: writes what is still buffered for stdout.  \returns `code`, or 2 after saying why stdout could not be written (a full
/// disk, a closed pipe).
int finishOutput(llvm::StringRef toolName, int code);

/// One rewritten line on stderr while something long runs; silent unless stderr is a terminal.
class ProgressLine {
public:
  ProgressLine(std::string label, bool quiet);
  ~ProgressLine();
  void update(size_t done, size_t total);

private:
  std::string label;
  bool isShown;
  double startedSeconds;
};

} // namespace qfx::tool

#endif // TOOLS_COMMON_TOOL_H
