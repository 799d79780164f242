// Views of a model for reading: PyTorch's texts, a drawing, tables.
#ifndef IR_EMIT_EMIT_H
#define IR_EMIT_EMIT_H

#include "ir/GraphModule.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace qfx {

enum class EmitForm : uint8_t {
#define QFX_EMIT(Name, text, description) Name,
#include "ir/emit/Emit.def"
};

/// The form that `text` (qfx, fx, code, ...) names.
std::optional<EmitForm> parseEmitForm(llvm::StringRef text);
llvm::StringRef getEmitFormName(EmitForm form);
/// All spellings, for help and "did you mean".
std::vector<std::string> getEmitFormNames();

/// Writes `model` in one form.  Qfx prints large tensors as digests (printQfx has the other choices).
/// Every form ends with a newline.
void emit(llvm::raw_ostream &os, const GraphModule &model, EmitForm form);

/// `str(graph)` of torch 2.13, character for character, without a final newline.  A node's meta entry "type" (a string) is FX's
/// type annotation.
std::string formatFx(const Graph &graph);
/// `graph_module.code` of torch 2.13.
/// \param outputType  FX's type annotation of the output, if it is not in the output's own meta.
std::string formatCode(const Graph &graph, llvm::StringRef outputType = "");
/// What `graph.print_tabular()` prints, with qualified names in the target column, without a final newline.
std::string formatTabular(const Graph &graph);
/// A Graphviz digraph.
void emitDot(llvm::raw_ostream &os, const GraphModule &model);
/// A table of nodes (name, op, target, type, parameters) and totals of parameters and bytes by dtype.
void emitSummary(llvm::raw_ostream &os, const GraphModule &model);
/// The model as JSON, weights as facts only; keys are documented in docs/IR.md and stable.
void emitJson(llvm::raw_ostream &os, const GraphModule &model);

} // namespace qfx

#endif // IR_EMIT_EMIT_H
