// Warnings and remarks of passes.
#include "passes/Pass.h"

namespace qfx {

void PassContext::warn(Diagnostic diagnostic) const {
  diagnostic.severity = Severity::Warning;
  if (onWarning)
    onWarning(diagnostic);
}

llvm::Error PassContext::missed(llvm::StringRef pass, const Node &node, std::string requested, Diagnostic why) const {
  if (strict) {
    why.severity = Severity::Error;
    return llvm::make_error<InputError>(std::move(why));
  }
  if (onCoverage)
    onCoverage({pass.str(), node.getName(), "", "", "float", why.message});
  if (onRemark) {
    Remark remark;
    remark.pass = pass.str();
    remark.node = node.getName();
    remark.requested = std::move(requested);
    remark.granted = "float";
    remark.diagnostic = std::move(why);
    remark.diagnostic.severity = Severity::Remark;
    onRemark(remark);
  }
  return llvm::Error::success();
}

llvm::Error PassContext::checkCancelled(llvm::StringRef pass) const {
  if (isCancelled && isCancelled())
    return error({}, "'{0}' was cancelled", pass).code("cancelled");
  return llvm::Error::success();
}

void PassContext::applied(llvm::StringRef pass, const Node &node, std::string message) const {
  if (!onRemark)
    return;
  Remark remark;
  remark.kind = Remark::Kind::Applied;
  remark.pass = pass.str();
  remark.node = node.getName();
  remark.diagnostic.severity = Severity::Remark;
  remark.diagnostic.loc = node.getLoc();
  remark.diagnostic.message = std::move(message);
  onRemark(remark);
}

} // namespace qfx
