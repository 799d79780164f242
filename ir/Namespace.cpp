// torch.fx's _Namespace: candidate -> legal, unique name.
#include "ir/Namespace.h"

#include <algorithm>
#include <cctype>

namespace qfx {

static constexpr llvm::StringLiteral kReserved[] = {
#define QFX_RESERVED(name) name,
#include "ir/ReservedNames.def"
#undef QFX_RESERVED
};

bool isReservedName(llvm::StringRef name) { return std::binary_search(std::begin(kReserved), std::end(kReserved), name); }

std::string toSnakeCase(llvm::StringRef text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    bool upper = text[i] >= 'A' && text[i] <= 'Z';
    if (upper && i && text[i - 1] >= 'a' && text[i - 1] <= 'z')
      out += '_';
    out += upper ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
  }
  return out;
}

/// Runs of characters outside [0-9a-zA-Z_] become one '_'; never empty, never starting with a digit.
static std::string makeIdentifier(llvm::StringRef candidate) {
  std::string out;
  bool inRun = false;
  for (char c : candidate) {
    bool legal = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (legal)
      out += c;
    else if (!inRun)
      out += '_';
    inRun = !legal;
  }
  if (out.empty())
    return "_unnamed";
  return std::isdigit(static_cast<unsigned char>(out[0])) ? "_" + out : out;
}

/// Splits `base_12` into base and number the way `^([a-zA-Z_]\w*?)(?:_(\d+))?$` does; false if there is no number.
static bool splitNumber(llvm::StringRef name, llvm::StringRef &base, int64_t &number) {
  base = name;
  size_t digits = name.size();
  while (digits && std::isdigit(static_cast<unsigned char>(name[digits - 1])))
    --digits;
  if (digits == name.size() || digits < 2 || name[digits - 1] != '_' || name.substr(digits).getAsInteger(10, number))
    return false;
  base = name.take_front(digits - 1);
  return true;
}

std::string Namespace::createName(llvm::StringRef text) {
  std::string candidate = makeIdentifier(text);
  llvm::StringRef base;
  int64_t number = 0;
  bool hasNumber = splitNumber(candidate, base, number);
  std::string baseText = base.str();
  if (!hasNumber || used.contains(candidate)) {
    number = lastNumber.lookup(baseText);
    if (isReservedName(candidate))
      candidate = baseText + "_" + std::to_string(++number);
  }
  while (used.contains(candidate))
    candidate = baseText + "_" + std::to_string(++number);
  used.insert(candidate);
  lastNumber[baseText] = number;
  return candidate;
}

} // namespace qfx
