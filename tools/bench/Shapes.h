// Shape lists: one layer a line, `linear m= n= k=` or `conv ic= oc= kernel= stride= padding= groups= in=`, with count=.
#ifndef TOOLS_BENCH_SHAPES_H
#define TOOLS_BENCH_SHAPES_H

#include "kernels/conv/ConvShape.h"

#include <string>
#include <vector>

namespace qfx::bench {

/// One line of a shape list.
struct Layer {
  std::string text; ///< the line without its count
  bool isConv = false;
  int64_t m = 0, n = 0, k = 0; ///< of a linear layer
  kernels::ConvShape conv;     ///< square 2-d
  int64_t size = 1;            ///< input height and width
  int64_t count = 1;           ///< how often the network runs it

  int64_t outSize() const { return conv.outSize(2, size); }
  /// Multiplications and additions, padded taps counted.
  double operations() const {
    return 2.0 * (isConv ? double(outSize() * outSize() * conv.outChannels * conv.reduction()) : double(m * n * k));
  }
};

/// Reads a list; an unreadable file, an unknown word or a missing number puts a message into `error`.
std::vector<Layer> readLayers(const std::string &path, std::string &error);

} // namespace qfx::bench

#endif // TOOLS_BENCH_SHAPES_H
