// The model as JSON for other programs; keys as docs/IR.md lists them.
#include "ir/emit/Emit.h"

#include "ir/Infer.h"
#include "ir/Ops.h"
#include "ir/emit/EmitDetail.h"
#include "ir/text/QfxText.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

namespace qfx {

using llvm::json::OStream;

/// Numbers, strings, None, lists and dicts are JSON's own; everything else is an object with one key that names its kind.
static void writeArgument(OStream &out, const Argument &argument) {
  using Kind = Argument::Kind;
  auto writeElements = [&] {
    out.array([&] {
      for (const Argument &element : argument.getElements())
        writeArgument(out, element);
    });
  };
  auto writeTagged = [&](llvm::StringRef tag, llvm::StringRef text) {
    out.object([&] { out.attribute(tag, text); });
  };
  switch (argument.getKind()) {
  case Kind::None:
    return out.value(nullptr);
  case Kind::Bool:
    return out.value(argument.getBool());
  case Kind::Int:
    return out.value(argument.getInt());
  case Kind::Float:
    if (std::isfinite(argument.getFloat()))
      return out.value(argument.getFloat());
    return writeTagged("float", toString(argument, ArgumentStyle::Repr)); // JSON has no inf and nan
  case Kind::String:
    return out.value(argument.getString());
  case Kind::DType:
    return writeTagged("dtype", getDTypeInfo(argument.getDType()).torchName);
  case Kind::QScheme:
    return writeTagged("qscheme", getQSchemeName(argument.getQScheme()));
  case Kind::MemoryFormat:
    return writeTagged("memory_format", getMemoryFormatName(argument.getMemoryFormat()));
  case Kind::Device:
    return writeTagged("device", argument.getString());
  case Kind::Ellipsis:
    return writeTagged("ellipsis", "...");
  case Kind::Node:
    return writeTagged("node", argument.getNode()->getName());
  case Kind::List:
    return writeElements();
  case Kind::Tuple:
  case Kind::Slice:
    return out.object([&] {
      out.attributeBegin(argument.getKind() == Kind::Tuple ? "tuple" : "slice");
      writeElements();
      out.attributeEnd();
    });
  case Kind::Dict:
    return out.object([&] {
      out.attributeBegin("dict");
      out.object([&] {
        for (const auto &[key, value] : argument.getEntries()) {
          out.attributeBegin(key);
          writeArgument(out, value);
          out.attributeEnd();
        }
      });
      out.attributeEnd();
    });
  }
}

static void writeNamed(OStream &out, llvm::StringRef key, llvm::ArrayRef<std::pair<std::string, Argument>> entries) {
  out.attributeBegin(key);
  out.object([&] {
    for (const auto &[name, value] : entries) {
      out.attributeBegin(name);
      writeArgument(out, value);
      out.attributeEnd();
    }
  });
  out.attributeEnd();
}

static void writeNode(OStream &out, const Node &node, const TypeMap &types) {
  out.object([&] {
    out.attribute("name", node.getName());
    out.attribute("op", getOpcodeName(node.getOpcode()));
    out.attribute("target", node.getTargetText());
    out.attributeArray("args", [&] {
      for (const Argument &arg : node.getArgs())
        writeArgument(out, arg);
    });
    writeNamed(out, "kwargs", node.getKwargs());
    out.attributeArray("users", [&] {
      for (const Node *user : node.getUsers())
        out.value(user->getName());
    });
    auto it = types.find(&node);
    const TensorType *inferred = it == types.end() ? nullptr : it->second.getTensor();
    if (node.getType())
      out.attribute("type", toString(*node.getType()));
    else if (inferred)
      out.attribute("type", toString(*inferred));
    if (node.getScope())
      out.attributeObject("scope", [&] {
        out.attribute("path", node.getScope()->path);
        out.attribute("class", node.getScope()->className);
      });
    if (!node.getMeta().empty())
      writeNamed(out, "meta", node.getMeta());
    if (node.getLoc().isKnown())
      out.attributeObject("location", [&] {
        out.attribute("file", node.getLoc().file->name);
        out.attribute("line", node.getLoc().line);
        out.attribute("column", node.getLoc().column);
      });
  });
}

static void writeTensors(OStream &out, llvm::StringRef key, llvm::ArrayRef<std::pair<std::string, Tensor>> tensors) {
  out.attributeObject(key, [&] {
    for (const auto &entry : tensors)
      out.attributeObject(entry.first, [&] {
        out.attribute("type", toString(entry.second.getType()));
        out.attribute("bytes", static_cast<int64_t>(entry.second.getSizeBytes()));
      });
  });
}

static void writeModule(OStream &out, const std::string &path, const Module &module, const std::string *sameAs) {
  out.object([&] {
    out.attribute("path", path);
    if (sameAs)
      return out.attribute("same_as", *sameAs);
    out.attribute("class", module.getClassName());
    out.attribute("training", module.isTraining());
    writeNamed(out, "attributes", module.getAttributes());
    writeTensors(out, "parameters", module.getParameters());
    writeTensors(out, "buffers", module.getBuffers());
  });
}

void emitJson(llvm::raw_ostream &os, const GraphModule &model) {
  TypeMap types;
  if (auto inferred = inferTypes(model))
    types = std::move(*inferred);
  else
    llvm::consumeError(inferred.takeError()); // then only declared types are told
  OStream out(os, /*IndentSize=*/2);
  out.object([&] {
    out.attribute("qfx", kQfxVersion);
    out.attributeArray("modules", [&] {
      writeModule(out, "", model.getRoot(), nullptr);
      llvm::DenseMap<const Module *, std::string> first;
      model.getRoot().forEachModule([&](const std::string &path, const ModuleRef &module) {
        auto [it, isNew] = first.try_emplace(module.get(), path);
        writeModule(out, path, *module, isNew ? nullptr : &it->second);
      });
    });
    out.attributeArray("nodes", [&] {
      for (const Node &node : model.getGraph().nodes())
        writeNode(out, node, types);
    });
    writeNamed(out, "meta", model.getMeta());
  });
  os << '\n';
}

} // namespace qfx
