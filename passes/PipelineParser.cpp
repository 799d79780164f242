// Pipeline strings to steps and back, with places for carets.
#include "passes/PassManager.h"

#include "ir/Diagnostics.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace qfx {

namespace {
class PipelineParser {
public:
  PipelineParser(llvm::StringRef text, llvm::StringRef name)
      : source(std::make_shared<SourceText>(SourceText{name.str(), text.str()})), text(source->text) {}

  llvm::Expected<std::vector<PipelineStep>> parse() {
    std::vector<PipelineStep> steps;
    do {
      skipSpace();
      if (llvm::Error err = parseItem(steps))
        return err;
      skipSpace();
    } while (consume(','));
    if (position != text.size())
      return fail(position, "expected ',' or the end, got '{0}'", text[position]).code("pipeline_syntax");
    return steps;
  }

private:
  static bool isNameChar(char c) { return llvm::isAlnum(c) || c == '-' || c == '_' || c == '.'; }

  template <class... Args> ErrorBuilder fail(size_t at, const char *format, Args &&...args) const {
    return error(Location{source, 1, static_cast<uint32_t>(at + 1)}, format, std::forward<Args>(args)...);
  }

  void skipSpace() {
    while (position < text.size() && llvm::isSpace(text[position]))
      ++position;
  }
  bool consume(char c) {
    if (position == text.size() || text[position] != c)
      return false;
    ++position;
    return true;
  }
  llvm::StringRef parseName() {
    size_t start = position;
    while (position < text.size() && isNameChar(text[position]))
      ++position;
    return text.slice(start, position);
  }

  llvm::Error parseItem(std::vector<PipelineStep> &steps) {
    size_t start = position;
    llvm::StringRef name = parseName();
    if (name.empty())
      return fail(start, "expected the name of a pass").code("pipeline_syntax");
    const PassInfo *info = findPass(name);
    if (info) {
      PipelineStep step{info, PassOptions(info->options)};
      if (consume('{'))
        if (llvm::Error err = parseOptions(step))
          return err;
      steps.push_back(std::move(step));
      return llvm::Error::success();
    }
    const PipelineInfo *pipeline = findPipeline(name);
    if (!pipeline)
      return fail(start, "unknown pass '{0}'{1}", name, didYouMean(name, getPassNames())).code("pipeline_pass");
    if (position < text.size() && text[position] == '{')
      return fail(position, "the pipeline '{0}' takes no options: write its passes ({1})", name, pipeline->text)
          .code("pipeline_option");
    auto expanded = parsePipeline(pipeline->text, pipeline->name);
    if (!expanded)
      return expanded.takeError();
    for (PipelineStep &step : *expanded)
      steps.push_back(std::move(step));
    return llvm::Error::success();
  }

  llvm::Error parseOptions(PipelineStep &step) {
    llvm::StringSet<> given;
    for (skipSpace(); !consume('}'); skipSpace()) {
      size_t start = position;
      if (position == text.size())
        return fail(position, "expected '}' after the options of '{0}'", step.info->name).code("pipeline_syntax");
      llvm::StringRef key = parseName();
      if (key.empty())
        return fail(start, "expected an option of '{0}'", step.info->name).code("pipeline_syntax");
      const PassOptionInfo *option = nullptr;
      std::vector<std::string> names;
      for (const PassOptionInfo &info : step.info->options) {
        names.push_back(info.name);
        if (info.name == key)
          option = &info;
      }
      if (!option)
        return fail(start, "'{0}' has no option '{1}'{2}", step.info->name, key, didYouMean(key, names))
            .code("pipeline_option");
      if (!given.insert(key).second)
        return fail(start, "option '{0}' of '{1}' is given twice", key, step.info->name).code("pipeline_option");
      llvm::StringRef value;
      size_t valueStart = position;
      if (consume('=')) {
        valueStart = position;
        while (position < text.size() && text[position] != '}' && !llvm::isSpace(text[position]))
          ++position;
        value = text.slice(valueStart, position);
      } else if (option->kind != PassOptionKind::Bool) {
        return fail(position, "option '{0}' of '{1}' needs a value", key, step.info->name).code("pipeline_value");
      }
      std::string expected = PassOptions::checkValue(*option, value);
      if (!expected.empty())
        return fail(valueStart, "option '{0}' of '{1}' is {2}, got '{3}'", key, step.info->name, expected, value)
            .code("pipeline_value");
      step.options.set(key, value);
    }
    return llvm::Error::success();
  }

  std::shared_ptr<const SourceText> source;
  llvm::StringRef text;
  size_t position = 0;
};
} // namespace

llvm::Expected<std::vector<PipelineStep>> parsePipeline(llvm::StringRef text, llvm::StringRef name) {
  return PipelineParser(text, name).parse();
}

std::string printPipeline(llvm::ArrayRef<PipelineStep> steps) {
  std::string text;
  for (const PipelineStep &step : steps)
    text += (text.empty() ? "" : ",") + step.toString();
  return text;
}

} // namespace qfx
