// What tests of passes share: models from text, a context that keeps remarks and warnings, errors as text.
#ifndef TEST_UNIT_PASSES_PASSTEST_H
#define TEST_UNIT_PASSES_PASSTEST_H

#include "Catch.h"
#include "ir/emit/Emit.h"
#include "ir/text/QfxText.h"
#include "passes/Pass.h"

namespace qfx {

inline std::string describe(llvm::Error err) {
  std::string text;
  for (const Diagnostic &diagnostic : takeDiagnostics(std::move(err)))
    text += (text.empty() ? "" : "\n") + diagnostic.message + " [" + diagnostic.code + "]";
  return text;
}

template <class T> T require(llvm::Expected<T> value) {
  if (!value) {
    FAIL(describe(value.takeError()));
  }
  return std::move(*value);
}

/// The text of the error, or "" (which the test then reports) on success.
template <class T> std::string getError(llvm::Expected<T> value) {
  return value ? std::string() : describe(value.takeError());
}

inline GraphModule parseModel(const std::string &text) {
  auto source = std::make_shared<SourceText>(SourceText{"test.qfx", "qfx 1\n" + text});
  return require(parseQfx(source));
}

/// str(graph) without the header line and the indent.
inline std::string getFx(const GraphModule &model) {
  std::string text = formatFx(model.getGraph()), result;
  llvm::StringRef rest = text;
  rest = rest.split('\n').second;
  while (!rest.empty()) {
    auto [line, next] = rest.split('\n');
    result += line.trim().str() + "\n";
    rest = next;
  }
  return result;
}

/// "%name = target" per line: names, order and targets, for tests that need no more.
inline std::string getCalls(const GraphModule &model) {
  std::string text;
  for (const Node &node : model.getGraph().nodes())
    if (!node.is(Opcode::Placeholder) && !node.is(Opcode::Output))
      text += (text.empty() ? "" : " ") + node.getName() + "=" + node.getTargetText().str();
  return text;
}

struct TestContext {
  PassContext context;
  std::vector<Remark> remarks;
  std::vector<Diagnostic> warnings;

  explicit TestContext(const std::string &backend = "x86") {
    auto config = getBuiltinBackendConfig(backend);
    REQUIRE(config);
    context.backend = *config;
    context.onRemark = [this](const Remark &remark) { remarks.push_back(remark); };
    context.onWarning = [this](const Diagnostic &warning) { warnings.push_back(warning); };
  }
  TestContext(const TestContext &) = delete;

  /// The remark with that code about that node, or null.
  const Remark *findRemark(const std::string &code, const std::string &node) const {
    for (const Remark &remark : remarks)
      if (remark.diagnostic.code == code && remark.node == node)
        return &remark;
    return nullptr;
  }
};

} // namespace qfx

#endif // TEST_UNIT_PASSES_PASSTEST_H
