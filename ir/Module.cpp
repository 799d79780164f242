// Member lookup, dotted paths and copies of the module tree.
#include "ir/Module.h"

#include "ir/Ops.h"

#include "llvm/ADT/DenseMap.h"

namespace qfx {

Module::Module(llvm::StringRef className) : className(className.str()) {}

Module::Module(const TargetInfo &moduleClass, Named<Argument> attributes)
    : moduleClass(&moduleClass), className(moduleClass.text.str()), attributes(std::move(attributes)) {}

const Argument *Module::findAttribute(llvm::StringRef name) const {
  if (const Argument *set = attributes.find(name))
    return set;
  if (moduleClass)
    if (const SlotInfo *slot = moduleClass->getSignature().findSlot(name))
      if (slot->defaultValue)
        return &*slot->defaultValue;
  return nullptr;
}

const Argument &Module::getAttribute(llvm::StringRef name) const {
  const Argument *value = findAttribute(name);
  assert(value && "module has no such attribute");
  return *value;
}

void Module::setAttribute(llvm::StringRef name, Argument value) { attributes.set(name, std::move(value)); }

const Tensor *Module::findTensor(llvm::StringRef name) const {
  if (const Tensor *parameter = parameters.find(name))
    return parameter;
  return buffers.find(name);
}

const Tensor &Module::getTensor(llvm::StringRef name) const {
  const Tensor *tensor = findTensor(name);
  assert(tensor && "module has no such tensor");
  return *tensor;
}

void Module::setParameter(llvm::StringRef name, Tensor tensor) { parameters.set(name, std::move(tensor)); }
void Module::setBuffer(llvm::StringRef name, Tensor tensor) { buffers.set(name, std::move(tensor)); }

void Module::removeTensor(llvm::StringRef name) {
  parameters.remove(name);
  buffers.remove(name);
}

ModuleRef Module::findChild(llvm::StringRef name) const {
  const ModuleRef *child = children.find(name);
  return child ? *child : nullptr;
}

void Module::setChild(llvm::StringRef name, ModuleRef child) { children.set(name, std::move(child)); }
void Module::removeChild(llvm::StringRef name) { children.remove(name); }

bool Module::hasMember(llvm::StringRef name) const {
  return findAttribute(name) || findTensor(name) || children.find(name);
}

ModuleRef Module::findModule(llvm::StringRef path) const {
  const Module *current = this;
  ModuleRef found;
  while (!path.empty()) {
    auto [head, rest] = path.split('.');
    found = current->findChild(head);
    if (!found)
      return nullptr;
    current = found.get();
    path = rest;
  }
  return found;
}

void Module::setModule(llvm::StringRef path, ModuleRef module) {
  auto [head, rest] = path.split('.');
  if (rest.empty())
    return setChild(head, std::move(module));
  ModuleRef child = findChild(head);
  if (!child) {
    child = std::make_shared<Module>();
    child->setTraining(training);
    setChild(head, child);
  }
  child->setModule(rest, std::move(module));
}

const Tensor *Module::findTensorAt(llvm::StringRef path) const {
  auto [parent, name] = splitPath(path);
  if (parent.empty())
    return findTensor(name);
  ModuleRef module = findModule(parent);
  return module ? module->findTensor(name) : nullptr;
}

static void visitModules(const std::string &prefix, const Module &module,
                         llvm::function_ref<void(const std::string &, const ModuleRef &)> visit) {
  for (const auto &[name, child] : module.getChildren()) {
    std::string path = joinPath(prefix, name);
    visit(path, child);
    visitModules(path, *child, visit);
  }
}

void Module::forEachModule(llvm::function_ref<void(const std::string &, const ModuleRef &)> visit) const {
  visitModules("", *this, visit);
}

ModuleRef Module::shallowCopy() const { return std::make_shared<Module>(*this); }

static ModuleRef copyTree(const Module &module, llvm::DenseMap<const Module *, ModuleRef> &copies) {
  if (ModuleRef done = copies.lookup(&module))
    return done;
  ModuleRef copy = module.shallowCopy();
  copies[&module] = copy;
  for (const auto &[name, child] : module.getChildren())
    copy->setChild(name, copyTree(*child, copies));
  return copy;
}

ModuleRef Module::deepCopy() const {
  llvm::DenseMap<const Module *, ModuleRef> copies;
  return copyTree(*this, copies);
}

std::pair<llvm::StringRef, llvm::StringRef> splitPath(llvm::StringRef path) {
  size_t dot = path.rfind('.');
  if (dot == llvm::StringRef::npos)
    return {llvm::StringRef(), path};
  return {path.take_front(dot), path.drop_front(dot + 1)};
}

std::string joinPath(llvm::StringRef parent, llvm::StringRef name) {
  return parent.empty() ? name.str() : (parent + "." + name).str();
}

} // namespace qfx
