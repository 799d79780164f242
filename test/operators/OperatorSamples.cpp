// Cutting calls out of test/ir/ops and running them on made-up values.
#include "OperatorSamples.h"

#include "QuantizedCases.h"
#include "ir/Diagnostics.h"
#include "ir/GraphModule.h"
#include "ir/text/QfxText.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <regex>
#include <set>

namespace qfx::test {

std::string TypeText::get() const {
  std::string text = dtype + "[";
  for (size_t i = 0; i < sizes.size(); ++i)
    text += (i ? ", " : "") + sizes[i];
  return text + "]" + suffix;
}

TypeText splitType(const std::string &text) {
  TypeText type;
  const size_t open = text.find('['), close = text.find(']');
  type.dtype = text.substr(0, open);
  std::string sizes = text.substr(open + 1, close - open - 1);
  for (size_t at = 0; at < sizes.size();) {
    size_t comma = std::min(sizes.find(',', at), sizes.size());
    type.sizes.push_back(sizes.substr(at, comma - at));
    at = sizes.find_first_not_of(' ', comma + 1);
  }
  type.suffix = text.substr(close + 1);
  return type;
}

std::string Sample::getText() const {
  std::string text = "qfx 1\n";
  for (const std::string &line : declarations)
    text += line + "\n";
  text += "graph(";
  for (size_t i = 0; i < inputs.size(); ++i)
    text += (i ? ", %" : "%") + inputs[i].first + " : " + inputs[i].second.get();
  text += ") {\n";
  for (const std::string &line : lines)
    text += line + "\n";
  return text + "  return %" + result + "\n}\n";
}

static std::string snakeCase(llvm::StringRef name) {
  std::string text;
  for (char c : name) {
    if (llvm::isAlpha(c) && llvm::toUpper(c) == c && !text.empty())
      text += '_';
    text += llvm::toLower(c);
  }
  return text;
}

namespace {

/// The valid part of an operator's file.
struct File {
  std::vector<std::string> declarations, calls;
  std::map<std::string, TypeText> inputs;
};

} // namespace

/// Splits at commas outside brackets and braces.
static std::vector<std::string> splitTopLevel(const std::string &text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    depth += (c == '[' || c == '{' || c == '(') - (c == ']' || c == '}' || c == ')');
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

static std::optional<File> readFile(const OpInfo &op) {
  std::ifstream stream(std::string(QFX_SOURCE_DIR) + "/test/ir/ops/" + snakeCase(op.name) + ".qfx");
  if (!stream)
    return std::nullopt;
  File file;
  bool isValid = false, isGraph = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.compare(0, 4, "//--") == 0)
      isValid = line.find("valid.qfx") != std::string::npos && line.find("invalid") == std::string::npos;
    else if (!isValid || line.empty() || line == "qfx 1" || line == "}" || line.compare(0, 8, "  return") == 0)
      continue;
    else if (line.compare(0, 6, "graph(") == 0) {
      isGraph = true;
      for (std::string part : splitTopLevel(line.substr(6, line.rfind(')') - 6)))
        if (size_t colon = part.find(" : "); colon != std::string::npos) {
          const size_t name = part.find('%') + 1;
          file.inputs[part.substr(name, colon - name)] = splitType(part.substr(colon + 3));
        }
    } else {
      (isGraph ? file.calls : file.declarations).push_back(line);
    }
  }
  return file;
}

/// Names after '%' in a call's arguments.
static std::vector<std::string> getOperands(const std::string &call) {
  std::vector<std::string> names;
  static const std::regex pattern("%(\\w+)");
  const size_t open = call.find("](");
  for (std::sregex_iterator it(call.begin() + static_cast<ptrdiff_t>(open), call.end(), pattern), end; it != end; ++it)
    names.push_back((*it)[1]);
  return names;
}

