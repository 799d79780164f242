// The arithmetic of batch norm folding.
#include "passes/fuse/FoldBatchNorm.h"

#include "backends/observe/ScaleLines.h"
#include "ir/Diagnostics.h"
#include "ir/OpKind.h"
#include "ir/Ops.h"

#include <cmath>

namespace qfx {

/// The dtype PyTorch's type promotion gives two float tensors.
static DType promote(DType a, DType b) {
  if (a == b)
    return a;
  if (a == DType::Float64 || b == DType::Float64)
    return DType::Float64;
  return DType::Float32; // f16 with bf16, or either with f32
}

static bool isFoldable(DType dtype) {
  return dtype == DType::Float32 || dtype == DType::Float64 || dtype == DType::Float16 || dtype == DType::BFloat16;
}

/// Rounds the result of one operation, computed in double from operands of at most that dtype, to the dtype.  Double
/// carries float's
/// +, -, *, / and sqrt without double-rounding error.
static double roundTo(DType dtype, double value) {
  switch (dtype) {
  case DType::Float64:
    return value;
  case DType::Float16:
    return halfToFloat(floatToHalf(static_cast<float>(value)));
  case DType::BFloat16:
    return bfloat16ToFloat(floatToBFloat16(static_cast<float>(value)));
  default:
    return static_cast<float>(value);
  }
}

static std::vector<double> readVector(const Tensor &tensor) {
  if (tensor.getDType() == DType::Float32) {
    llvm::ArrayRef<float> elements = tensor.getData<float>();
    return {elements.begin(), elements.end()};
  }
  std::vector<double> values(static_cast<size_t>(tensor.getNumElements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = tensor.getElementAsDouble(static_cast<int64_t>(i));
  return values;
}

static Tensor buildVector(DType dtype, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<double> values) {
  return Tensor::build(dtype, sizes, [&](MutableBytes bytes) {
    for (size_t i = 0; i < values.size(); ++i) {
      auto put = [&](auto value) { std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value)); };
      if (dtype == DType::Float64)
        put(values[i]);
      else if (dtype == DType::Float32)
        put(static_cast<float>(values[i]));
      else if (dtype == DType::Float16)
        put(floatToHalf(static_cast<float>(values[i])));
      else
        put(floatToBFloat16(static_cast<float>(values[i])));
    }
  });
}

namespace {
/// Which output channel each weight element belongs to: channel(i, j) of axis 0 index i and axis 1 index j.
struct ChannelMap {
  bool isTransposed = false;
  int64_t groups = 1;
  int64_t rows = 0, columns = 1, inner = 1; ///< axis 0, axis 1, the rest

  int64_t getNumChannels() const { return isTransposed ? columns * groups : rows; }
  int64_t getChannel(int64_t row, int64_t column) const {
    return isTransposed ? row / (rows / groups) * columns + column : row;
  }
};
} // namespace

static ChannelMap makeChannelMap(const Module &root, const Tensor &weight) {
  ChannelMap map;
  OpKind op = root.getClass()->op;
  map.isTransposed = op == OpKind::ConvTranspose1d || op == OpKind::ConvTranspose2d || op == OpKind::ConvTranspose3d;
  if (const Argument *groups = root.findAttribute("groups"))
    map.groups = groups->getInt();
  llvm::ArrayRef<int64_t> sizes = weight.getSizes();
  map.rows = sizes[0];
  map.columns = sizes.size() > 1 ? sizes[1] : 1;
  for (int64_t size : sizes.drop_front(std::min<size_t>(2, sizes.size())))
    map.inner *= size;
  return map;
}

static Tensor scaleWeight(const Tensor &weight, const ChannelMap &map, llvm::ArrayRef<double> scale, DType compute) {
  if (weight.getDType() == DType::Float32 && compute == DType::Float32) {
    // Without transposition a whole row belongs to one channel.
    std::vector<float> factors;
    for (int64_t row = 0; row < map.rows; ++row)
      for (int64_t column = 0; column < (map.isTransposed ? map.columns : 1); ++column)
        factors.push_back(static_cast<float>(scale[static_cast<size_t>(map.getChannel(row, column))]));
    return scaleLines(weight, std::move(factors));
  }
  std::vector<double> values = readVector(weight);
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t line = static_cast<int64_t>(i) / map.inner;
    int64_t channel = map.getChannel(line / map.columns, line % map.columns);
    values[i] = roundTo(weight.getDType(), roundTo(compute, values[i] * scale[static_cast<size_t>(channel)]));
  }
  return buildVector(weight.getDType(), weight.getSizes(), values);
}

