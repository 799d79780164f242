// A view by explicit strides over the input's row-major elements.
#include "backends/reference/Emit.h"
#include "backends/runtime/Kernels.h"

namespace qfx::runtime {

llvm::Expected<RuntimeValue> bindAsStrided(BindContext &context) {
  llvm::Expected<View> input = context.getTensor("input");
  if (!input)
    return input.takeError();
  llvm::Expected<TensorType> type = context.getResultTensor();
  if (!type)
    return type.takeError();
  llvm::Expected<llvm::SmallVector<int64_t, 4>> strides = context.attrs().getInts("stride");
  if (!strides)
    return strides.takeError();
  int64_t offset = 0;
  if (context.has("storage_offset")) {
    llvm::Expected<int64_t> given = context.attrs().getInt("storage_offset");
    if (!given)
      return given.takeError();
    offset = *given;
  }
  View view = context.toOrder(*input, StorageOrder::RowMajor);
  int64_t last = offset;
  llvm::SmallVector<int64_t, 4> sizes = type->getSizes();
  for (size_t i = 0; i < sizes.size(); ++i)
    last += (sizes[i] - 1) * (*strides)[i];
  if (last >= view.getNumElements())
    return context.fail("reaches element {0} of {1}", last, toString(input->type));
  view.type = *type;
  view.sizes.assign(sizes.begin(), sizes.end());
  view.strides.assign(strides->begin(), strides->end());
  view.offset += offset;
  View dst = context.allocate(*type, StorageOrder::RowMajor);
  context.copy(view, dst);
  return RuntimeValue(dst);
}

} // namespace qfx::runtime
