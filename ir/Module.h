// The module tree: state under PyTorch's names.
#ifndef IR_MODULE_H
#define IR_MODULE_H

#include "ir/Argument.h"
#include "ir/Location.h"
#include "ir/NamedList.h"
#include "ir/Tensor.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace qfx {

struct TargetInfo;
class Module;
using ModuleRef = std::shared_ptr<Module>;

/// A module object.  Several parents may hold the same one (shared observers, a layer under two names).
class Module {
public:
  template <class T> using Named = NamedList<T>;

  /// A container of a class that the operator table does not know ("torch.nn.Module" for a bare level).
  explicit Module(llvm::StringRef className = "torch.nn.Module");
  /// A module of a known class, with the given attributes; missing ones read as the row's defaults.
  explicit Module(const TargetInfo &moduleClass, Named<Argument> attributes = {});

  /// Row of the target table, or null for a container of an unknown class.
  const TargetInfo *getClass() const { return moduleClass; }
  const std::string &getClassName() const { return className; }
  bool isA(const TargetInfo &info) const { return moduleClass == &info; }

  bool isTraining() const { return training; }
  void setTraining(bool on) { training = on; }
  const Location &getLoc() const { return loc; }
  void setLoc(Location newLoc) { loc = std::move(newLoc); }

  /// Attributes that were set, in order.
  const Named<Argument> &getAttributes() const { return attributes; }
  /// The set value or the row's default; null if the class has no such attribute.
  const Argument *findAttribute(llvm::StringRef name) const;
  const Argument &getAttribute(llvm::StringRef name) const; ///< asserts that it exists
  void setAttribute(llvm::StringRef name, Argument value);

  const Named<Tensor> &getParameters() const { return parameters; }
  const Named<Tensor> &getBuffers() const { return buffers; }
  /// Parameter or buffer, or null.
  const Tensor *findTensor(llvm::StringRef name) const;
  const Tensor &getTensor(llvm::StringRef name) const; ///< asserts that it exists
  void setParameter(llvm::StringRef name, Tensor tensor);
  void setBuffer(llvm::StringRef name, Tensor tensor);
  void removeTensor(llvm::StringRef name);

  const Named<ModuleRef> &getChildren() const { return children; }
  ModuleRef findChild(llvm::StringRef name) const;
  /// Adds or replaces; a replaced child keeps its place.
  void setChild(llvm::StringRef name, ModuleRef child);
  void removeChild(llvm::StringRef name);

  /// Does this object have an attribute, tensor or child of that name (the test behind fresh observer names)?
  bool hasMember(llvm::StringRef name) const;

  // Dotted paths below this module; "" is the module itself.
  ModuleRef findModule(llvm::StringRef path) const; ///< null if a part is missing; not for ""
  /// Sets a module, creating missing levels as plain containers.
  void setModule(llvm::StringRef path, ModuleRef module);
  const Tensor *findTensorAt(llvm::StringRef path) const;
  /// Calls visit(path, module) depth first in child order, parents before children; shared modules under every path.
  void forEachModule(llvm::function_ref<void(const std::string &path, const ModuleRef &module)> visit) const;

  /// A copy of this object only: attributes, tensors, the same children.
  ModuleRef shallowCopy() const;
  /// A copy of the tree in which objects shared within it stay shared; tensors share storage (they are immutable).
  ModuleRef deepCopy() const;

private:
  const TargetInfo *moduleClass = nullptr;
  std::string className;
  bool training = false;
  Named<Argument> attributes;
  Named<Tensor> parameters, buffers;
  Named<ModuleRef> children;
  Location loc;
};

/// ("layer1.0", "bn1") of "layer1.0.bn1"; ("", "bn1") of "bn1".
std::pair<llvm::StringRef, llvm::StringRef> splitPath(llvm::StringRef path);
std::string joinPath(llvm::StringRef parent, llvm::StringRef name);

} // namespace qfx

#endif // IR_MODULE_H