llvm::Expected<ModuleRef> foldBatchNorm(const Module &root, const Module &batchNorm, const Location &loc) {
  const Tensor *weight = root.findTensor("weight"), *bias = root.findTensor("bias");
  const Tensor *mean = batchNorm.findTensor("running_mean"), *var = batchNorm.findTensor("running_var");
  const Tensor *gamma = batchNorm.findTensor("weight"), *beta = batchNorm.findTensor("bias");
  if (!mean || !var)
    return error(loc, "'{0}' has no running statistics to fold", batchNorm.getClassName()).code("fold_stats");
  if (!weight || weight->getRank() == 0 || weight->getNumElements() == 0)
    return error(loc, "'{0}' has no weight to fold a batch norm into", root.getClassName()).code("fold_shape");
  for (const Tensor *tensor : {weight, bias, mean, var, gamma, beta})
    if (tensor && !isFoldable(tensor->getDType()))
      return error(loc, "batch norm folds float tensors only, got '{0}'", getDTypeInfo(tensor->getDType()).torchName)
          .code("fold_shape");

  ChannelMap map = makeChannelMap(root, *weight);
  if (map.groups < 1 || (map.isTransposed && map.rows % map.groups != 0))
    return error(loc, "'{0}' has {1} input channels, not divisible by {2} groups", root.getClassName(), map.rows,
                 map.groups)
        .code("fold_shape");
  int64_t channels = map.getNumChannels();
  bool isLinear = root.getClass()->op == OpKind::Linear;
  int64_t features = mean->getNumElements();
  if (features != channels && !(isLinear && features == 1))
    return error(loc, "'{0}' has {1} output channels, but the batch norm after it has {2} features",
                 root.getClassName(), channels, features)
        .code("fold_shape");
  for (const Tensor *tensor : {var, gamma, beta})
    if (tensor && tensor->getNumElements() != features)
      return error(loc, "the tensors of a batch norm have different lengths: {0} and {1}", features,
                   tensor->getNumElements())
          .code("fold_shape");
  if (bias && bias->getNumElements() != channels)
    return error(loc, "'{0}' has {1} output channels and a bias of length {2}", root.getClassName(), channels,
                 bias->getNumElements())
        .code("fold_shape");

  DType biasDType = bias ? bias->getDType() : weight->getDType();
  DType stats = mean->getDType(), varDType = var->getDType();
  DType gammaDType = gamma ? gamma->getDType() : stats, betaDType = beta ? beta->getDType() : stats;
  DType oldBias = bias ? bias->getDType() : stats; // PyTorch: zeros_like(running_mean)
  DType scaleDType = promote(gammaDType, varDType), sumDType = promote(promote(oldBias, stats), scaleDType);

  std::vector<double> meanValues = readVector(*mean), varValues = readVector(*var);
  std::vector<double> gammaValues =
      gamma ? readVector(*gamma) : std::vector<double>(static_cast<size_t>(features), 1.0);
  std::vector<double> betaValues = beta ? readVector(*beta) : std::vector<double>(static_cast<size_t>(features), 0.0);
  std::vector<double> biasValues = bias ? readVector(*bias) : std::vector<double>(static_cast<size_t>(channels), 0.0);
  double eps = batchNorm.getAttribute("eps").getNumber();
  if (varDType != DType::Float64)
    eps = static_cast<float>(eps);

  std::vector<double> scale(static_cast<size_t>(channels)), folded(static_cast<size_t>(channels));
  for (size_t c = 0; c < scale.size(); ++c) {
    size_t f = features == 1 ? 0 : c;
    double shifted = roundTo(varDType, varValues[f] + eps);
    if (!(shifted > 0))
      return error(loc, "running_var[{0}] is {1}: the batch norm cannot be folded", f, varValues[f])
          .code("fold_variance");
    double root2 = varDType == DType::Float64 ? std::sqrt(shifted) : std::sqrt(static_cast<float>(shifted));
    double r = roundTo(varDType, varDType == DType::Float64 ? 1.0 / root2 : 1.0f / static_cast<float>(root2));
    scale[c] = roundTo(scaleDType, gammaValues[f] * r);
    double centered = roundTo(promote(oldBias, stats), biasValues[c] - meanValues[f]);
    double product =
        isLinear
            ? roundTo(sumDType, centered * scale[c])
            : roundTo(sumDType, roundTo(promote(promote(oldBias, stats), varDType), centered * r) * gammaValues[f]);
    folded[c] = roundTo(biasDType, roundTo(promote(sumDType, betaDType), product + betaValues[f]));
  }

  ModuleRef result = root.shallowCopy();
  result->setParameter("weight", scaleWeight(*weight, map, scale, promote(weight->getDType(), scaleDType)));
  result->setParameter("bias", buildVector(biasDType, {channels}, folded));
  result->setAttribute("bias", true);
  return result;
}

} // namespace qfx
