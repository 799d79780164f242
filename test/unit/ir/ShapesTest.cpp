// Inference against PyTorch: every call of golden/shapes.json (make_shapes.py) and
// float_ops/shapes.json (make_float_ops.py), float_layers/shapes.json (make_float_layers.py, but modules with children, which
// FloatOpsTest.cpp runs) yields the recorded type, or an error where PyTorch raises.
#include "Catch.h"

#include "ir/Graph.h"
#include "ir/GraphModule.h"
#include "ir/Infer.h"
#include "ir/Module.h"

#include "llvm/Support/raw_ostream.h"
#include <nlohmann/json.hpp>

#include <fstream>

using namespace qfx;
using nlohmann::json;

namespace {

TensorType readType(const json &text) {
  TensorType type;
  type.dtype = *parseDTypeText(text["dtype"].get<std::string>());
  for (const json &size : text["shape"])
    type.shape.push_back(Dim(size.get<int64_t>()));
  if (text.contains("format"))
    type.format = *parseMemoryFormat(text["format"].get<std::string>() + (text["format"] == "contiguous" ? "_format" : ""));
  if (text.contains("q")) {
    const json &q = text["q"];
    type.quantizer = std::make_shared<const Quantizer>(
        q.size() == 2 ? Quantizer::perTensor(q[0].get<double>(), q[1].get<int64_t>())
                      : Quantizer::perChannel(q[0].get<std::vector<double>>(), q[1].get<std::vector<int64_t>>(), q[2].get<int64_t>()));
  }
  return type;
}

/// Builds one call as a graph; tensors become placeholders.
struct CallBuilder {
  GraphModule model;

  Node *tensor(const json &text) {
    Node *node = model.getGraph().placeholder("x");
    node->setType(readType(text));
    return node;
  }

  Argument argument(const json &text) {
    if (text.is_null())
      return Argument::none();
    if (text.is_boolean())
      return text.get<bool>();
    if (text.is_number_integer())
      return text.get<int64_t>();
    if (text.is_string())
      return text.get<std::string>();
    if (text.is_array())
      return Argument::list(elements(text));
    if (text.contains("tensor"))
      return tensor(text["tensor"]);
    if (text.contains("float"))
      return text["float"].get<double>();
    if (text.contains("dtype"))
      return *parseDTypeText(text["dtype"].get<std::string>());
    if (text.contains("memory_format"))
      return *parseMemoryFormat(text["memory_format"].get<std::string>());
    if (text.contains("tuple"))
      return Argument::tuple(elements(text["tuple"]));
    if (text.contains("ellipsis"))
      return Argument::ellipsis();
    if (text.contains("slice"))
      return Argument::slice(argument(text["slice"][0]), argument(text["slice"][1]), argument(text["slice"][2]));
    return call(text["call"].get<std::string>(), text);
  }

  Argument::Elements elements(const json &text) {
    Argument::Elements result;
    for (const json &element : text)
      result.push_back(argument(element));
    return result;
  }

  Kwargs keywords(const json &text) {
    Kwargs result;
    for (const auto &[key, value] : text.items())
      result.emplace_back(key, argument(value));
    return result;
  }

  Node *call(const std::string &name, const json &text) {
    auto args = elements(text["args"]);
    auto kwargs = keywords(text["kwargs"]);
    return model.getGraph().callFunction(requireFunction(name), args, kwargs);
  }

  Node *build(const json &text) {
    std::string kind = text["kind"], name = text["text"];
    if (kind == "function")
      return call(name, text);
    auto args = elements(text["args"]);
    auto kwargs = keywords(text["kwargs"]);
    if (kind == "method")
      return model.getGraph().callMethod(requireMethod(name), args, kwargs);
    auto module = std::make_shared<Module>(requireModuleClass(name));
    for (const auto &[key, value] : text["attributes"].items())
      module->setAttribute(key, argument(value));
    for (const auto &[key, value] : text["tensors"].items()) {
      TensorType type = readType(value);
      module->setParameter(key, Tensor::build(type.dtype, type.getSizes(), [](MutableBytes) {}));
    }
    model.getRoot().setModule("m", module);
    return model.getGraph().callModule("m", args, kwargs);
  }
};

std::string describe(const ValueType &value, bool withFormat) {
  if (const TensorType *type = value.getTensor()) {
    TensorType shown = *type;
    if (!withFormat)
      shown.format = MemoryFormat::Contiguous;
    return toString(shown);
  }
  if (const auto *sequence = value.getSequence()) {
    std::string text = "(";
    for (const ValueType &element : sequence->elements)
      text += describe(element, withFormat) + ", ";
    return text + ")";
  }
  std::optional<Argument> constant = value.getConstant();
  return constant ? toString(*constant, ArgumentStyle::Qfx) : value.isUnknown() ? "unknown" : "something else";
}

ValueType readResult(const json &text, CallBuilder &builder) {
  if (text.is_object() && text.contains("tensor"))
    return readType(text["tensor"]);
  if (text.is_object() && text.contains("tuple")) {
    std::vector<ValueType> elements;
    for (const json &element : text["tuple"])
      elements.push_back(readResult(element, builder));
    return ValueType::sequence(Argument::Kind::Tuple, std::move(elements));
  }
  return ValueType::host(builder.argument(text));
}

/// Formats are compared only where PyTorch's strides say one unambiguously, all results included.
bool saysFormat(const json &text) {
  if (!text.is_object())
    return true;
  if (text.contains("tensor"))
    return text["tensor"].contains("format");
  if (!text.contains("tuple"))
    return true;
  for (const json &element : text["tuple"])
    if (!saysFormat(element))
      return false;
  return true;
}

json loadShapes(const std::string &name) {
  std::ifstream file(QFX_GOLDEN_DIR + ("/" + name));
  REQUIRE(file);
  return json::parse(file);
}

} // namespace

TEST_CASE("inference equals PyTorch on recorded calls", "[infer]") {
  json recorded = loadShapes(GENERATE("shapes.json", "float_ops/shapes.json", "float_layers/shapes.json"));
  for (const json &text : recorded["cases"]) {
    if (text.contains("children") && !text["children"].empty())
      continue;
    CallBuilder builder;
    Node *node = builder.build(text);
    auto types = inferTypes(builder.model);
    json call = text;
    call.erase("result");
    INFO(call.dump());
    if (!types) {
      std::string message = llvm::toString(types.takeError());
      INFO(message);
      CHECK(text.contains("raises"));
      continue;
    }
    if (text.contains("raises")) {
      INFO("inferred " << describe(types->lookup(node), true));
      CHECK_FALSE(text.contains("raises"));
      continue;
    }
    if (const json &result = text["result"]; result.is_object() && result.contains("complex")) { // both parts have its type
      const ValueType value = types->lookup(node);
      REQUIRE(value.getDictionary());
      for (const auto &[name, part] : value.getDictionary()->entries)
        CHECK(describe(part, false) == describe(readResult(result["complex"], builder), false));
      continue;
    }
    bool withFormat = saysFormat(text["result"]);
    CHECK(describe(types->lookup(node), withFormat) == describe(readResult(text["result"], builder), withFormat));
  }
}
