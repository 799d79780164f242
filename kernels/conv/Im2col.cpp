// im2col for channels-last codes: taps that lie next to each other are copied as one run.
#include "kernels/conv/Im2col.h"

#include <algorithm>
#include <cstring>

namespace qfx::kernels {

/// memcpy for short runs, without a call: the last chunk overlaps the one before it.
static void copyRun(uint8_t *dst, const uint8_t *src, int64_t count) {
  if (count >= 16) {
    if (count > 256) {
      std::memcpy(dst, src, count);
      return;
    }
    for (int64_t i = 0; i + 16 < count; i += 16)
      std::memcpy(dst + i, src + i, 16);
    std::memcpy(dst + count - 16, src + count - 16, 16);
  } else if (count >= 8) {
    std::memcpy(dst, src, 8);
    std::memcpy(dst + count - 8, src + count - 8, 8);
  } else if (count >= 4) {
    std::memcpy(dst, src, 4);
    std::memcpy(dst + count - 4, src + count - 4, 4);
  } else {
    for (int64_t i = 0; i < count; ++i)
      dst[i] = src[i];
  }
}

namespace {
/// One line of taps along the width.
struct LineGather {
  int64_t taps, dilation, width, channels, lds;
  uint8_t padCode;

  bool isContiguous() const { return dilation == 1 && lds == channels; }

  /// A pixel whose first tap stands at column `w` of the line `src`; \returns the end of what was written.
  uint8_t *operator()(const uint8_t *src, int64_t w, uint8_t *dst) const {
    if (isContiguous()) {
      int64_t left = std::clamp<int64_t>(-w, 0, taps);
      int64_t inside = std::clamp<int64_t>(width - (w + left), 0, taps - left);
      std::memset(dst, padCode, left * channels);
      copyRun(dst + left * channels, src + (w + left) * lds, inside * channels);
      std::memset(dst + (left + inside) * channels, padCode, (taps - left - inside) * channels);
      return dst + taps * channels;
    }
    for (int64_t t = 0; t < taps; ++t, w += dilation, dst += channels) {
      if (w < 0 || w >= width)
        std::memset(dst, padCode, channels);
      else
        copyRun(dst, src + w * lds, channels);
    }
    return dst;
  }
};

/// Coordinates of an output pixel, advanced in row-major order.
struct OutputPixel {
  int64_t image, at[3];

  OutputPixel(const ConvSizes &sizes, int64_t pixel) {
    for (int axis = 2; axis >= 0; --axis) {
      at[axis] = pixel % sizes.out[axis];
      pixel /= sizes.out[axis];
    }
    image = pixel;
  }
  void advance(const ConvSizes &sizes) {
    for (int axis = 2; axis >= 0; --axis) {
      if (++at[axis] < sizes.out[axis])
        return;
      at[axis] = 0;
    }
    ++image;
  }
};
} // namespace

void im2col(const ConvShape &shape, const ConvSizes &sizes, const uint8_t *src, int64_t ldsElems, uint8_t padCode,
            int64_t begin, int64_t end, uint8_t *dst, int64_t rowBytes) {
  const int64_t channels = shape.groupInChannels();
  const LineGather gather{shape.kernel[2], shape.dilation[2], sizes.in[2], channels, ldsElems, padCode};
  const int64_t lineTaps = shape.kernel[2] * channels, lineElems = sizes.in[2] * ldsElems;
  const int64_t lastTap = (shape.kernel[2] - 1) * shape.dilation[2];
  OutputPixel pixel(sizes, begin);
  for (int64_t p = begin; p < end; ++p, dst += rowBytes, pixel.advance(sizes)) {
    int64_t w = pixel.at[2] * shape.stride[2] - shape.padding[2];
    bool inside = gather.isContiguous() && w >= 0 && w + lastTap < sizes.in[2];
    uint8_t *out = dst;
    for (int64_t kd = 0; kd < shape.kernel[0]; ++kd) {
      int64_t d = pixel.at[0] * shape.stride[0] - shape.padding[0] + kd * shape.dilation[0];
      for (int64_t kh = 0; kh < shape.kernel[1]; ++kh) {
        int64_t h = pixel.at[1] * shape.stride[1] - shape.padding[1] + kh * shape.dilation[1];
        const uint8_t *line = src + ((pixel.image * sizes.in[0] + d) * sizes.in[1] + h) * lineElems;
        if (d < 0 || d >= sizes.in[0] || h < 0 || h >= sizes.in[1]) {
          std::memset(out, padCode, lineTaps);
        } else if (inside) {
          copyRun(out, line + w * ldsElems, lineTaps);
        } else {
          out = gather(line, w, out);
          continue;
        }
        out += lineTaps;
      }
    }
    std::memset(out, 0, dst + rowBytes - out);
  }
}

} // namespace qfx::kernels
