// affine_grid and window functions.
#include "ir/OpKind.h"
#include "ir/compose/Composer.h"

#include <cmath>

namespace qfx {

/// Points of the output grid in [-1, 1], mapped by theta.  Rules `affine_grid_size` ([N, C, H, W] or [N, C, D, H, W]),
/// `affine_grid_theta` ([N, 2, 3] or [N, 3, 4]).
llvm::Expected<Argument> composeAffineGrid(Composer &composer) {
  QFX_TRY(theta, composer.input("theta"));
  QFX_TRY(size, composer.context.getInts("size"));
  bool aligns = false;
  if (composer.context.hasValue("align_corners")) {
    QFX_TRY(given, composer.context.getBool("align_corners"));
    aligns = given;
  }
  if (size.size() != 4 && size.size() != 5)
    return composer.context.fail("size", "wants 4 or 5 sizes, got {0}", size.size());
  size_t axes = size.size() - 2;
  bool fits = theta.getRank() == 3 && theta.size(0).mayEqual(Dim(size[0])) && isFloat(theta.type.dtype) &&
              theta.size(1).mayEqual(Dim(static_cast<int64_t>(axes))) &&
              theta.size(2).mayEqual(Dim(static_cast<int64_t>(axes) + 1));
  if (!fits)
    return composer.context.fail("theta", "wants theta of sizes [{0}, {1}, {2}], got {3}", size[0], axes, axes + 1,
                                 toString(theta.type));
  Argument::Elements points, spatial;
  for (size_t i = 0; i < axes; ++i) {
    if (size[i + 2] < 1)
      return composer.context.fail("size", "wants sizes >= 1, got {0}", size[i + 2]);
    spatial.push_back(size[i + 2]);
  }
  for (size_t i = axes; i-- > 0;) { // x, which runs along the last axis, comes first
    int64_t n = size[i + 2];
    double reach = aligns ? 1 : static_cast<double>(n - 1) / static_cast<double>(n);
    Node *line = n == 1 ? composer.function("torch.zeros", {int64_t(1)})
                        : composer.function("torch.linspace", {-reach, reach, n});
    Argument::Elements along(axes, Argument(int64_t(1)));
    along[i] = n;
    points.push_back(composer.method("expand", {composer.reshape(line, std::move(along)), Argument::list(spatial)}));
  }
  points.push_back(composer.function("torch.ones", {Argument::list(spatial)}));
  Node *base = composer.function("torch.stack", {Argument::list(std::move(points)), int64_t(-1)});
  base = composer.reshape(base, {int64_t(1), int64_t(-1), static_cast<int64_t>(axes) + 1});
  Node *rows = composer.function("torch.transpose", {theta.node, int64_t(1), int64_t(2)});
  if (theta.type.dtype != DType::Float32)
    base = composer.method("to", {base, Argument(theta.type.dtype)});
  Argument::Elements sizes{size[0]};
  sizes.insert(sizes.end(), spatial.begin(), spatial.end());
  sizes.push_back(static_cast<int64_t>(axes));
  return Argument(composer.reshape(composer.function("torch.matmul", {base, rows}), std::move(sizes)));
}

/// alpha - beta * cos(2 pi i / n), n the length of the period.  Rule `<op>_length`: at least 0.
llvm::Expected<Argument> composeWindow(Composer &composer) {
  const InferContext &context = composer.context;
  QFX_TRY(length, context.getInt("window_length"));
  QFX_TRY(isPeriodic, context.getBool("periodic"));
  bool isHann = context.getCall().op->kind == OpKind::HannWindow;
  double alpha = 0.5, beta = 0.5;
  if (!isHann) {
    QFX_TRY(a, context.getNumber("alpha"));
    QFX_TRY(b, context.getNumber("beta"));
    alpha = a;
    beta = b;
  }
  if (length < 0 || length > (int64_t(1) << 30))
    return context.fail("length", "wants a length in 0..2^30, got {0}", length);
  Argument dtype(DType::Float32);
  const ValueType wanted = context.getValue("dtype");
  if (const Argument *given = wanted.getHost(); given && given->isDType())
    dtype = *given;
  if (!isFloat(dtype.getDType()) || dtype.getDType() == DType::Float64)
    return context.fail("dtype", "wants dtype float32, float16 or bfloat16, got {0}",
                        getDTypeInfo(dtype.getDType()).torchName);
  if (length < 2)
    return Argument(composer.function("torch.ones", {length}, {{"dtype", dtype}}));
  double step = 2 * M_PI / static_cast<double>(isPeriodic ? length : length - 1);
  Node *index = composer.function("torch.arange", {length}, {{"dtype", Argument(DType::Float32)}});
  Node *wave = composer.function("torch.cos", {composer.function("torch.mul", {index, step})});
  Node *window = composer.function("torch.rsub", {composer.function("torch.mul", {wave, beta}), alpha});
  return Argument(composer.method("to", {window, dtype}));
}

} // namespace qfx
