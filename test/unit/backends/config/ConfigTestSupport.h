// Parsing a configuration text in a test and showing its diagnostics in one line each.
#ifndef TEST_UNIT_BACKENDS_CONFIG_CONFIGTESTSUPPORT_H
#define TEST_UNIT_BACKENDS_CONFIG_CONFIGTESTSUPPORT_H

#include "backends/config/BackendConfigJson.h"
#include "backends/config/QConfigMapping.h"

#include "nlohmann/json.hpp"

#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace qfx::test {

/// The outcome of reading a text: the object if it was accepted, and "CODE #POINTER: error: MESSAGE" for each complaint.
template <class T> struct ReadResult {
  std::optional<T> value;
  std::vector<std::string> lines;
  std::vector<Diagnostic> diagnostics;

  /// Is there a complaint with this code and pointer?
  bool has(const std::string &codeAndPointer) const {
    for (const Diagnostic &diagnostic : diagnostics)
      if (diagnostic.code == codeAndPointer)
        return true;
    return false;
  }
};

template <class T> void addDiagnostics(ReadResult<T> &result, std::vector<Diagnostic> more) {
  for (Diagnostic &diagnostic : more) {
    result.lines.push_back(diagnostic.code + ": " + (diagnostic.severity == Severity::Error ? "error: " : "warning: ") +
                           diagnostic.message);
    result.diagnostics.push_back(std::move(diagnostic));
  }
}

inline ReadResult<BackendConfig> readBackend(std::string text, std::string name = "f.json") {
  ReadResult<BackendConfig> result;
  std::vector<Diagnostic> warnings;
  auto config = parseBackendConfig(std::make_shared<SourceText>(SourceText{std::move(name), std::move(text)}), warnings);
  if (config)
    result.value = std::move(*config);
  else
    addDiagnostics(result, takeDiagnostics(config.takeError()));
  addDiagnostics(result, std::move(warnings));
  return result;
}

inline ReadResult<QConfigMapping> readMapping(std::string text) {
  ReadResult<QConfigMapping> result;
  std::vector<Diagnostic> warnings;
  auto mapping = parseQConfigMapping(std::make_shared<SourceText>(SourceText{"q.json", std::move(text)}), &warnings);
  if (mapping)
    result.value = std::move(*mapping);
  else
    addDiagnostics(result, takeDiagnostics(mapping.takeError()));
  addDiagnostics(result, std::move(warnings));
  return result;
}

/// A file below test/golden, parsed once; keys keep their order.
inline const nlohmann::ordered_json &readGoldenJson(const std::string &name) {
  static std::map<std::string, nlohmann::ordered_json> files;
  nlohmann::ordered_json &data = files[name];
  if (data.is_null()) {
    std::ifstream file(std::string(QFX_GOLDEN_DIR) + "/" + name);
    data = nlohmann::ordered_json::parse(file);
  }
  return data;
}

} // namespace qfx::test

#endif // TEST_UNIT_BACKENDS_CONFIG_CONFIGTESTSUPPORT_H
