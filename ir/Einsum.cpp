// Reading einsum equations.
#include "ir/Einsum.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

namespace qfx {

static bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The labels of one term.  \param hidden  dimensions the ellipsis stands for; -1: none may stand here.
static std::string readTerm(llvm::StringRef term, int hidden, EinsumEquation::Labels &labels, bool &hasEllipsis) {
  hasEllipsis = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (isLetter(term[i])) {
      labels.push_back(term[i]);
      continue;
    }
    if (term.substr(i, 3) != "..." || hasEllipsis)
      return "has '" + term.str() + "' where letters and at most one '...' are expected";
    hasEllipsis = true;
    i += 2;
    for (int k = hidden; k-- > 0;)
      labels.push_back(EinsumEquation::kEllipsis + k);
  }
  return "";
}

static int countLetters(llvm::StringRef term) { return static_cast<int>(llvm::count_if(term, isLetter)); }

std::variant<EinsumEquation, std::string> parseEinsum(llvm::StringRef given, llvm::ArrayRef<size_t> ranks) {
  std::string text;
  for (char c : given)
    if (c != ' ')
      text += c;
  llvm::StringRef whole = text;
  size_t arrow = whole.find("->");
  llvm::StringRef inputs = whole.substr(0, arrow), output = arrow == llvm::StringRef::npos ? "" : whole.substr(arrow + 2);
  llvm::SmallVector<llvm::StringRef, 4> terms;
  inputs.split(terms, ',');
  if (terms.size() != ranks.size())
    return "names " + std::to_string(terms.size()) + " operands, got " + std::to_string(ranks.size());
  EinsumEquation equation;
  int hiddenMax = 0;
  std::map<int, int> uses;
  for (size_t i = 0; i < terms.size(); ++i) {
    EinsumEquation::Labels labels;
    bool hasEllipsis = false;
    int hidden = static_cast<int>(ranks[i]) - countLetters(terms[i]);
    std::string problem = readTerm(terms[i], std::max(hidden, 0), labels, hasEllipsis);
    if (!problem.empty())
      return problem;
    if (labels.size() != ranks[i])
      return "gives '" + terms[i].str() + "' for an operand of rank " + std::to_string(ranks[i]);
    hiddenMax = std::max(hiddenMax, hasEllipsis ? hidden : 0);
    for (int label : labels)
      ++uses[label];
    equation.operands.push_back(std::move(labels));
  }
  if (arrow == llvm::StringRef::npos) {
    for (int k = hiddenMax; k-- > 0;)
      equation.output.push_back(EinsumEquation::kEllipsis + k);
    for (auto [label, count] : uses)
      if (label < EinsumEquation::kEllipsis && count == 1)
        equation.output.push_back(label);
    return equation;
  }
  bool hasEllipsis = false;
  std::string problem = readTerm(output, hiddenMax, equation.output, hasEllipsis);
  if (!problem.empty())
    return problem;
  for (size_t i = 0; i < equation.output.size(); ++i) {
    int label = equation.output[i];
    if (!uses.count(label))
      return "has an output letter that no operand has";
    if (llvm::count(equation.output, label) != 1)
      return "has an output letter twice";
  }
  return equation;
}

} // namespace qfx
