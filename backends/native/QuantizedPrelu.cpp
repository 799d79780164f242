// PReLU of codes, one slope for all or one per channel (operators 7).
#include "backends/native/CodeSteps.h"
#include "backends/native/WideCodes.h"
#include "backends/runtime/Kernels.h"

#include <cmath>
#include <vector>

namespace qfx::runtime {

/// c = max(q - z, 0) * o + min(q - z, 0) * (w - z_w), o the code steps of a slope of 1; then requantized.
static void fillPreluTable(const CodeOperand &input, int64_t slopeSteps, int64_t oneSteps, float multiplier,
                           const kernels::QParams &output, kernels::CodeLut &table) {
  const DTypeInfo &info = getDTypeInfo(input.view.getDType());
  const auto low = static_cast<int32_t>(info.codeMin), high = static_cast<int32_t>(info.codeMax);
  for (int32_t code = low; code <= high; ++code) {
    const int32_t steps = code - input.params.zeroPoint;
    const int64_t product = steps * (steps > 0 ? oneSteps : slopeSteps);
    table.entry[static_cast<uint8_t>(code)] =
        static_cast<uint8_t>(kernels::requantizeCode(product, multiplier, low, high, output.zeroPoint));
  }
}

llvm::Expected<RuntimeValue> bindQuantizedPrelu(BindContext &context) {
  if (llvm::Expected<View> view = context.getTensor("input"); view && hasWideCodes(*view))
    return bindWidePrelu(context);
  else if (!view)
    return view.takeError();
  llvm::Expected<CodeOperand> input = getCodeTensor(context, "input");
  if (!input)
    return input.takeError();
  llvm::Expected<Tensor> weight = context.getConstant("weight");
  if (!weight)
    return weight.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<kernels::QParams> output = getResultParams(context, *type);
  if (!output)
    return output.takeError();
  const View &view = input->view;
  if (weight->getDType() != view.getDType() || !weight->getQuantizer() || !weight->getQuantizer()->isPerTensor())
    return context.fail("the slopes must be {0} quantized per tensor, got {1}", getDTypeInfo(view.getDType()).text,
                        toString(weight->getType()));
  if (view.getRank() == 0)
    return context.fail("the input must have rank 1 or more, got {0}", toString(view.type));
  const int64_t slopes = weight->getNumElements();
  if (slopes != 1 && (view.getRank() < 2 || slopes != view.sizes[1]))
    return context.fail("{0} slopes do not fit the channels of {1}", slopes, toString(view.type));
  const kernels::QParams slope = toQParams(*weight->getQuantizer());
  // Not clamped to the slope's codes: where they end below 1, PyTorch scales the positive side down (known_traps B94).
  const int64_t one = std::llrint(1.0f / static_cast<float>(slope.scale));
  const float multiplier = static_cast<float>(input->params.scale) * static_cast<float>(slope.scale) *
                           (1.0f / static_cast<float>(output->scale));
  auto tables = std::make_shared<std::vector<kernels::CodeLut>>(static_cast<size_t>(slopes));
  for (int64_t c = 0; c < slopes; ++c)
    fillPreluTable(*input, static_cast<int32_t>(weight->getElementAsDouble(c)) - slope.zeroPoint, one, multiplier,
                   *output, (*tables)[static_cast<size_t>(c)]);
  if (slopes == 1)
    return RuntimeValue(
        emitTable(context, view, *type, std::shared_ptr<const kernels::CodeLut>(tables, tables->data())));
  View src = context.toOrder(view, StorageOrder::ChannelsLast);
  View dst = context.allocate(*type, src.strides);
  // Below rank 3 the channel is the last dimension of a row-major matrix: innermost as well.
  const int64_t rows = src.getNumElements() / slopes;
  context.emit({&src}, {&dst}, [src, dst, tables, rows, slopes](RunContext &run) {
    run.parallelFor(rows, kElementGrain / slopes + 1, [&](int64_t begin, int64_t end, void *) {
      const uint8_t *from = src.getData<uint8_t>() + begin * slopes;
      uint8_t *to = dst.getData<uint8_t>() + begin * slopes;
      for (int64_t r = begin; r < end; ++r)
        for (const kernels::CodeLut &table : *tables)
          *to++ = table.entry[*from++];
    });
  });
  return RuntimeValue(dst);
}

} // namespace qfx::runtime
