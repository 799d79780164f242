// Shortest round-trip floats in Python's notation, and quoted strings.
#include "ir/Text.h"

#include "llvm/Support/raw_ostream.h"

#include <charconv>
#include <cmath>

namespace qfx {

std::string formatFloat(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[64];
  // Scientific shortest digits first: "d.ddde+XX"; Python switches to it below 1e-4 and from 1e16 on.
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  llvm::StringRef text(buffer, end - buffer);
  int exponent = 0;
  llvm::StringRef exponentText = text.substr(text.find('e') + 1);
  exponentText.consume_front("+");
  (void)exponentText.getAsInteger(10, exponent);
  if (value != 0 && (exponent < -4 || exponent >= 16))
    return text.str();
  end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
  std::string fixed(buffer, end);
  if (fixed.find('.') == std::string::npos)
    fixed += ".0";
  return fixed;
}

std::string formatPythonString(llvm::StringRef text) {
  char quote = text.contains('\'') && !text.contains('"') ? '"' : '\'';
  std::string out(1, quote);
  for (char c : text) {
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + quote;
}

std::string formatQuoted(llvm::StringRef text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

} // namespace qfx
