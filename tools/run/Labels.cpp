// top-1 and top-5.
#include "tools/run/Labels.h"

#include "backends/observe/Observer.h"
#include "ir/Diagnostics.h"
#include "ir/Text.h"
#include "ir/weights/Npy.h"
#include "ir/weights/Safetensors.h"

namespace qfx::tool {

llvm::Expected<AccuracyCounter> AccuracyCounter::load(llvm::StringRef path) {
  AccuracyCounter counter;
  if (endsWith(path, ".npy")) {
    auto tensor = readNpy(path);
    if (!tensor)
      return tensor.takeError();
    counter.labels = std::move(*tensor);
  } else {
    auto file = SafetensorsFile::open(path);
    if (!file)
      return file.takeError();
    auto tensor = file->read("labels");
    if (!tensor)
      return tensor.takeError();
    counter.labels = std::move(*tensor);
  }
  DTypeKind kind = getDTypeInfo(counter.labels.getDType()).kind;
  if (kind != DTypeKind::Integer || counter.labels.getRank() > 2)
    return error({}, "labels are integers, one per row, got {0}", toString(counter.labels.getType())).code("labels");
  return counter;
}

llvm::Error AccuracyCounter::add(llvm::ArrayRef<NamedValue> outputs) {
  if (outputs.empty() || !outputs[0].value.isTensor() || outputs[0].value.tensor.getRank() != 2)
    return error({}, "accuracy needs a first output of shape [N, classes]").code("labels");
  Tensor scores = outputs[0].value.tensor;
  if (scores.getQuantizer())
    scores = dequantizeTensor(scores);
  int64_t rows = scores.getSizes()[0], classes = scores.getSizes()[1];
  if (numRows + rows > labels.getNumElements())
    return error({}, "there are {0} labels for more rows of output", labels.getNumElements()).code("labels");
  for (int64_t row = 0; row < rows; ++row) {
    int64_t label = static_cast<int64_t>(labels.getElementAsDouble(numRows++));
    if (label < 0 || label >= classes)
      return error({}, "label {0} of row {1} is not one of {2} classes", label, numRows - 1, classes).code("labels");
    double wanted = scores.getElementAsDouble(row * classes + label);
    int64_t better = 0; // classes that rank before the label
    for (int64_t i = 0; i < classes; ++i) {
      double score = scores.getElementAsDouble(row * classes + i);
      better += score > wanted || (score == wanted && i < label);
    }
    numTop1 += better == 0;
    numTop5 += better < 5;
  }
  return llvm::Error::success();
}

llvm::Error AccuracyCounter::finish() const {
  if (numRows != labels.getNumElements())
    return error({}, "there are {0} labels for {1} rows of output", labels.getNumElements(), numRows).code("labels");
  return llvm::Error::success();
}

} // namespace qfx::tool
