// The short-time Fourier transform and its inverse.
#include "ir/compose/SignalDetail.h"

#include <cmath>

namespace qfx {

/// The product of time and frequency is reduced modulo n while it is an exact integer; sines of multiples of pi are exactly 0, so that the imaginary
/// parts of real signals are 0 where they should be.
Node *makeBasis(Composer &composer, llvm::StringRef wave, int64_t n, int64_t bins) {
  Node *time = composer.reshape(composer.function("torch.arange", {n}), {n, int64_t(1)});
  Node *product = composer.function("torch.mul", {time, composer.function("torch.arange", {bins})});
  Node *phase = composer.method("float", {composer.function("torch.remainder", {product, n})});
  Node *values = composer.function(wave, {composer.function("torch.mul", {phase, 2 * M_PI / static_cast<double>(n)})});
  if (wave != "torch.sin")
    return values;
  Node *halves = composer.function("torch.remainder", {composer.function("torch.mul", {product, int64_t(2)}), n});
  return composer.function("torch.where", {composer.function("torch.eq", {halves, int64_t(0)}), 0.0, values});
}

llvm::Expected<StftNumbers> readStft(const InferContext &context) {
  QFX_TRY(n, context.getInt("n_fft"));
  StftNumbers numbers{n, n / 4, n, true, false, true};
  for (auto [slot, into] : {std::pair("hop_length", &numbers.hop), std::pair("win_length", &numbers.length)})
    if (context.hasValue(slot)) {
      QFX_TRY(given, context.getInt(slot));
      *into = given;
    }
  for (auto [slot, into] : {std::pair("center", &numbers.isCentered), std::pair("normalized", &numbers.isNormalized),
                            std::pair("onesided", &numbers.isOneSided)})
    if (context.hasValue(slot)) {
      QFX_TRY(given, context.getBool(slot));
      *into = given;
    }
  constexpr int64_t kMaxHop = int64_t(1) << 30;
  if (n < 1 || n > kMaxTransform || numbers.hop < 1 || numbers.hop > kMaxHop || numbers.length < 1 || numbers.length > n)
    return context.fail("geometry", "wants n_fft in 1..{0}, hop_length in 1..2^30 and win_length in 1..n_fft, got {1}, {2} and {3}",
                        kMaxTransform, n, numbers.hop, numbers.length);
  return numbers;
}

llvm::Expected<Node *> makeWindow(Composer &composer, const StftNumbers &numbers) {
  Node *window = nullptr;
  const auto [n, length] = std::pair(numbers.n, numbers.length);
  if (composer.context.hasValue("window")) {
    QFX_TRY(given, composer.input("window"));
    if (given.getRank() != 1 || !given.size(0).mayEqual(Dim(length)) || !isFloat(given.type.dtype))
      return composer.context.fail("window", "wants a floating-point window of {0} elements, got {1}", length, toString(given.type));
    window = given.node;
  } else if (length < n) {
    window = composer.function("torch.ones", {length});
  }
  const int64_t before = (n - length) / 2;
  if (window && length < n)
    window = composer.function("torch.nn.functional.pad", {window, Argument::ints({before, n - length - before})});
  return window;
}

/// Frames of the signal times the window, transformed: complex [..., bins, frames], or [..., bins, frames, 2] with real and imaginary parts
/// last (return_complex=False).  Rules `stft_rank` (1 or 2), `stft_geometry`, `stft_window`.
llvm::Expected<Argument> composeStft(Composer &composer) {
  const InferContext &context = composer.context;
  QFX_TRY(input, composer.input("input"));
  QFX_TRY(numbers, readStft(context));
  bool isComplex = false;
  if (context.hasValue("return_complex")) {
    QFX_TRY(given, context.getBool("return_complex"));
    isComplex = given;
  }
  if (input.getRank() != 1 && input.getRank() != 2)
    return context.fail("rank", "wants a signal of rank 1 or 2, got {0}", toString(input.type));
  if (input.type.dtype != DType::Float32)
    return context.fail("dtype", "wants a float32 signal, got {0}", toString(input.type));
  const Dim &samples = input.type.shape.back();
  if (!samples.isStatic())
    return Argument();
  const int64_t n = numbers.n, total = samples.getValue() + (numbers.isCentered ? n / 2 * 2 : 0);
  if (total < n)
    return context.fail("geometry", "wants n_fft of at most {0} samples, got {1}", total, n);
  const BoundSlot *mode = context.getCall().find("pad_mode");
  Node *signal = input.getRank() == 1 ? composer.function("torch.unsqueeze", {input.node, int64_t(0)}) : input.node;
  if (numbers.isCentered) { // padding of images wants channels
    signal = composer.function("torch.unsqueeze", {signal, int64_t(1)});
    signal = composer.function("torch.nn.functional.pad", {signal, Argument::ints({n / 2, n / 2}), mode->arg});
    signal = composer.function("torch.squeeze", {signal, int64_t(1)});
  }
  Node *frames = composer.method("unfold", {signal, int64_t(-1), n, numbers.hop});
  QFX_TRY(window, makeWindow(composer, numbers));
  if (window)
    frames = composer.function("torch.mul", {frames, window});
  const int64_t bins = numbers.isOneSided ? n / 2 + 1 : n;
  auto finish = [&](Node *part) { // frames last, then as many dimensions as the signal had
    if (numbers.isNormalized)
      part = composer.function("torch.mul", {part, 1 / std::sqrt(static_cast<double>(n))});
    part = composer.function("torch.transpose", {part, int64_t(1), int64_t(2)});
    return input.getRank() == 1 ? composer.function("torch.squeeze", {part, int64_t(0)}) : part;
  };
  Node *real = finish(composer.function("torch.matmul", {frames, makeBasis(composer, "torch.cos", n, bins)}));
  Node *imag = finish(
      composer.function("torch.rsub", {composer.function("torch.matmul", {frames, makeBasis(composer, "torch.sin", n, bins)}), 0.0})); // not -0
  if (isComplex)
    return Composer::makeComplex(real, imag);
  return Argument(composer.function("torch.stack", {Argument::list({real, imag}), int64_t(-1)}));
}

/// Frames [B, T, n] added up `hop` apart: [B, n + hop (T - 1)].
static Node *addFrames(Composer &composer, Node *frames, int64_t n, int64_t hop, int64_t total) {
  Node *columns = composer.function("torch.transpose", {frames, int64_t(1), int64_t(2)});
  Node *sum = composer.function("torch.nn.functional.fold",
                                {columns, Argument::ints({1, total}), Argument::ints({1, n})}, {{"stride", Argument::ints({1, hop})}});
  return composer.function("torch.flatten", {sum, int64_t(1)});
}

/// The signal whose short-time transform is the spectrum [..., bins, frames]: frames times window, added up, over the sum of squared windows.
/// Rules `istft_complex` (a complex spectrum, a real signal), `istft_rank`, `istft_bins`, `istft_geometry`, `istft_length`.  PyTorch
/// refuses windows that leave samples without weight when it runs; here they give NaN or infinities.
llvm::Expected<Argument> composeIstft(Composer &composer) {
  const InferContext &context = composer.context;
  QFX_TRY(spectrum, composer.complexInput("input"));
  QFX_TRY(givesComplex, context.getBool("return_complex"));
  if (!spectrum.imag || givesComplex)
    return context.fail("complex", "wants a complex spectrum and return_complex=False, got {0}", toString(spectrum.type));
  QFX_TRY(numbers, readStft(context));
  const size_t rank = spectrum.type.getRank();
  if (rank != 2 && rank != 3)
    return context.fail("rank", "wants a spectrum of rank 2 or 3, got {0}", toString(spectrum.type));
  const int64_t n = numbers.n, bins = numbers.isOneSided ? n / 2 + 1 : n;
  const Dim &frameCount = spectrum.type.shape[rank - 1];
  if (!spectrum.type.shape[rank - 2].mayEqual(Dim(bins)))
    return context.fail("bins", "wants {0} frequencies, got {1}", bins, toString(spectrum.type));
  if (!frameCount.isStatic())
    return Argument();
  if (frameCount.getValue() < 1 || frameCount.getValue() > (int64_t(1) << 30))
    return context.fail("geometry", "wants 1 to 2^30 frames, got {0}", toString(spectrum.type));
  const int64_t total = n + numbers.hop * (frameCount.getValue() - 1);
  const int64_t start = numbers.isCentered ? n / 2 : 0;
  int64_t end = numbers.isCentered ? total - n / 2 : total;
  if (context.hasValue("length")) {
    QFX_TRY(length, context.getInt("length"));
    if (length < 1 || length > (int64_t(1) << 40))
      return context.fail("length", "wants a length in 1..2^40, got {0}", length);
    end = start + length;
  }
  const int64_t last = std::min(end, total);
  if (last <= start)
    return context.fail("length", "has no samples between {0} and {1}", start, last);
  auto prepare = [&](Node *part) { // [B, T, bins]
    if (rank == 2)
      part = composer.function("torch.unsqueeze", {part, int64_t(0)});
    return composer.function("torch.transpose", {part, int64_t(1), int64_t(2)});
  };
  Node *real = prepare(spectrum.real), *imag = prepare(spectrum.imag);
  const double scale = numbers.isNormalized ? 1 / std::sqrt(static_cast<double>(n)) : 1 / static_cast<double>(n);
  Node *frames = nullptr;
  if (numbers.isOneSided) {
    frames = invertOneSided(composer, real, imag, n, scale);
  } else {
    Node *cosines = composer.function("torch.matmul", {real, makeBasis(composer, "torch.cos", n, n)});
    Node *sines = composer.function("torch.matmul", {imag, makeBasis(composer, "torch.sin", n, n)});
    frames = composer.function("torch.mul", {composer.function("torch.sub", {cosines, sines}), scale});
  }
  QFX_TRY(given, makeWindow(composer, numbers));
  Node *window = given ? given : composer.function("torch.ones", {n});
  Node *signal = addFrames(composer, composer.function("torch.mul", {frames, window}), n, numbers.hop, total);
  Node *squares = composer.method("expand", {composer.reshape(composer.function("torch.square", {window}), {int64_t(1), int64_t(1), n}),
                                             Argument::ints({1, frameCount.getValue(), n})});
  Node *weights = addFrames(composer, squares, n, numbers.hop, total);
  auto cut = [&](Node *x) { return composer.function("torch.narrow", {x, int64_t(1), start, last - start}); };
  signal = composer.function("torch.div", {cut(signal), cut(weights)});
  if (end > total)
    signal = composer.function("torch.nn.functional.pad", {signal, Argument::ints({0, end - total})});
  return Argument(rank == 2 ? composer.function("torch.squeeze", {signal, int64_t(0)}) : signal);
}

} // namespace qfx
