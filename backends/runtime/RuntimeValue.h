// What a node yields while a plan is built: a tensor's place, a host value, packed weights, or a nest of these.
#ifndef BACKENDS_RUNTIME_RUNTIMEVALUE_H
#define BACKENDS_RUNTIME_RUNTIMEVALUE_H

#include "backends/runtime/View.h"
#include "ir/Argument.h"

#include <string>
#include <utility>
#include <vector>

namespace qfx {
class Module;
}

namespace qfx::runtime {

struct RuntimeValue {
  enum class Kind : uint8_t { Unknown, Tensor, Number, Host, Sequence, Dict, Packed };

  RuntimeValue() = default;
  RuntimeValue(View view) : kind(Kind::Tensor), view(std::move(view)) {}
  /// A Python number that is known only when the graph runs: \param view  f64, i64 or bool of rank 0.
  static RuntimeValue ofNumber(View view) {
    RuntimeValue value(std::move(view));
    value.kind = Kind::Number;
    return value;
  }
  static RuntimeValue ofHost(Argument constant) {
    RuntimeValue value;
    value.kind = Kind::Host;
    value.host = std::move(constant);
    return value;
  }
  static RuntimeValue ofSequence(std::vector<RuntimeValue> elements) {
    RuntimeValue value;
    value.kind = Kind::Sequence;
    value.elements = std::move(elements);
    return value;
  }
  static RuntimeValue ofPacked(std::shared_ptr<const Module> module) {
    RuntimeValue value;
    value.kind = Kind::Packed;
    value.packed = std::move(module);
    return value;
  }

  bool isTensor() const { return kind == Kind::Tensor; }
  bool isNumber() const { return kind == Kind::Number; }
  /// Known before running, all of it.
  bool isConstant() const {
    if (isTensor() || isNumber())
      return view.isConstant();
    for (const RuntimeValue &element : elements)
      if (!element.isConstant())
        return false;
    return true;
  }

  Kind kind = Kind::Unknown;
  View view; ///< of a tensor or number
  Argument host;
  std::vector<RuntimeValue> elements; ///< of a sequence or dictionary
  std::vector<std::string> keys;      ///< of a dictionary
  std::shared_ptr<const Module> packed;
};

/// "tensor", "number", "sequence", ... for messages.
inline const char *describe(const RuntimeValue &value) {
  switch (value.kind) {
  case RuntimeValue::Kind::Unknown:
    return "a value of unknown kind";
  case RuntimeValue::Kind::Tensor:
    return "a tensor";
  case RuntimeValue::Kind::Number:
    return "a number that is known only when the graph runs";
  case RuntimeValue::Kind::Host:
    return "a host value";
  case RuntimeValue::Kind::Sequence:
    return "a sequence";
  case RuntimeValue::Kind::Dict:
    return "a dictionary";
  case RuntimeValue::Kind::Packed:
    return "packed weights";
  }
  return "";
}

} // namespace qfx::runtime

#endif // BACKENDS_RUNTIME_RUNTIMEVALUE_H
