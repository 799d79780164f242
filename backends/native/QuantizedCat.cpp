// Concatenation and stacking of quantized tensors: inputs with the result's parameters are copied, others requantized (operators 6).
#include "backends/native/CodeSteps.h"
#include "backends/native/WideCodes.h"
#include "backends/runtime/BindHelpers.h"
#include "backends/runtime/CopyStep.h"
#include "backends/runtime/Kernels.h"

namespace qfx::runtime {

namespace {

llvm::Expected<RuntimeValue> emitQuantizedCat(BindContext &context, bool relu, bool stacks = false) {
  llvm::Expected<std::vector<View>> parts = context.getTensors("tensors");
  if (!parts)
    return parts.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<kernels::QParams> output = getResultParams(context, *type);
  if (!output)
    return output.takeError();
  llvm::Expected<int64_t> given = context.attrs().getInt("dim");
  if (!given)
    return given.takeError();
  int64_t rank = static_cast<int64_t>(type->getRank()), wrapped = *given < 0 ? *given + rank : *given;
  if (wrapped < 0 || wrapped >= rank)
    return context.fail("dimension {0} is out of range for rank {1}", *given, rank);
  size_t dim = static_cast<size_t>(wrapped);
  View dst = context.allocate(*type, getDefaultOrder(type->getRank()));
  // Channels-last images along channels take the vector rule, all else the exact one.
  bool isVector = type->getRank() == 4 && dim == 1;
  for (const View &part : *parts)
    isVector &= !stacks && part.type.format == MemoryFormat::ChannelsLast;
  std::vector<std::pair<View, View>> copies;
  std::vector<const View *> reads;
  int64_t start = 0;
  for (const View &source : *parts) {
    View part = stacks && source.getRank() + 1 == type->getRank() ? unsqueezed(source, dim) : source;
    if (part.getDType() != type->dtype || source.getRank() + stacks != type->getRank())
      return context.fail("all tensors must be {0} of rank {1}, got {2}", getDTypeInfo(type->dtype).text,
                          type->getRank() - stacks, toString(source.type));
    View codes = part;
    TensorType partType = part.type;
    partType.quantizer = type->quantizer;
    View target = dst;
    target.offset += start * dst.strides[dim];
    target.sizes[dim] = part.sizes[dim];
    start += part.sizes[dim];
    if (hasWideCodes(part)) {
      llvm::Expected<QuantizerRef> quantizer = context.getQuantizer(part);
      if (!quantizer)
        return quantizer.takeError();
      copies.push_back({emitWideRequantize(context, part, toQParams(**quantizer), partType, *output, relu), target});
      continue;
    }
    llvm::Expected<CodeOperand> operand = toCodeOperand(context, part, "tensors");
    if (!operand)
      return operand.takeError();
    bool isSame = operand->params.scale == output->scale && operand->params.zeroPoint == output->zeroPoint;
    kernels::CodeType code = operand->isSigned() ? kernels::CodeType::S8 : kernels::CodeType::U8;
    if (!isSame || relu) {
      auto table = std::make_shared<kernels::CodeLut>();
      kernels::buildRequantizeLut(isVector ? kernels::DequantizeRule::Vector : kernels::DequantizeRule::Exact, code,
                                  operand->params, code, *output, relu, *table);
      if (!(isSame && isVector))
        codes = emitTable(context, part, partType, table);
    }
    copies.push_back({codes, target});
  }
  for (const auto &[from, to] : copies)
    reads.push_back(&from);
  context.emit(reads, {&dst}, [copies](RunContext &run) {
    for (const auto &[from, to] : copies)
      runCopy(run, from, to);
  });
  return RuntimeValue(dst);
}

} // namespace

llvm::Expected<RuntimeValue> bindQuantizedCat(BindContext &context) { return emitQuantizedCat(context, false); }
llvm::Expected<RuntimeValue> bindQuantizedStack(BindContext &context) {
  return emitQuantizedCat(context, /*relu=*/false, /*stacks=*/true);
}
llvm::Expected<RuntimeValue> bindQuantizedCatRelu(BindContext &context) { return emitQuantizedCat(context, true); }

} // namespace qfx::runtime