std::vector<Sample> getSamples(const OpInfo &op) {
  std::vector<Sample> samples;
  std::optional<File> file = readFile(op);
  if (!file)
    return samples;
  std::map<std::string, std::string> byName; // call lines without result types
  for (std::string call : file->calls) {
    const size_t equals = call.find(" = ");
    std::string name = call.substr(3, equals - 3);
    int depth = 0;
    size_t end = call.find("](") + 1;
    for (; end < call.size(); ++end) {
      depth += (call[end] == '(') - (call[end] == ')');
      if (depth == 0)
        break;
    }
    call.resize(end + 1);
    byName[name] = call;
    const size_t open = call.find('['), close = call.find("](");
    std::string target = call.substr(open + 1, close - open - 1);
    const bool isModule = call.find("= call_module[") != std::string::npos;
    const TargetInfo *info = nullptr;
    if (isModule) {
      for (const std::string &line : file->declarations)
        if (line.compare(0, target.size() + 10, "module " + target + " : ") == 0)
          info = findModuleClass(line.substr(target.size() + 10, line.find('(') - target.size() - 10));
    } else {
      info = call.find("= call_method[") != std::string::npos ? findMethod(target) : findFunction(target);
    }
    if (!info || info->op != op.kind)
      continue; // a call that only feeds another one
    Sample sample;
    sample.op = &op;
    sample.target = info->text.str();
    sample.result = name;
    std::vector<std::string> todo{name};
    std::set<std::string> needed;
    while (!todo.empty()) {
      std::string one = todo.back();
      todo.pop_back();
      if (needed.insert(one).second && byName.count(one))
        for (const std::string &operand : getOperands(byName[one]))
          todo.push_back(operand);
    }
    for (const auto &[input, type] : file->inputs)
      if (needed.count(input))
        sample.inputs.push_back({input, type});
    std::set<std::string> modules;
    for (const std::string &line : file->calls) {
      std::string other = line.substr(3, line.find(" = ") - 3);
      if (!needed.count(other))
        continue;
      sample.lines.push_back(byName[other]);
      if (size_t at = line.find("call_module["); at != std::string::npos)
        modules.insert(line.substr(at + 12, line.find(']', at) - at - 12));
      if (size_t at = line.find("get_attr["); at != std::string::npos)
        modules.insert(line.substr(at + 9, line.find(']', at) - at - 9));
    }
    for (const std::string &line : file->declarations) {
      const size_t start = line.find(' ') + 1;
      std::string path = line.substr(start, line.find(' ', start) - start);
      if (modules.count(path.substr(0, path.find('.'))))
        sample.declarations.push_back(line);
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

Tensor makeValues(const TensorType &type, uint64_t seed) {
  TensorType whole = type;
  for (Dim &dim : whole.shape)
    if (!dim.isStatic())
      dim = Dim(3);
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  auto next = [&] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 40; };
  const DTypeInfo &info = getDTypeInfo(whole.dtype);
  std::vector<double> numbers;
  int64_t count = 1;
  for (int64_t size : whole.getSizes())
    count *= size;
  llvm::SmallVector<int64_t, 4> sizes = whole.getSizes();
  Tensor tensor = Tensor::build(
      whole.dtype, sizes,
      [&](MutableBytes bytes) {
        if (isFloat(whole.dtype) && info.bits == 32) {
          auto *to = reinterpret_cast<float *>(bytes.data());
          for (int64_t i = 0; i < count; ++i)
            to[i] = static_cast<float>(next()) * 0x1p-22f - 2;
        } else if (info.kind == DTypeKind::Quantized) {
          for (std::byte &one : bytes)
            one = std::byte(next());
          if (whole.dtype == DType::QInt32)
            for (int64_t i = 0; i < count; ++i)
              reinterpret_cast<int32_t *>(bytes.data())[i] = static_cast<int32_t>(next() % 4096) - 2048;
        } else if (info.kind != DTypeKind::Float) {
          const size_t width = info.bits / 8;
          for (int64_t i = 0; i < count; ++i)
            bytes[static_cast<size_t>(i) * width] = std::byte(next() & 1);
        } else if (info.bits == 16) { // exponents around 1
          for (int64_t i = 0; i < count; ++i) {
            uint16_t bits = static_cast<uint16_t>(next() & 0x83ff);
            bits = whole.dtype == DType::Float16 ? bits | 0x3800 : (bits & 0x807f) | 0x3f00;
            std::memcpy(bytes.data() + 2 * i, &bits, 2);
          }
        } else if (info.bits == 64) {
          for (int64_t i = 0; i < count; ++i) {
            double value = static_cast<double>(next()) * 0x1p-22 - 2;
            std::memcpy(bytes.data() + 8 * i, &value, 8);
          }
        } else {
          for (std::byte &one : bytes)
            one = std::byte(next() & 0x3f);
        }
      },
      whole.quantizer);
  return tensor;
}

/// Weights get values; what must be positive or is a number of a quantizer gets a legal one.
static void fill(Module &module, uint64_t seed) {
  auto set = [&](const std::string &name, const Tensor &tensor, bool isBuffer) {
    Tensor made = tensor;
    llvm::StringRef text = name;
    if (text.contains("scale"))
      made = Tensor::build(tensor.getDType(), tensor.getSizes(), [&](MutableBytes bytes) {
        for (size_t i = 0; tensor.getDType() == DType::Float32 && i < bytes.size() / 4; ++i)
          reinterpret_cast<float *>(bytes.data())[i] = 0.0625f;
        for (size_t i = 0; tensor.getDType() == DType::Float64 && i < bytes.size() / 8; ++i)
          reinterpret_cast<double *>(bytes.data())[i] = 0.0625;
      });
    else if (text.contains("var"))
      made = Tensor::build(tensor.getDType(), tensor.getSizes(), [&](MutableBytes bytes) {
        for (size_t i = 0; tensor.getDType() == DType::Float32 && i < bytes.size() / 4; ++i)
          reinterpret_cast<float *>(bytes.data())[i] = 0.75f + 0.125f * static_cast<float>(i % 5);
      });
    else if (!text.contains("zero_point") && !text.contains("num_batches"))
      made = makeValues(tensor.getType(), seed++);
    isBuffer ? module.setBuffer(name, made) : module.setParameter(name, made);
  };
  std::vector<std::pair<std::string, Tensor>> parameters, buffers;
  for (const auto &[name, tensor] : module.getParameters())
    parameters.push_back({name, tensor});
  for (const auto &[name, tensor] : module.getBuffers())
    buffers.push_back({name, tensor});
  for (const auto &[name, tensor] : parameters)
    set(name, tensor, false);
  for (const auto &[name, tensor] : buffers)
    set(name, tensor, true);
  for (const auto &[name, child] : module.getChildren())
    fill(const_cast<Module &>(*child), seed += 17);
}

llvm::Expected<std::unique_ptr<Program>> compileSample(const Sample &sample, const ProgramOptions &options) {
  auto model = parseQfx(std::make_shared<SourceText>(SourceText{"sample", sample.getText()}));
  if (!model)
    return model.takeError();
  fill(model->getRoot(), 5);
  return Program::compile(*model, options);
}

/// A value always has parameters, though its declaration may leave them open.
static TensorType withQuantizer(TensorType type) {
  if (isQuantized(type.dtype) && !type.quantizer)
    type.quantizer = std::make_shared<const Quantizer>(Quantizer::perTensor(0.1, 3));
  return type;
}

llvm::Expected<std::vector<Tensor>> runSample(Program &program, const Sample &sample) {
  auto model = parseQfx(std::make_shared<SourceText>(SourceText{"sample", sample.getText()}));
  if (!model)
    return model.takeError();
  std::vector<Tensor> inputs, results;
  uint64_t seed = 100;
  for (const Node &node : model->getGraph().nodes())
    if (node.is(Opcode::Placeholder))
      inputs.push_back(makeValues(withQuantizer(*node.getType()), seed++));
  auto values = program.run(inputs);
  if (!values)
    return values.takeError();
  for (NamedValue &value : *values)
    if (value.value.isTensor())
      results.push_back(value.value.tensor);
  return results;
}

} // namespace qfx::test
