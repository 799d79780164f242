// Printing, collecting and suggesting for input errors.
#include "ir/Diagnostics.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace qfx {

char InputError::ID;

static llvm::StringRef getSeverityText(Severity severity) {
  switch (severity) {
  case Severity::Error:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Remark:
    return "remark";
  case Severity::Note:
    return "note";
  }
  return "error";
}

/// The line that `loc` points into, without its newline.
static llvm::StringRef getSourceLine(const Location &loc) {
  llvm::StringRef rest = loc.file->text;
  for (uint32_t line = 1; line < loc.line; ++line) {
    size_t end = rest.find('\n');
    if (end == llvm::StringRef::npos)
      return {};
    rest = rest.drop_front(end + 1);
  }
  return rest.take_front(rest.find('\n')).rtrim('\r');
}

/// A caret below the column; a long line is cut to a window around it so that a one-line file stays readable.
static void printCaret(llvm::raw_ostream &os, const Location &loc) {
  constexpr size_t kWindow = 160;
  llvm::StringRef line = getSourceLine(loc);
  if (line.empty())
    return;
  size_t column = std::min<size_t>(loc.column ? loc.column - 1 : 0, line.size());
  size_t start = column > kWindow / 2 && line.size() > kWindow ? column - kWindow / 2 : 0;
  llvm::StringRef shown = line.substr(start, kWindow);
  os << shown << '\n';
  for (size_t i = start; i < column; ++i)
    os << (line[i] == '\t' ? '\t' : ' ');
  os << "^\n";
}

void printDiagnostic(llvm::raw_ostream &os, const Diagnostic &diagnostic) {
  const Location &loc = diagnostic.loc;
  if (loc.file) {
    os << loc.file->name << ':';
    if (loc.line)
      os << loc.line << ':' << loc.column << ':';
    os << ' ';
  }
  os << getSeverityText(diagnostic.severity) << ": " << diagnostic.message;
  if (!diagnostic.code.empty())
    os << " [" << diagnostic.code << ']';
  os << '\n';
  if (loc.isKnown())
    printCaret(os, loc);
  for (const Diagnostic &note : diagnostic.notes)
    printDiagnostic(os, note);
}

void InputError::log(llvm::raw_ostream &os) const {
  for (const Diagnostic &diagnostic : diagnostics)
    printDiagnostic(os, diagnostic);
}

std::vector<Diagnostic> takeDiagnostics(llvm::Error err) {
  std::vector<Diagnostic> all;
  llvm::handleAllErrors(
      std::move(err),
      [&](const InputError &input) {
        all.insert(all.end(), input.getDiagnostics().begin(), input.getDiagnostics().end());
      },
      [&](const llvm::ErrorInfoBase &other) {
        Diagnostic diagnostic;
        diagnostic.message = other.message();
        all.push_back(std::move(diagnostic));
      });
  return all;
}

void ErrorList::add(llvm::Error err) {
  if (!err)
    return;
  std::vector<Diagnostic> more = takeDiagnostics(std::move(err));
  diagnostics.insert(diagnostics.end(), more.begin(), more.end());
}

llvm::Error ErrorList::take() {
  if (diagnostics.empty())
    return llvm::Error::success();
  return llvm::make_error<InputError>(std::move(diagnostics));
}

std::string findNearest(llvm::StringRef name, llvm::ArrayRef<std::string> candidates) {
  unsigned limit = std::max<unsigned>(2, name.size() / 3);
  std::string best;
  unsigned bestDistance = limit + 1;
  for (const std::string &candidate : candidates) {
    unsigned distance = name.edit_distance(candidate, /*AllowReplacements=*/true, limit + 1);
    if (distance < bestDistance || (distance == bestDistance && distance <= limit && candidate < best)) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return bestDistance <= limit ? best : std::string();
}

std::string didYouMean(llvm::StringRef name, llvm::ArrayRef<std::string> candidates) {
  std::string nearest = findNearest(name, candidates);
  return nearest.empty() ? nearest : "; did you mean '" + nearest + "'?";
}

} // namespace qfx
