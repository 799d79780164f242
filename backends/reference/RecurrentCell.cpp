// Recurrent cells: one step, called on its own.
#include "backends/reference/RecurrentDetail.h"
#include "backends/reference/RecurrentLayer.h"
#include "backends/runtime/BindHelpers.h"
#include "ir/Module.h"

namespace qfx::runtime {

static int64_t alignUp(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

llvm::Expected<RuntimeValue> emitRecurrentCell(BindContext &context, kernels::CellKind kind, TensorLookup find,
                                               ProductMaker make) {
  llvm::Expected<View> input = getFloatTensor(context, "input");
  if (!input)
    return input.takeError();
  View src = context.toOrder(*input, StorageOrder::RowMajor);
  ProductRef products[2];
  for (int i = 0; i < 2; ++i) {
    std::string name = i ? "hh" : "ih";
    Tensor weight = find("weight_" + name);
    if (!weight)
      return context.fail("its weight 'weight_{0}' is missing", name);
    auto made = make("weight_" + name, weight, find("bias_" + name));
    if (!made)
      return made.takeError();
    products[i] = std::move(*made);
  }
  ProductRef ih = products[0], hh = products[1];
  int64_t gates = hh->getOutputs(), hidden = hh->getInputs(), batch = src.getRank() == 2 ? src.sizes[0] : 1;
  if (gates != kernels::getNumGates(kind) * hidden || ih->getOutputs() != gates || ih->getInputs() != src.sizes.back())
    return context.fail("its weights do not fit {0} features and {1} hidden units", src.sizes.back(), hidden);
  bool hasCell = kind == kernels::CellKind::Lstm;
  llvm::Expected<RecurrentResult> result = allocateResult(context, hasCell);
  if (!result)
    return result.takeError();
  llvm::Expected<InitialStates> initial = getInitialStates(context, hasCell);
  if (!initial)
    return initial.takeError();
  int64_t gateBytes = alignUp(batch * gates * static_cast<int64_t>(sizeof(float)));
  int64_t shared = std::max(ih->getSharedBytes(batch), hh->getSharedBytes(batch));
  View work = allocateBytes(context, 2 * gateBytes + alignUp(shared));
  llvm::SmallVector<const View *, 3> reads = {&src}, writes = {&result->hidden, &work};
  initial->appendTo(reads);
  if (hasCell)
    writes.push_back(&result->cell);
  StepTraits traits;
  traits.scratchBytes =
      std::max(ih->getScratchBytes(batch, context.getThreads()), hh->getScratchBytes(batch, context.getThreads()));
  context.emit(
      reads, writes,
      [src, result = *result, initial = *initial, work, ih, hh, gates, hidden, batch, gateBytes,
       cell = kernels::selectCell(kind)](RunContext &run) {
        initial.copyTo(result.hidden, result.cell);
        auto *x = reinterpret_cast<float *>(work.getBytes());
        auto *h = reinterpret_cast<float *>(work.getBytes() + gateBytes);
        std::byte *memory = work.getBytes() + 2 * gateBytes;
        auto *state = result.hidden.getData<float>();
        ih->multiply(run, src.getData<float>(), batch, x, memory);
        hh->multiply(run, state, batch, h, memory);
        run.parallelFor(batch, getCellGrain(hidden), [&](int64_t begin, int64_t end, void *) {
          for (int64_t n = begin; n < end; ++n) {
            kernels::CellArgs args;
            args.input = x + n * gates;
            args.hidden = h + n * gates;
            args.cell = result.cell ? result.cell.getData<float>() + n * hidden : nullptr;
            args.dst = state + n * hidden;
            args.state = result.cell ? args.cell : args.dst;
            cell(hidden, args);
          }
        });
      },
      traits);
  return result->toValue();
}

llvm::Expected<kernels::CellKind> getRnnKind(BindContext &context) {
  const BoundCall &call = context.getCall();
  const BoundSlot *slot = call.find("nonlinearity");
  const Argument &text = slot ? slot->arg : call.module->getAttribute("nonlinearity");
  if (text.isString() && text.getString() == "tanh")
    return kernels::CellKind::RnnTanh;
  if (text.isString() && text.getString() == "relu")
    return kernels::CellKind::RnnRelu;
  return context.fail("the nonlinearity must be 'tanh' or 'relu', got {0}", toString(text, ArgumentStyle::Qfx));
}

} // namespace qfx::runtime
