// Rule of einsum.
#include "ir/Einsum.h"
#include "ir/InferDetail.h"

#include <map>

namespace qfx {

/// Rules `einsum_equation`, `einsum_input` (tensors of one dtype), `einsum_shape` (equal sizes under one letter; 1 broadcasts).
llvm::Expected<ValueType> inferEinsum(const InferContext &context) {
  ValueType value = context.getValue("operands");
  const auto *list = value.getSequence();
  if (list && list->elements.size() == 1 && list->elements[0].getSequence())
    list = list->elements[0].getSequence();
  if (!list || list->elements.empty())
    return context.fail("input", "wants at least one tensor");
  llvm::SmallVector<size_t, 4> ranks;
  TensorType result;
  for (const ValueType &one : list->elements) {
    const TensorType *tensor = one.getTensor();
    if (!tensor)
      return context.fail("input", "wants tensors");
    if (llvm::Error err = checkNotQuantized(context, *tensor, "operands"))
      return err;
    if (!ranks.empty() && tensor->dtype != result.dtype)
      return context.fail("input", "wants operands of one dtype, got {0} and {1}", getDTypeInfo(result.dtype).text,
                          toString(*tensor));
    result.dtype = tensor->dtype;
    ranks.push_back(tensor->getRank());
  }
  auto parsed = parseEinsum(context.getCall().get("equation").arg.getString(), ranks);
  if (const std::string *problem = std::get_if<std::string>(&parsed))
    return context.fail("equation", "{0}", *problem);
  const EinsumEquation &equation = std::get<EinsumEquation>(parsed);
  std::map<int, Dim> sizes;
  for (size_t i = 0; i < ranks.size(); ++i)
    for (size_t d = 0; d < ranks[i]; ++d) {
      const Dim &size = list->elements[i].getTensor()->shape[d];
      auto [it, isNew] = sizes.try_emplace(equation.operands[i][d], size);
      if (isNew || size == Dim(1))
        continue;
      if (it->second != Dim(1) && !it->second.mayEqual(size))
        return context.fail("shape", "has sizes {0} and {1} under one letter", it->second, size);
      it->second = it->second == Dim(1) ? size : mergeDims(it->second, size);
    }
  for (int label : equation.output)
    result.shape.push_back(sizes.find(label)->second);
  return ValueType(result);
}

} // namespace qfx
