// Rows folded in order, so that neither threads nor instruction sets change a bit.
#include "kernels/rowwise/Rowwise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

namespace qfx::kernels {

namespace {

using P = RowwiseParams;
template <class T> using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

template <class T> T narrow(Wide<T> value) { return static_cast<T>(value); }

/// Is a before b: NaN is larger than all numbers.
template <class T> bool isLess(T a, T b) { return a < b || (b != b && a == a); }

/// The first index of the largest (or smallest) element; NaN counts as such.
template <class T> int64_t findExtreme(const T *src, int64_t n, bool largest) {
  int64_t best = 0;
  for (int64_t i = 1; i < n && src[best] == src[best]; ++i)
    if (src[i] != src[i] || (largest ? src[best] < src[i] : src[i] < src[best]))
      best = i;
  return best;
}

double getMean(const float *src, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += static_cast<double>(src[i]);
  return sum / static_cast<double>(n);
}

struct Functions {
  template <class T> static void Sum(const T *src, int64_t n, T *dst, void *, const P &) {
    Wide<T> sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += static_cast<Wide<T>>(src[i]);
    *dst = narrow<T>(sum);
  }
  template <class T> static void Product(const T *src, int64_t n, T *dst, void *, const P &) {
    Wide<T> product = 1;
    for (int64_t i = 0; i < n; ++i)
      product *= static_cast<Wide<T>>(src[i]);
    *dst = narrow<T>(product);
  }
  template <class T> static void takeExtreme(const T *src, int64_t n, T *dst, void *second, bool largest) {
    int64_t index = findExtreme(src, n, largest);
    *dst = src[index];
    if (second)
      *static_cast<int64_t *>(second) = index;
  }
  template <class T> static void Largest(const T *src, int64_t n, T *dst, void *second, const P &) {
    takeExtreme(src, n, dst, second, true);
  }
  template <class T> static void Smallest(const T *src, int64_t n, T *dst, void *second, const P &) {
    takeExtreme(src, n, dst, second, false);
  }
  template <class T> static void IndexOfLargest(const T *src, int64_t n, int64_t *dst, void *, const P &) {
    *dst = findExtreme(src, n, true);
  }
  template <class T> static void IndexOfSmallest(const T *src, int64_t n, int64_t *dst, void *, const P &) {
    *dst = findExtreme(src, n, false);
  }
  template <class T> static void AnyOf(const T *src, int64_t n, uint8_t *dst, void *, const P &) {
    *dst = std::any_of(src, src + n, [](T v) { return v != 0; });
  }
  template <class T> static void AllOf(const T *src, int64_t n, uint8_t *dst, void *, const P &) {
    *dst = std::all_of(src, src + n, [](T v) { return v != 0; });
  }
  template <class T> static void CountOf(const T *src, int64_t n, int64_t *dst, void *, const P &) {
    *dst = std::count_if(src, src + n, [](T v) { return v != 0; });
  }
  static void moments(const float *src, int64_t n, float *dst, void *second, double correction, bool root) {
    double mean = getMean(src, n), squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      double distance = static_cast<double>(src[i]) - mean;
      squares += distance * distance;
    }
    double variance = squares / std::max(0.0, static_cast<double>(n) - correction);
    *dst = static_cast<float>(root ? std::sqrt(variance) : variance);
    if (second)
      *static_cast<float *>(second) = static_cast<float>(mean);
  }
  static void Variance(const float *src, int64_t n, float *dst, void *second, const P &params) {
    moments(src, n, dst, second, params.p, false);
  }
  static void Deviation(const float *src, int64_t n, float *dst, void *second, const P &params) {
    moments(src, n, dst, second, params.p, true);
  }
  static void NormOf(const float *src, int64_t n, float *dst, void *, const P &params) {
    double total = std::isinf(params.p) && params.p < 0 ? std::numeric_limits<double>::infinity() : 0;
    for (int64_t i = 0; i < n; ++i) {
      double size = std::fabs(static_cast<double>(src[i]));
      if (std::isinf(params.p))
        total = size != size || total != total ? size + total : params.p > 0 ? std::max(total, size) : std::min(total, size);
      else if (params.p == 0)
        total += size != 0;
      else if (params.p == 1)
        total += size;
      else
        total += params.p == 2 ? size * size : std::pow(size, params.p);
    }
    bool isPlain = std::isinf(params.p) || params.p == 0 || params.p == 1;
    *dst = static_cast<float>(isPlain ? total : params.p == 2 ? std::sqrt(total) : std::pow(total, 1 / params.p));
  }
  static void LogSumExp(const float *src, int64_t n, float *dst, void *, const P &) {
    float top = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < n; ++i)
      top = src[i] != src[i] || top != top ? src[i] + top : std::max(top, src[i]);
    double sum = 0, base = std::isinf(top) ? 0 : static_cast<double>(top);
    for (int64_t i = 0; i < n; ++i)
      sum += std::exp(static_cast<double>(src[i]) - base);
    *dst = static_cast<float>(base + std::log(sum));
  }
  template <class T> static void RunningSum(const T *src, int64_t n, T *dst, void *, const P &) {
    Wide<T> sum = 0;
    for (int64_t i = 0; i < n; ++i)
      dst[i] = narrow<T>(sum += static_cast<Wide<T>>(src[i]));
  }
  template <class T> static void RunningProduct(const T *src, int64_t n, T *dst, void *, const P &) {
    Wide<T> product = 1;
    for (int64_t i = 0; i < n; ++i)
      dst[i] = narrow<T>(product *= static_cast<Wide<T>>(src[i]));
  }
  template <class T> static void Order(const T *src, int64_t n, T *dst, void *second, const P &params) {
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), int64_t(0));
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return params.flag ? isLess(src[b], src[a]) : isLess(src[a], src[b]);
    });
    const int64_t count = static_cast<int64_t>(params.p);
    for (int64_t i = 0; i < count; ++i) {
      dst[i] = src[order[static_cast<size_t>(i)]];
      static_cast<int64_t *>(second)[i] = order[static_cast<size_t>(i)];
    }
  }
};

template <auto Function> struct Wrap;
template <class T, class Out, void (*Function)(const T *, int64_t, Out *, void *, const P &)> struct Wrap<Function> {
  static void row(const void *src, int64_t n, void *dst, void *second, const P &params) {
    Function(static_cast<const T *>(src), n, static_cast<Out *>(dst), second, params);
  }
};

const RowwiseInfo kInfos[] = {
#define QFX_ROWWISE(Kind, Result, Text)                                                                                \
  {RowwiseResult::Result, &Wrap<&Functions::Kind<float>>::row, &Wrap<&Functions::Kind<int64_t>>::row},
#define QFX_ROWWISE_FLOAT(Kind, Result, Text) {RowwiseResult::Result, &Wrap<&Functions::Kind>::row, nullptr},
#include "kernels/rowwise/RowwiseKinds.def"
};

} // namespace

const RowwiseInfo &getRowwise(RowwiseKind kind) { return kInfos[static_cast<size_t>(kind)]; }

} // namespace qfx::kernels
