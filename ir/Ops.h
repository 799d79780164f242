// The target table: every operator, and every spelling (module class, function, method) that binds to one.
#ifndef IR_OPS_H
#define IR_OPS_H

#include "ir/Argument.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace qfx {

class InferContext;
struct Location;
class Module;
class ValueType;

enum class OpKind : uint16_t; // enumerators: ir/OpKind.h

/// Facts that passes and the runtime ask about an operator.
enum class Traits : uint32_t {
  None = 0,
  Weighted = 1u << 0,       ///< has a `weight` operand that convert may quantize
  KeepsQuantizer = 1u << 1, ///< on a quantized input, the result has the input's quantization parameters
  ViewsData = 1u << 2,      ///< moves or re-labels elements, computes nothing (reshape, transpose, slices, cat)
  HostValue = 1u << 3,      ///< the result is a number, tuple or type known from shapes, not a tensor
  Impure = 1u << 4,         ///< must stay though nobody uses the result
  Observes = 1u << 5,       ///< an observer or fake-quantizer: updates its module's buffers when run
  Composite = 1u << 6,      ///< runs its module's children (fused float modules, containers)
  Quantized = 1u << 7,      ///< takes quantized tensors (the quantized:: operators and modules)
  Identity = 1u << 8,       ///< returns its input unchanged at inference
};
constexpr Traits operator|(Traits a, Traits b) { return static_cast<Traits>(uint32_t(a) | uint32_t(b)); }
constexpr bool hasTrait(Traits set, Traits one) { return (uint32_t(set) & uint32_t(one)) != 0; }

enum class SlotType : uint8_t { Tensor, TensorList, Int, Ints, Float, Number, Bool, String, DType, Any };

/// One parameter of a signature, in PyTorch's order and spelling.
struct SlotInfo {
  std::string name;
  SlotType type = SlotType::Any;
  bool acceptsNone = false;
  bool isOptional = false;              ///< may be left out; then `defaultValue`, or None for tensors
  std::optional<Argument> defaultValue; ///< set for optional non-tensor slots
  bool isVariadic = false;              ///< takes all further positional arguments (view(2, -1))
  bool isFixed = false;                 ///< not an argument: the spelling itself says the value (`max_pool2d_with_indices`)
  std::string target;                   ///< the operator's slot that it fills: its own name unless said; empty: none
};

/// A parsed signature text: `input:T, weight:T, bias:T?=None, stride:ints=1, groups:int=1, *sizes:ints`.
/// Types: T (tensor), T[] (list of tensors), int, ints (one or a list), float, num (int, float or bool), bool, str, dtype, any;
/// a trailing `?` also takes None.  A literal default makes the slot optional.  `self@input:T` is named self in the call and fills the
/// operator's slot `input`; `bias_@:bool` is accepted and fills none; `!mode:str='reflect'` is no argument but a constant.
class Signature {
public:
  explicit Signature(llvm::StringRef text);
  llvm::ArrayRef<SlotInfo> getSlots() const { return slots; }
  const SlotInfo *findSlot(llvm::StringRef name) const;

private:
  std::vector<SlotInfo> slots;
};

struct OpInfo {
  OpKind kind;
  llvm::StringRef name; ///< "Conv2d"
  llvm::StringRef signatureText;
  Traits traits;
  llvm::Expected<ValueType> (*infer)(const InferContext &);

  const Signature &getSignature() const;
  bool has(Traits trait) const { return hasTrait(traits, trait); }
};

enum class TargetKind : uint8_t { Function, Method, Module };

/// A tensor that a module class owns.
struct ModuleTensor {
  std::string name;
  bool isBuffer = false;
  bool isOptional = false;   ///< may be absent whatever the attributes say
  std::string presentIf;     ///< attributes, joined by `&`, that must all be true (or not None) for it to exist; empty: always
  std::string dtype;         ///< the attribute that says its dtype, or a dtype (`i64`); empty: what the operator's rule takes
  /// Sizes by the attributes: `64`, `in_channels`, `4*hidden_size`, `in_channels/groups`, `*kernel_size` (all of a list; a number stands for
  /// each further axis).  None: what the operator's rule takes.
  std::optional<std::vector<std::string>> sizes;
};

/// One spelling.  Pattern matching and printing go by spelling, execution by operator.
struct TargetInfo {
  TargetKind kind;
  OpKind op;
  llvm::StringRef text;           ///< as FX's graph text prints it: torch._C._nn.linear, relu, torch.nn.Conv2d
  llvm::StringRef canonicalText;  ///< backend_config.md 2.1; empty: itself
  llvm::StringRef signatureText;  ///< functions, methods: own order of arguments (empty: the operator's); modules: attributes
  llvm::StringRef tensorsText;    ///< modules: "weight[out,in] bias[out]?bias ~running_mean[n]?track_running_stats ~num_batches_tracked:i64[]?"
  llvm::StringRef forwardText;    ///< modules: signature of forward (empty: the operator's tensor slots the module lacks)

  const OpInfo &getOp() const;
  /// Functions and methods: the call's signature.  Modules: the attributes.
  const Signature &getSignature() const;
  const Signature &getForwardSignature() const; ///< modules only
  /// Modules only: the tensors that depend on no attribute's number; recurrent layers have more, see getModuleTensors().
  llvm::ArrayRef<ModuleTensor> getTensors() const;
  const TargetInfo &getCanonical() const;
  /// The last part of the dotted text: FX's name candidate of a function, a class's own name.
  llvm::StringRef getBaseName() const;
};

/// The tensors that this module object has by its attributes: conditions resolved, a recurrent layer's weights spelled out for each layer
/// and direction in PyTorch's order.  Those with isOptional may be absent.  Empty for containers of unknown class.
std::vector<ModuleTensor> getModuleTensors(const Module &module);
/// Rule `module_tensor`: every tensor of the module is one that its class has, with the sizes and the dtype that its attributes say.
/// Tensors that are missing are no matter here (`tensor_missing`).
llvm::Error checkModuleTensors(const Module &module, const Location &loc);

const OpInfo &getOpInfo(OpKind kind);
llvm::ArrayRef<OpInfo> getAllOps();
llvm::ArrayRef<TargetInfo> getAllTargets();

/// Lookups by spelling; null if unknown.  Older homes of module classes (backend_config.md 2.1), `torch.ops.aten.X` for `aten.X` and
/// `torch.ops.quantized.X.default` for `torch.ops.quantized.X` are understood.
const TargetInfo *findFunction(llvm::StringRef text);
const TargetInfo *findMethod(llvm::StringRef name);
const TargetInfo *findModuleClass(llvm::StringRef name);

/// The same for names the code itself relies on; a missing row is a programming error (asserted).
const TargetInfo &requireFunction(llvm::StringRef text);
const TargetInfo &requireMethod(llvm::StringRef name);
const TargetInfo &requireModuleClass(llvm::StringRef name);

/// All spellings of one kind, for "did you mean".
std::vector<std::string> getTargetNames(TargetKind kind);

} // namespace qfx

#endif // IR_OPS_H
