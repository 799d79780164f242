// What is wrong with a user's input: place, message, code, notes; carried by llvm::Error and printed only by tools.
#ifndef IR_DIAGNOSTICS_H
#define IR_DIAGNOSTICS_H

#include "ir/Location.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace qfx {

enum class Severity : uint8_t { Error, Warning, Remark, Note };

struct Diagnostic {
  Severity severity = Severity::Error;
  Location loc;
  std::string message; ///< lower-case start, no full stop, names in single quotes
  std::string code;    ///< rule number of docs/IR.md or spec code, printed as [code]; may be empty
  std::vector<Diagnostic> notes;
};

/// Prints `FILE:LINE:COL: error: MESSAGE [CODE]`, the source line and a caret, then the notes.
void printDiagnostic(llvm::raw_ostream &os, const Diagnostic &diagnostic);

/// The llvm::Error payload of every input error: one or more diagnostics.
class InputError : public llvm::ErrorInfo<InputError> {
public:
  static char ID;
  explicit InputError(Diagnostic diagnostic) { diagnostics.push_back(std::move(diagnostic)); }
  explicit InputError(std::vector<Diagnostic> all) : diagnostics(std::move(all)) {}

  llvm::ArrayRef<Diagnostic> getDiagnostics() const { return diagnostics; }
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  std::vector<Diagnostic> diagnostics;
};

/// Builds one diagnostic; converts to llvm::Error or Expected<T> where it is returned.
class ErrorBuilder {
public:
  explicit ErrorBuilder(Diagnostic diagnostic) : diagnostic(std::move(diagnostic)) {}

  template <class... Args> ErrorBuilder note(Location loc, const char *format, Args &&...args) && {
    Diagnostic note;
    note.severity = Severity::Note;
    note.loc = std::move(loc);
    note.message = llvm::formatv(format, std::forward<Args>(args)...).str();
    diagnostic.notes.push_back(std::move(note));
    return std::move(*this);
  }
  ErrorBuilder code(llvm::StringRef code) && {
    diagnostic.code = code.str();
    return std::move(*this);
  }
  operator llvm::Error() && { return llvm::make_error<InputError>(std::move(diagnostic)); }
  template <class T> operator llvm::Expected<T>() && { return llvm::make_error<InputError>(std::move(diagnostic)); }
  Diagnostic take() && { return std::move(diagnostic); }

private:
  Diagnostic diagnostic;
};

/// return error(node.getLoc(), "'Conv2d' needs ..., got {0}", n).code("conv2d_c4");
template <class... Args> ErrorBuilder error(Location loc, const char *format, Args &&...args) {
  Diagnostic diagnostic;
  diagnostic.loc = std::move(loc);
  diagnostic.message = llvm::formatv(format, std::forward<Args>(args)...).str();
  return ErrorBuilder(std::move(diagnostic));
}

/// Collects several errors before giving up: add() each, then take() the sum (success if none).
class ErrorList {
public:
  void add(llvm::Error err);
  bool empty() const { return diagnostics.empty(); }
  size_t size() const { return diagnostics.size(); }
  llvm::Error take();

private:
  std::vector<Diagnostic> diagnostics;
};

/// The diagnostics inside `err`, which is consumed; an Error of another kind becomes one diagnostic without a place.
std::vector<Diagnostic> takeDiagnostics(llvm::Error err);

/// The candidate nearest to `name` by edit distance, at most max(2, length/3), ties alphabetical; empty if none.
std::string findNearest(llvm::StringRef name, llvm::ArrayRef<std::string> candidates);

/// "; did you mean 'X'?" for the nearest candidate, or an empty string.
std::string didYouMean(llvm::StringRef name, llvm::ArrayRef<std::string> candidates);

} // namespace qfx

#endif // IR_DIAGNOSTICS_H
