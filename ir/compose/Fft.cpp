// Discrete Fourier transforms along one dimension, as products with matrices of waves.
#include "ir/OpKind.h"
#include "ir/compose/SignalDetail.h"

#include <cmath>

namespace qfx {

namespace {
/// Where and how long a transform is, and its factor.
struct Transform {
  int64_t dim = 0, n = 0;
  double scale = 1;
};
} // namespace

/// Rules `<op>_rank` (rank >= 1), `<op>_length` (1..8192), `<op>_norm`.  \param present  elements along the dimension, or, for irfft, of the signal
/// that so many frequencies stand for.  \returns n = 0 if the size is not known yet.
static llvm::Expected<Transform> readTransform(const InferContext &context, const TensorType &type, bool isInverse) {
  Transform transform;
  if (!type.getRank())
    return context.fail("rank", "wants a tensor of rank >= 1, got {0}", toString(type));
  QFX_TRY(given, context.getInt("dim"));
  QFX_TRY(dim, wrapDim(context, given, type.getRank()));
  transform.dim = dim;
  const Dim &size = type.shape[static_cast<size_t>(dim)];
  if (context.hasValue("n")) {
    QFX_TRY(n, context.getInt("n"));
    transform.n = n;
  } else if (size.isStatic()) {
    transform.n = context.getCall().op->kind == OpKind::Irfft ? 2 * (size.getValue() - 1) : size.getValue();
  }
  if (!size.isStatic())
    return Transform{};
  if (transform.n < 1 || transform.n > kMaxTransform)
    return context.fail("length", "wants transforms of 1 to {0} elements, got {1}", kMaxTransform, transform.n);
  const Argument &norm = context.getCall().get("norm").arg;
  const std::string name = norm.isString() ? norm.getString() : "backward";
  const double n = static_cast<double>(transform.n);
  if (name == "ortho")
    transform.scale = 1 / std::sqrt(n);
  else if (name == (isInverse ? "backward" : "forward"))
    transform.scale = 1 / n;
  else if (name != "backward" && name != "forward")
    return context.fail("norm", "wants 'backward', 'ortho' or 'forward', got '{0}'", name);
  return transform;
}

/// The dimension last, cut or filled with zeros to `count` elements.
static Node *bringLast(Composer &composer, Node *part, const Transform &transform, const TensorType &type, int64_t count) {
  const int64_t present = type.shape[static_cast<size_t>(transform.dim)].getValue();
  if (transform.dim + 1 != static_cast<int64_t>(type.getRank()))
    part = composer.function("torch.movedim", {part, transform.dim, int64_t(-1)});
  if (present > count)
    return composer.function("torch.narrow", {part, int64_t(-1), int64_t(0), count});
  if (present < count)
    return composer.function("torch.nn.functional.pad", {part, Argument::ints({0, count - present})});
  return part;
}

/// Back to its place, times the factor.
static Node *bringBack(Composer &composer, Node *part, const Transform &transform, const TensorType &type) {
  if (transform.scale != 1)
    part = composer.function("torch.mul", {part, transform.scale});
  if (transform.dim + 1 != static_cast<int64_t>(type.getRank()))
    part = composer.function("torch.movedim", {part, int64_t(-1), transform.dim});
  return part;
}

/// fft and ifft of real or complex numbers, rfft of real ones: sum over t of x[t] (cos - i sin)(2 pi f t / n), + i for ifft.
/// Rules `rfft_real`, and those of readTransform.
llvm::Expected<Argument> composeFft(Composer &composer) {
  const InferContext &context = composer.context;
  const OpKind kind = context.getCall().op->kind;
  QFX_TRY(input, composer.complexInput("input"));
  if (kind == OpKind::Rfft && input.imag)
    return context.fail("real", "wants real numbers, got complex ones");
  const bool isInverse = kind == OpKind::Ifft;
  QFX_TRY(transform, readTransform(context, input.type, isInverse));
  const int64_t n = transform.n;
  if (!n)
    return Argument();
  const int64_t bins = kind == OpKind::Rfft ? n / 2 + 1 : n;
  Node *cosines = makeBasis(composer, "torch.cos", n, bins), *sines = makeBasis(composer, "torch.sin", n, bins);
  auto multiply = [&](Node *x, Node *basis) { return composer.function("torch.matmul", {x, basis}); };
  Node *x = bringLast(composer, input.real, transform, input.type, n);
  Node *real = multiply(x, cosines), *turned = multiply(x, sines); // x (cos +- i sin)
  Node *imag = isInverse ? turned : composer.function("torch.rsub", {turned, 0.0}); // 0 - 0 is 0, not -0
  if (input.imag) {
    Node *y = bringLast(composer, input.imag, transform, input.type, n);
    real = composer.function(isInverse ? "torch.sub" : "torch.add", {real, multiply(y, sines)});
    imag = composer.function("torch.add", {imag, multiply(y, cosines)});
  }
  return Composer::makeComplex(bringBack(composer, real, transform, input.type), bringBack(composer, imag, transform, input.type));
}

Node *invertOneSided(Composer &composer, Node *real, Node *imag, int64_t n, double scale) {
  // Frequencies between 0 and n / 2 stand for themselves and their mirror images; the imaginary parts of the two ends do not count.
  const int64_t bins = n / 2 + 1, twice = (n - 1) / 2;
  auto weigh = [&](Node *part, double ends) {
    std::vector<Argument> pieces{composer.function("torch.mul", {composer.function("torch.narrow", {part, int64_t(-1), int64_t(0), int64_t(1)}), ends})};
    if (twice)
      pieces.push_back(composer.function("torch.mul", {composer.function("torch.narrow", {part, int64_t(-1), int64_t(1), twice}), 2.0}));
    if (bins > 1 + twice)
      pieces.push_back(composer.function("torch.mul", {composer.function("torch.narrow", {part, int64_t(-1), bins - 1, int64_t(1)}), ends}));
    return composer.function("torch.cat", {Argument::list(std::move(pieces)), int64_t(-1)});
  };
  auto wave = [&](const char *name) { // [bins, n]
    return composer.function("torch.narrow", {makeBasis(composer, name, n, n), int64_t(0), int64_t(0), bins});
  };
  Node *sum = composer.function("torch.sub", {composer.function("torch.matmul", {weigh(real, 1), wave("torch.cos")}),
                                              composer.function("torch.matmul", {weigh(imag, 0), wave("torch.sin")})});
  return scale == 1 ? sum : composer.function("torch.mul", {sum, scale});
}

/// The real signal of a one-sided spectrum, of 2 (bins - 1) elements unless `n` says otherwise.
llvm::Expected<Argument> composeIrfft(Composer &composer) {
  QFX_TRY(input, composer.complexInput("input"));
  QFX_TRY(transform, readTransform(composer.context, input.type, /*isInverse=*/true));
  if (!transform.n)
    return Argument();
  const int64_t bins = transform.n / 2 + 1;
  Node *real = bringLast(composer, input.real, transform, input.type, bins);
  Node *imag = input.imag ? bringLast(composer, input.imag, transform, input.type, bins) : composer.function("torch.zeros_like", {real});
  return Argument(bringBack(composer, invertOneSided(composer, real, imag, transform.n, 1), transform, input.type));
}

} // namespace qfx
