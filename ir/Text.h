// Numbers and strings as text, the way Python prints them.
#ifndef IR_TEXT_H
#define IR_TEXT_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace qfx {

/// Prefix and suffix tests under one name: LLVM 14 and LLVM 19 spell them differently.
inline bool startsWith(llvm::StringRef text, llvm::StringRef prefix) { return text.take_front(prefix.size()) == prefix; }
inline bool endsWith(llvm::StringRef text, llvm::StringRef suffix) { return text.take_back(suffix.size()) == suffix; }

/// Python's repr(float): the shortest digits that read back to the same double; `1e-05`, `2.0`, `inf`, `nan`.
std::string formatFloat(double value);

/// Python's repr(str): single quotes unless the text holds one and no double quote; escapes as Python prints them.
std::string formatPythonString(llvm::StringRef text);

/// A .qfx string literal: double quotes, JSON escapes.
std::string formatQuoted(llvm::StringRef text);

} // namespace qfx

#endif // IR_TEXT_H
