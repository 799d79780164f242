// The table of forms, and what several of them need.
#include "ir/emit/Emit.h"

#include "ir/Ops.h"
#include "ir/Text.h"
#include "ir/emit/EmitDetail.h"
#include "ir/text/QfxText.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace qfx {

static constexpr llvm::StringLiteral kFormNames[] = {
#define QFX_EMIT(Name, text, description) text,
#include "ir/emit/Emit.def"
};

std::optional<EmitForm> parseEmitForm(llvm::StringRef text) {
  for (size_t i = 0; i < std::size(kFormNames); ++i)
    if (kFormNames[i] == text)
      return static_cast<EmitForm>(i);
  return std::nullopt;
}

llvm::StringRef getEmitFormName(EmitForm form) { return kFormNames[static_cast<unsigned>(form)]; }

std::vector<std::string> getEmitFormNames() { return {std::begin(kFormNames), std::end(kFormNames)}; }

void emit(llvm::raw_ostream &os, const GraphModule &model, EmitForm form) {
  switch (form) {
  case EmitForm::Qfx: {
    PrintOptions options;
    options.large = PrintOptions::Large::Digest;
    options.maxInlineElements = 16;
    printQfx(os, model, options);
    return;
  }
  case EmitForm::Fx:
    os << formatFx(model.getGraph()) << '\n';
    return;
  case EmitForm::Code: {
    const Argument *type = model.findMeta("output_type");
    os << formatCode(model.getGraph(), type && type->isString() ? type->getString() : "") << '\n';
    return;
  }
  case EmitForm::Tabular:
    os << formatTabular(model.getGraph()) << '\n';
    return;
  case EmitForm::Dot:
    emitDot(os, model);
    return;
  case EmitForm::Summary:
    emitSummary(os, model);
    return;
  case EmitForm::Json:
    emitJson(os, model);
    return;
  }
}

std::string getFxTarget(const Node &node) {
  llvm::StringRef target = node.getTargetText();
  if (node.is(Opcode::CallFunction) && startsWith(target, "aten."))
    return ("torch.ops." + target).str();
  return target.str();
}

const std::string *findTypeAnnotation(const Node &node) {
  const Argument *type = node.findMeta("type");
  return type && type->isString() ? &type->getString() : nullptr;
}

std::string formatPythonStr(const Argument &argument) {
  if (argument.getKind() == Argument::Kind::String || argument.getKind() == Argument::Kind::Device)
    return argument.getString();
  return toString(argument, ArgumentStyle::Repr);
}

std::string formatColumns(llvm::ArrayRef<std::vector<std::string>> rows, llvm::ArrayRef<size_t> minWidths) {
  std::vector<size_t> widths(minWidths.begin(), minWidths.end());
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size())
        line.append(widths[i] - row[i].size() + 2, ' ');
    }
    text += llvm::StringRef(line).rtrim().str() + '\n';
  }
  return text;
}

} // namespace qfx
