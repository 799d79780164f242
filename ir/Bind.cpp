// Sorts arguments, attributes and owned tensors into the slots of an operator.
#include "ir/Bind.h"

#include "ir/FusedClasses.h"
#include "ir/Graph.h"
#include "ir/GraphModule.h"
#include "ir/Module.h"
#include "ir/OpKind.h"

namespace qfx {

const BoundSlot *BoundCall::find(llvm::StringRef name) const {
  for (const BoundSlot &slot : slots)
    if (slot.info->name == name)
      return &slot;
  return nullptr;
}

const BoundSlot &BoundCall::get(llvm::StringRef name) const {
  const BoundSlot *slot = find(name);
  assert(slot && "the operator has no such slot");
  return *slot;
}

//===----------------------------------------------------------------------===//
// Kinds of arguments
//===----------------------------------------------------------------------===//

static bool isIntOrNode(const Argument &arg) {
  return arg.isInt() || arg.isBool() || arg.isNode() || arg.isNone();
}

/// Could `arg` stand in a slot of that type?  A node always could: what it yields is the type rule's business.
static bool fits(const Argument &arg, const SlotInfo &slot) {
  if (arg.isNode())
    return true;
  if (arg.isNone())
    return slot.acceptsNone || slot.type == SlotType::Any;
  switch (slot.type) {
  case SlotType::Tensor:
    return false;
  case SlotType::TensorList:
    return arg.isSequence() && llvm::all_of(arg.getElements(), [](const Argument &one) { return one.isNode(); });
  case SlotType::Int:
    return arg.isInt() || arg.isBool();
  case SlotType::Ints:
    return arg.isInt() || arg.isBool() || (arg.isSequence() && llvm::all_of(arg.getElements(), isIntOrNode));
  case SlotType::Float:
  case SlotType::Number:
    return arg.isNumber();
  case SlotType::Bool:
    return arg.isBool() || arg.isInt();
  case SlotType::String:
    return arg.isString();
  case SlotType::DType:
    return arg.isDType();
  case SlotType::Any:
    return true;
  }
  return true;
}

static llvm::StringRef describe(SlotType type) {
  switch (type) {
  case SlotType::Tensor:
    return "a tensor";
  case SlotType::TensorList:
    return "a list of tensors";
  case SlotType::Int:
    return "an int";
  case SlotType::Ints:
    return "an int or a list of ints";
  case SlotType::Float:
  case SlotType::Number:
    return "a number";
  case SlotType::Bool:
    return "a bool";
  case SlotType::String:
    return "a string";
  case SlotType::DType:
    return "a dtype";
  case SlotType::Any:
    return "anything";
  }
  return "anything";
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// PyTorch understands NumPy's names for some parameters: torch.mean(x, axis=1).
static llvm::StringRef foldNumpyName(llvm::StringRef name) {
  static const std::pair<llvm::StringLiteral, llvm::StringLiteral> kNames[] = {
      {"axis", "dim"}, {"keepdims", "keepdim"}, {"x", "input"}, {"x1", "input"}, {"x2", "other"}};
  for (const auto &[numpy, torch] : kNames)
    if (name == numpy)
      return torch;
  return name;
}

namespace {
/// The arguments of one call by position in its signature.
struct CallArguments {
  llvm::ArrayRef<SlotInfo> slots;
  llvm::SmallVector<std::optional<Argument>, 8> values;
};
} // namespace

static std::string getSlotNames(llvm::ArrayRef<SlotInfo> slots) {
  std::string text;
  for (const SlotInfo &slot : slots)
    if (!slot.isFixed)
      text += (text.empty() ? "" : ", ") + slot.name;
  return text;
}

/// Python's rules: positional arguments first, then keywords; no surplus, unknown, double or missing one.
static llvm::Expected<CallArguments> matchArguments(llvm::StringRef callee, const Signature &signature,
                                                    llvm::ArrayRef<Argument> args, const Kwargs &kwargs,
                                                    const Location &loc) {
  CallArguments call{signature.getSlots(), {}};
  call.values.resize(call.slots.size());
  size_t next = 0;
  for (size_t i = 0; i < call.slots.size() && next < args.size(); ++i) {
    const SlotInfo &slot = call.slots[i];
    if (slot.isFixed)
      continue;
    if (!slot.isVariadic) {
      call.values[i] = args[next++];
      continue;
    }
    llvm::ArrayRef<Argument> rest = args.drop_front(next);
    bool isWhole = rest.size() == 1 && (rest[0].isSequence() || (rest[0].isNode() && slot.type == SlotType::Ints));
    call.values[i] = isWhole ? rest[0] : Argument::tuple(rest.vec());
    next = args.size();
  }
  if (next < args.size())
    return error(loc, "'{0}' takes {1} positional arguments ({2}), got {3}", callee, next, getSlotNames(call.slots),
                 args.size())
        .code("node_arity");

  for (const auto &[name, value] : kwargs) {
    auto hasName = [&](llvm::StringRef wanted) {
      return [&, wanted](const SlotInfo &slot) { return slot.name == wanted && !slot.isFixed; };
    };
    const SlotInfo *slot = llvm::find_if(call.slots, hasName(name));
    if (slot == call.slots.end())
      slot = llvm::find_if(call.slots, hasName(foldNumpyName(name)));
    if (slot == call.slots.end()) {
      std::vector<std::string> names;
      for (const SlotInfo &known : call.slots)
        names.push_back(known.name);
      return error(loc, "'{0}' has no argument '{1}'{2}; it takes ({3})", callee, name, didYouMean(name, names),
                   getSlotNames(call.slots))
          .code("node_arity");
    }
    std::optional<Argument> &place = call.values[slot - call.slots.begin()];
    if (place)
      return error(loc, "'{0}' got argument '{1}' twice", callee, name).code("node_arity");
    place = value;
  }

  for (size_t i = 0; i < call.slots.size(); ++i) {
    const SlotInfo &slot = call.slots[i];
    if (!call.values[i]) {
      bool mayMiss = slot.isOptional || slot.isVariadic || slot.isFixed;
      if (!mayMiss)
        return error(loc, "'{0}' lacks argument '{1}'; it takes ({2})", callee, slot.name, getSlotNames(call.slots))
            .code("node_arity");
    } else if (!slot.isVariadic && !fits(*call.values[i], slot)) {
      return error(loc, "'{0}' wants {1} for '{2}', got {3}", callee, describe(slot.type), slot.name,
                   toString(*call.values[i], ArgumentStyle::Qfx))
          .code("node_arity");
    }
  }
  return call;
}

/// Puts the call's values into the operator's slots of the names they aim at; a call's own default counts where it differs.
static void fillFromCall(BoundCall &bound, const CallArguments &call) {
  for (size_t i = 0; i < call.slots.size(); ++i) {
    const SlotInfo &info = call.slots[i];
    if (info.target.empty())
      continue;
    for (BoundSlot &slot : bound.slots) {
      if (slot.info->name != info.target)
        continue;
      if (call.values[i]) {
        slot.arg = *call.values[i];
        slot.isGiven = true;
      } else if (info.defaultValue) {
        slot.arg = *info.defaultValue;
      }
    }
  }
}

static BoundCall startCall(const TargetInfo &target, const Location &loc) {
  BoundCall bound;
  bound.target = &target;
  bound.op = &target.getOp();
  bound.loc = loc;
  for (const SlotInfo &info : bound.op->getSignature().getSlots()) {
    BoundSlot slot;
    slot.info = &info;
    if (info.defaultValue)
      slot.arg = *info.defaultValue;
    else if (info.isVariadic)
      slot.arg = Argument::tuple({});
    bound.slots.push_back(std::move(slot));
  }
  return bound;
}

/// Every slot that neither takes None nor has a default must hold something by now.
static llvm::Error checkComplete(const BoundCall &bound, llvm::StringRef callee) {
  for (const BoundSlot &slot : bound.slots) {
    bool isEmpty = slot.arg.isNone() && !slot.tensor && !slot.isGiven;
    if (!isEmpty || slot.info->isOptional || slot.info->acceptsNone)
      continue;
    if (bound.module && slot.info->type == SlotType::Tensor)
      return error(bound.loc, "module '{0}' lacks its tensor '{1}'", callee, slot.info->name).code("tensor_missing");
    return error(bound.loc, "'{0}' lacks argument '{1}'", callee, slot.info->name).code("node_arity");
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// Rule `module_attr`: attributes are known, of the right kind, and required ones are there.
static llvm::Error checkAttributes(const Module &module, const TargetInfo &row, const Location &loc) {
  const Signature &signature = row.getSignature();
  for (const auto &[name, value] : module.getAttributes()) {
    const SlotInfo *slot = signature.findSlot(name);
    if (!slot || slot->isFixed) {
      std::vector<std::string> names;
      for (const SlotInfo &known : signature.getSlots())
        names.push_back(known.name);
      return error(loc, "'{0}' has no attribute '{1}'{2}", row.text, name, didYouMean(name, names)).code("module_attr");
    }
    if (!fits(value, *slot))
      return error(loc, "'{0}' wants {1} for attribute '{2}', got {3}", row.text, describe(slot->type), name,
                   toString(value, ArgumentStyle::Qfx))
          .code("module_attr");
  }
  for (const SlotInfo &slot : signature.getSlots())
    if (!slot.isOptional && !module.findAttribute(slot.name))
      return error(loc, "'{0}' needs attribute '{1}'", row.text, slot.name).code("module_attr");
  return llvm::Error::success();
}

/// What the operator takes from the module: attributes of the slots' names, owned tensors, and the training flag where PyTorch's forward
/// passes it on (batch statistics are also used where there are no running ones).
static void fillFromModule(BoundCall &bound, const Module &module, const TargetInfo &row) {
  bool lacksStatistics = !module.findTensor("running_mean");
  for (BoundSlot &slot : bound.slots) {
    if (slot.isGiven)
      continue;
    bool isTensor = slot.info->type == SlotType::Tensor;
    if (slot.info->name == "training")
      slot.arg = module.isTraining() || (bound.op->kind == OpKind::BatchNorm && lacksStatistics);
    else if (slot.info->name == "use_input_stats")
      slot.arg = module.isTraining() || lacksStatistics;
    for (const SlotInfo &attribute : row.getSignature().getSlots())
      if (!isTensor && attribute.target == slot.info->name)
        if (const Argument *value = module.findAttribute(attribute.name))
          slot.arg = *value;
    if (const Tensor *tensor = module.findTensor(slot.info->name))
      slot.tensor = *tensor;
  }
}

static llvm::Expected<BoundCall> bindModule(const Module &module, llvm::ArrayRef<Argument> args, const Kwargs &kwargs,
                                            llvm::StringRef callee, const Location &loc) {
  const TargetInfo *row = module.getClass();
  if (!row)
    return error(loc, "'{0}' is a '{1}', a class that the operator table does not have{2}", callee, module.getClassName(),
                 didYouMean(module.getClassName(), getTargetNames(TargetKind::Module)))
        .code("module_class");
  if (llvm::Error err = checkAttributes(module, *row, loc))
    return err;
  if (llvm::Error err = checkModuleTensors(module, loc))
    return err;
  if (llvm::Error err = checkFusedChildren(module, loc))
    return err;
  auto call = matchArguments(callee, row->getForwardSignature(), args, kwargs, loc);
  if (!call)
    return call.takeError();
  BoundCall bound = startCall(*row, loc);
  bound.module = &module;
  fillFromCall(bound, *call);
  fillFromModule(bound, module, *row);
  if (llvm::Error err = checkComplete(bound, callee))
    return err;
  return bound;
}

llvm::Expected<BoundCall> bindModuleCall(const Module &module, llvm::ArrayRef<Argument> args, const Location &loc) {
  return bindModule(module, args, {}, module.getClassName(), loc);
}

llvm::Expected<BoundCall> bindCall(const Node &node, const GraphModule &model) {
  if (node.is(Opcode::CallModule)) {
    ModuleRef module = model.getModule(node);
    if (!module)
      return error(node.getLoc(), "the model has no module '{0}'", node.getTargetText()).code("node_target");
    return bindModule(*module, node.getArgs(), node.getKwargs(), node.getTargetText(), node.getLoc());
  }
  assert((node.is(Opcode::CallFunction) || node.is(Opcode::CallMethod)) && "only calls bind");
  const TargetInfo &target = *node.getTarget();
  auto call = matchArguments(target.text, target.getSignature(), node.getArgs(), node.getKwargs(), node.getLoc());
  if (!call)
    return call.takeError();
  BoundCall bound = startCall(target, node.getLoc());
  fillFromCall(bound, *call);
  if (llvm::Error err = checkComplete(bound, target.text))
    return err;
  return bound;
}

} // namespace qfx
