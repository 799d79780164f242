// Reads Passes.def into the registry and parses option values.
#include "passes/PassRegistry.h"

#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace qfx {

/// `mode:ptq|qat=ptq, strict:bool=false`
static std::vector<PassOptionInfo> parseOptionTable(llvm::StringRef text) {
  std::vector<PassOptionInfo> infos;
  llvm::SmallVector<llvm::StringRef, 8> entries;
  text.split(entries, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef entry : entries) {
    auto [left, defaultText] = entry.trim().split('=');
    auto [name, kind] = left.split(':');
    PassOptionInfo info;
    info.name = name.str();
    info.defaultText = defaultText.str();
    if (kind == "bool")
      info.kind = PassOptionKind::Bool;
    else if (kind == "int")
      info.kind = PassOptionKind::Int;
    else if (kind == "ints")
      info.kind = PassOptionKind::Ints;
    else if (kind == "float")
      info.kind = PassOptionKind::Float;
    else if (kind == "str")
      info.kind = PassOptionKind::String;
    else {
      info.kind = PassOptionKind::Choice;
      llvm::SmallVector<llvm::StringRef, 4> choices;
      kind.split(choices, '|');
      assert(choices.size() > 1 && "unknown option kind in Passes.def");
      for (llvm::StringRef choice : choices)
        info.choices.push_back(choice.str());
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

const std::vector<PassInfo> &getAllPasses() {
  static const std::vector<PassInfo> passes = {
#define QFX_PASS(Class, name, summary, options) {name, summary, parseOptionTable(options), create##Class},
#define QFX_PIPELINE(name, text, summary)
#include "passes/Passes.def"
  };
  return passes;
}

const std::vector<PipelineInfo> &getAllPipelines() {
  static const std::vector<PipelineInfo> pipelines = {
#define QFX_PASS(Class, name, summary, options)
#define QFX_PIPELINE(name, text, summary) {name, text, summary},
#include "passes/Passes.def"
  };
  return pipelines;
}

const PassInfo *findPass(llvm::StringRef name) {
  for (const PassInfo &info : getAllPasses())
    if (info.name == name)
      return &info;
  return nullptr;
}

const PipelineInfo *findPipeline(llvm::StringRef name) {
  for (const PipelineInfo &info : getAllPipelines())
    if (info.name == name)
      return &info;
  return nullptr;
}

std::vector<std::string> getPassNames() {
  std::vector<std::string> names;
  for (const PassInfo &info : getAllPasses())
    names.push_back(info.name.str());
  for (const PipelineInfo &info : getAllPipelines())
    names.push_back(info.name.str());
  return names;
}

const PassOptionInfo *PassOptions::find(llvm::StringRef name) const {
  for (const PassOptionInfo &info : infos)
    if (info.name == name)
      return &info;
  return nullptr;
}

const std::string &PassOptions::getText(llvm::StringRef name, PassOptionKind kind) const {
  const PassOptionInfo *info = find(name);
  assert(info && "the pass has no option of that name");
  assert((info->kind == kind || (kind == PassOptionKind::String && info->kind == PassOptionKind::Choice)) &&
         "the option has another kind");
  (void)kind;
  for (const auto &entry : llvm::reverse(given))
    if (entry.first == name)
      return entry.second;
  return info->defaultText;
}

/// "true", "1" and the empty text of a bare `{flag}` switch on.
static bool parseBool(llvm::StringRef text, bool &value) {
  value = text == "true" || text == "1" || text.empty();
  return value || text == "false" || text == "0";
}

static bool parseInts(llvm::StringRef text, std::vector<int64_t> &values) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  if (text.consume_front("["))
    if (!text.consume_back("]"))
      return false;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    int64_t value = 0;
    if (part.trim().getAsInteger(10, value))
      return false;
    values.push_back(value);
  }
  return true;
}

std::string PassOptions::checkValue(const PassOptionInfo &info, llvm::StringRef text) {
  switch (info.kind) {
  case PassOptionKind::Bool: {
    bool value;
    return parseBool(text, value) ? "" : "true or false";
  }
  case PassOptionKind::Int: {
    int64_t value;
    return !text.getAsInteger(10, value) ? "" : "an integer";
  }
  case PassOptionKind::Ints: {
    std::vector<int64_t> values;
    return parseInts(text, values) ? "" : "a list of integers like [0,2]";
  }
  case PassOptionKind::Float: {
    double value;
    return !text.getAsDouble(value) ? "" : "a number";
  }
  case PassOptionKind::Choice: {
    if (llvm::is_contained(info.choices, text.str()))
      return "";
    std::string quoted;
    for (const std::string &choice : info.choices)
      quoted += (quoted.empty() ? "'" : ", '") + choice + "'";
    return "one of " + quoted;
  }
  case PassOptionKind::String:
    return "";
  }
  llvm_unreachable("all kinds handled");
}

void PassOptions::set(llvm::StringRef name, llvm::StringRef text) {
  assert(find(name) && checkValue(*find(name), text).empty() && "checked by the parser");
  auto it = llvm::find_if(given, [&](const auto &option) { return option.first == name; });
  if (it != given.end())
    it->second = text.str();
  else
    given.emplace_back(name.str(), text.str());
}

bool PassOptions::getBool(llvm::StringRef name) const {
  bool value = false;
  parseBool(getText(name, PassOptionKind::Bool), value);
  return value;
}

int64_t PassOptions::getInt(llvm::StringRef name) const {
  int64_t value = 0;
  llvm::StringRef(getText(name, PassOptionKind::Int)).getAsInteger(10, value);
  return value;
}

std::vector<int64_t> PassOptions::getInts(llvm::StringRef name) const {
  std::vector<int64_t> values;
  parseInts(getText(name, PassOptionKind::Ints), values);
  return values;
}

double PassOptions::getFloat(llvm::StringRef name) const {
  double value = 0;
  llvm::StringRef(getText(name, PassOptionKind::Float)).getAsDouble(value);
  return value;
}

std::string PassOptions::getString(llvm::StringRef name) const { return getText(name, PassOptionKind::String); }

std::string PassOptions::toString() const {
  if (given.empty())
    return "";
  std::string text = "{";
  for (const auto &[name, value] : given)
    text += (text.size() > 1 ? " " : "") + name + (value.empty() ? "" : "=" + value);
  return text + "}";
}

} // namespace qfx
