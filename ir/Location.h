// Where in a source text something stands.
#ifndef IR_LOCATION_H
#define IR_LOCATION_H

#include <cstdint>
#include <memory>
#include <string>

namespace qfx {

/// A text that diagnostics can quote: its name as the user knows it and its bytes.
struct SourceText {
  std::string name;
  std::string text;
};

/// A place in a source text, or nowhere (`file` null).  Line and column count from 1; columns count bytes.
struct Location {
  std::shared_ptr<const SourceText> file;
  uint32_t line = 0;
  uint32_t column = 0;

  bool isKnown() const { return file && line; }
};

} // namespace qfx

#endif // IR_LOCATION_H
