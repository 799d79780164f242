// qfx-bench: measures the int8 kernels on lists of layer shapes, and observers.
#include "kernels/isa/Isa.h"
#include "tools/bench/Bench.h"

#include <charconv>
#include <cstdio>
#include <regex>
#include <string_view>

using namespace qfx;

static const char *const kUsage =
    "usage: qfx-bench gemm|conv|depthwise|weight-only --shapes=FILE [--kernel=REGEX] [--threads=N] [--codes=0..127|0..255]\n"
    "                 [--no-scalar] [--csv]\n"
    "       qfx-bench observers\n"
    "  gemm       u8 x s8 products; convolutions of the list as the product of their im2col matrix\n"
    "  conv       convolutions, im2col and output stage included (not depthwise)\n"
    "  depthwise  depthwise convolutions\n"
    "  weight-only  linear layers with 8- and 4-bit weights (group size 128) beside the float product\n"
    "  observers  histogram, min-max and per-channel observers on fixed data, beside a plain read\n"
    "Every table row that this processor supports and whose name REGEX finds is measured; a line is its own repro.\n"
    "gops: 2 * multiply-adds / time of the fastest repetition, padded taps counted.  of_peak: share of the measured\n"
    "register-only peak of the instruction set's dot product sequence.  --no-scalar leaves out vs_scalar (slow).\n";

static int fail(const std::string &message) {
  std::fprintf(stderr, "qfx-bench: %s\n", message.c_str());
  return 2;
}

int main(int argc, char **argv) {
  bench::Options options;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    auto value = [&](std::string_view flag, std::string &into) {
      if (word.substr(0, flag.size()) != flag)
        return false;
      into = word.substr(flag.size());
      return true;
    };
    std::string text;
    if (word == "--help" || word == "-h") {
      std::printf("%s", kUsage);
      return 0;
    }
    if (word == "--csv")
      options.csv = true;
    else if (word == "--no-scalar")
      options.scalar = false;
    else if (value("--codes=", text) && (text == "0..127" || text == "0..255"))
      options.fullRange = text == "0..255";
    else if (value("--threads=", text)) {
      auto result = std::from_chars(text.data(), text.data() + text.size(), options.threads);
      if (result.ptr != text.data() + text.size() || options.threads < 1 || options.threads > 256)
        return fail("expected --threads=1..256, found '" + text + "'");
    } else if (value("--shapes=", options.shapes) || value("--kernel=", options.kernel))
      continue;
    else if (word.substr(0, 1) != "-" && options.family.empty())
      options.family = word;
    else
      return fail("unexpected argument '" + std::string(word) + "'\n" + kUsage);
  }
  if (options.family == "observers") {
    bench::runObserverFamily();
    return 0;
  }
  if (options.family != "gemm" && options.family != "conv" && options.family != "depthwise" && options.family != "weight-only")
    return fail("expected the family gemm, conv, depthwise, weight-only or observers, found '" + options.family + "'\n" + kUsage);
  if (options.shapes.empty())
    return fail(std::string("expected --shapes=FILE\n") + kUsage);
  try {
    std::regex check(options.kernel);
  } catch (const std::regex_error &) {
    return fail("--kernel is not a regular expression: '" + options.kernel + "'");
  }
  std::string error;
  std::vector<bench::Layer> layers = bench::readLayers(options.shapes, error);
  if (!error.empty())
    return fail(error);
  bench::printHeader(options);
  if (options.family == "weight-only")
    bench::runWeightOnlyFamily(options, layers);
  else if (options.family == "gemm")
    bench::runGemmFamily(options, layers);
  else
    bench::runConvFamily(options, layers, options.family == "depthwise");
  return 0;
}
