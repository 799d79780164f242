// Input specifications of qfx-run.
#include "tools/run/RunInputs.h"

#include "ir/Diagnostics.h"
#include "ir/text/QfxText.h"
#include "ir/weights/Npy.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx::tool {

static bool parseSeed(llvm::StringRef text, uint64_t &seed) {
  return text.consume_front("random:") && !text.getAsInteger(10, seed);
}

/// Codes of integer dtypes spread over their range, floats over [-1, 1).
static llvm::Expected<Tensor> makeRandom(llvm::StringRef typeText, DType dtype, uint64_t seed, llvm::StringRef name) {
  const DTypeInfo &info = getDTypeInfo(dtype);
  std::string bounds;
  if (dtype == DType::Int64 || dtype == DType::Int32) // indices, masks, token numbers: 0 and 1 suit all of them
    bounds = ", low=0, high=1";
  else if (info.kind != DTypeKind::Float)
    bounds = llvm::formatv(", low={0}, high={1}", std::max<int64_t>(info.codeMin, -128), std::min<int64_t>(info.codeMax, 127)).str();
  return parseTensorText(llvm::formatv("{0} = random(seed={1}{2})", typeText, seed, bounds).str(), name);
}

static llvm::Expected<Tensor> makeRandomInput(const Node &placeholder, uint64_t seed) {
  if (!placeholder.getType())
    return error(placeholder.getLoc(), "input '{0}' has no declared type: give it with --input={0}=f32[...]:random:{1}",
                 placeholder.getTargetText(), seed)
        .code("run_input");
  TensorType type = *placeholder.getType();
  for (Dim &dim : type.shape)
    if (!dim.isStatic())
      dim = Dim(1);
  return makeRandom(toString(type), type.dtype, seed, placeholder.getTargetText());
}

static void setInput(InputBatch &batch, llvm::StringRef name, Tensor tensor) {
  auto it = llvm::find_if(batch.tensors, [&](const auto &entry) { return entry.first == name; });
  if (it != batch.tensors.end())
    it->second = std::move(tensor);
  else
    batch.tensors.emplace_back(name.str(), std::move(tensor));
}

static llvm::Expected<Tensor> parseSingle(llvm::StringRef name, llvm::StringRef spec) {
  if (spec.consume_front("@"))
    return readNpy(spec);
  auto [typeText, rest] = spec.split(':');
  uint64_t seed = 0;
  auto dtype = parseDTypeText(typeText.split('[').first.trim());
  if (!parseSeed(rest, seed) || !dtype)
    return error({}, "--input={0}=... takes '@FILE.npy' or 'TYPE:random:SEED', got '{1}'", name, spec).code("run_input");
  return makeRandom(typeText, *dtype, seed, name);
}

llvm::Expected<std::vector<InputBatch>> makeRunInputs(const GraphModule &model, llvm::StringRef inputs,
                                                      llvm::ArrayRef<std::string> singles) {
  std::vector<InputBatch> batches(1);
  uint64_t seed = 0;
  bool isRandom = inputs.empty() || parseSeed(inputs, seed);
  if (!isRandom) {
    auto loaded = loadInputs(inputs);
    if (!loaded)
      return loaded.takeError();
    batches = std::move(*loaded);
  }
  for (const std::string &single : singles) {
    auto [name, spec] = llvm::StringRef(single).split('=');
    auto tensor = parseSingle(name, spec);
    if (!tensor)
      return tensor.takeError();
    for (InputBatch &batch : batches)
      setInput(batch, name, *tensor);
  }
  if (!isRandom)
    return batches;
  for (const Node &node : model.getGraph().nodes()) {
    if (!node.is(Opcode::Placeholder))
      continue;
    uint64_t inputSeed = seed++;
    if (batches[0].find(node.getTargetText()) || !node.getArgs().empty())
      continue; // given, or it has a default
    auto tensor = makeRandomInput(node, inputSeed);
    if (!tensor)
      return tensor.takeError();
    setInput(batches[0], node.getTargetText(), std::move(*tensor));
  }
  return batches;
}

} // namespace qfx::tool
