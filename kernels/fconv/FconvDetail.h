// Walks output pixels and the input positions of their taps.
#ifndef KERNELS_FCONV_FCONVDETAIL_H
#define KERNELS_FCONV_FCONVDETAIL_H

#include "kernels/conv/ConvShape.h"

namespace qfx::kernels {

/// An output pixel's coordinates, advanced without divisions.
class ConvCursor {
public:
  ConvCursor(const ConvSizes &sizes, int64_t pixel) : sizes(sizes) {
    for (int axis = 2; axis >= 0; --axis) {
      position[axis] = pixel % sizes.out[axis];
      pixel /= sizes.out[axis];
    }
    image = pixel;
  }

  void next() {
    for (int axis = 2; axis >= 0; --axis) {
      if (++position[axis] < sizes.out[axis])
        return;
      position[axis] = 0;
    }
    ++image;
  }

  /// Calls visit(first tap of the row, first input pixel of the row, or -1 if all of it lies in the padding) for each
  /// row of taps in (d, h) order.  Pixel of tap kw of that row: first + getColumn(shape) + kw * dilation.
  template <class Visit> void forTapRows(const ConvShape &shape, Visit visit) const {
    int64_t tap = 0;
    for (int64_t kd = 0; kd < shape.kernel[0]; ++kd) {
      const int64_t d = at(shape, 0, kd);
      for (int64_t kh = 0; kh < shape.kernel[1]; ++kh, tap += shape.kernel[2]) {
        const int64_t h = at(shape, 1, kh);
        const bool inside = d >= 0 && d < sizes.in[0] && h >= 0 && h < sizes.in[1];
        visit(tap, inside ? ((image * sizes.in[0] + d) * sizes.in[1] + h) * sizes.in[2] : -1);
      }
    }
  }

  /// Column of the input under the first tap of each row; may lie in the padding.
  int64_t getColumn(const ConvShape &shape) const { return at(shape, 2, 0); }

  /// Calls visit(tap index, input pixel index or -1 where the tap lies in the padding) in (d, h, w) order.
  template <class Visit> void forTaps(const ConvShape &shape, Visit visit) const {
    const int64_t column = getColumn(shape);
    forTapRows(shape, [&](int64_t tap, int64_t first) {
      int64_t w = column;
      for (int64_t kw = 0; kw < shape.kernel[2]; ++kw, w += shape.dilation[2])
        visit(tap + kw, first >= 0 && w >= 0 && w < sizes.in[2] ? first + w : -1);
    });
  }

private:
  int64_t at(const ConvShape &shape, int axis, int64_t tap) const {
    return position[axis] * shape.stride[axis] - shape.padding[axis] + tap * shape.dilation[axis];
  }

  ConvSizes sizes;
  int64_t image, position[3];
};

} // namespace qfx::kernels

#endif // KERNELS_FCONV_FCONVDETAIL_H
