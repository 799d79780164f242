// Comparisons, extremes and order of quantized tensors.
#include "backends/native/TensorMethodsDetail.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

namespace qfx::tensors {

//===----------------------------------------------------------------------===//
// Comparisons of real values
//===----------------------------------------------------------------------===//

static bool holds(Comparison kind, float a, float b) {
  switch (kind) {
  case Comparison::Eq:
    return a == b;
  case Comparison::Ne:
    return a != b;
  case Comparison::Lt:
    return a < b;
  case Comparison::Le:
    return a <= b;
  case Comparison::Gt:
    return a > b;
  case Comparison::Ge:
    return a >= b;
  }
  return false;
}

static llvm::StringRef getName(Comparison kind) {
  static constexpr llvm::StringLiteral names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  return names[static_cast<size_t>(kind)];
}

/// The element of `tensor` that stands at row-major position `index` of the broadcast sizes.
static float getBroadcast(const Tensor &tensor, llvm::ArrayRef<int64_t> sizes, int64_t index) {
  int64_t at = 0;
  const size_t missing = sizes.size() - tensor.getRank();
  for (size_t i = sizes.size(); i-- > 0; index /= sizes[i])
    if (i >= missing && tensor.getSizes()[i - missing] != 1)
      at += index % sizes[i] * tensor.getStrides()[i - missing];
  return tensor.getData<float>()[static_cast<size_t>(at)];
}

llvm::Expected<Tensor> compare(Comparison kind, const Tensor &self, const Tensor &other) {
  llvm::Expected<Tensor> a = dequantize(self);
  if (!a)
    return a.takeError();
  llvm::Expected<Tensor> b = dequantize(other);
  if (!b)
    return b.takeError();
  llvm::SmallVector<int64_t, 6> sizes(std::max(a->getRank(), b->getRank()), 1);
  for (const Tensor *tensor : {&*a, &*b})
    for (size_t i = 0; i < tensor->getRank(); ++i) {
      int64_t &size = sizes[sizes.size() - tensor->getRank() + i];
      const int64_t own = tensor->getSizes()[i];
      if (own != 1 && size != 1 && own != size)
        return refuse(getName(kind), "wants shapes that broadcast, got {0} and {1}", toString(self.getType()),
                      toString(other.getType()));
      size = own == 1 ? size : own;
    }
  return Tensor::build(DType::Bool, sizes, [&](MutableBytes bytes) {
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = std::byte(holds(kind, getBroadcast(*a, sizes, static_cast<int64_t>(i)),
                                 getBroadcast(*b, sizes, static_cast<int64_t>(i))));
  });
}

llvm::Expected<Tensor> compare(Comparison kind, const Tensor &self, double other) {
  return compare(kind, self, Tensor::of<float>(DType::Float32, {}, {static_cast<float>(other)}));
}

//===----------------------------------------------------------------------===//
// Order of codes
//===----------------------------------------------------------------------===//

/// A tensor seen as [outer, length, inner] around one dimension.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;
  size_t dim = 0;
};

/// Rules: whole-byte codes quantized per tensor, `dim` within the rank.
static llvm::Expected<Lines> getLines(llvm::StringRef method, const Tensor &self, int64_t dim) {
  if (llvm::Error err = wantPerTensor(method, self))
    return err;
  if (getDTypeInfo(self.getDType()).bits < 8)
    return refuse(method, "takes quint8, qint8 and qint32, got {0}", toString(self.getType()));
  const auto rank = static_cast<int64_t>(self.getRank()), limit = std::max<int64_t>(rank, 1);
  if (dim < -limit || dim >= limit)
    return refuse(method, "has no dimension {0} in {1}", dim, toString(self.getType()));
  Lines lines;
  lines.dim = static_cast<size_t>(dim < 0 ? dim + limit : dim);
  for (size_t i = 0; i < self.getRank(); ++i)
    (i < lines.dim ? lines.outer : i == lines.dim ? lines.length : lines.inner) *= self.getSizes()[i];
  return lines;
}

/// (values, int64 indices) of the `kept` elements of each line that `choose(line, order)` puts first.
static std::pair<Tensor, Tensor>
pickPerLine(const Tensor &self, const Lines &lines, llvm::ArrayRef<int64_t> sizes, int64_t kept,
            llvm::function_ref<void(llvm::function_ref<double(int64_t)>, std::vector<int64_t> &)> choose) {
  std::vector<int64_t> picked(static_cast<size_t>(lines.outer * kept * lines.inner));
  std::vector<int64_t> order(static_cast<size_t>(lines.length));
  for (int64_t o = 0; o < lines.outer; ++o)
    for (int64_t i = 0; i < lines.inner; ++i) {
      std::iota(order.begin(), order.end(), 0);
      auto at = [&](int64_t k) { return self.getElementAsDouble((o * lines.length + k) * lines.inner + i); };
      choose(at, order);
      for (int64_t k = 0; k < kept; ++k)
        picked[static_cast<size_t>((o * kept + k) * lines.inner + i)] = order[static_cast<size_t>(k)];
    }
  const size_t bytes = getDTypeInfo(self.getDType()).bits / 8;
  Tensor values = Tensor::build(
      self.getDType(), sizes,
      [&](MutableBytes dst) {
        for (size_t at = 0; at < picked.size(); ++at) {
          const auto position = static_cast<int64_t>(at);
          const int64_t o = position / (kept * lines.inner), i = position % lines.inner;
          std::memcpy(dst.data() + at * bytes,
                      self.getBytes() + ((o * lines.length + picked[at]) * lines.inner + i) * bytes, bytes);
        }
      },
      self.getQuantizer());
  return {std::move(values), Tensor::of<int64_t>(DType::Int64, sizes, picked)};
}

static llvm::Expected<std::pair<Tensor, Tensor>> order(llvm::StringRef method, const Tensor &self, int64_t dim,
                                                       bool descending, std::optional<int64_t> kept) {
  llvm::Expected<Lines> lines = getLines(method, self, dim);
  if (!lines)
    return lines.takeError();
  if (kept && (*kept < 0 || *kept > lines->length))
    return refuse(method, "selected index k out of range: wants 0 <= k <= {0}, got {1}", lines->length, *kept);
  llvm::SmallVector<int64_t, 6> sizes(self.getSizes().begin(), self.getSizes().end());
  if (kept && !sizes.empty())
    sizes[lines->dim] = *kept;
  return pickPerLine(self, *lines, sizes, kept.value_or(lines->length),
                     [&](llvm::function_ref<double(int64_t)> at, std::vector<int64_t> &indices) {
                       std::stable_sort(indices.begin(), indices.end(), [&](int64_t a, int64_t b) {
                         return descending ? at(b) < at(a) : at(a) < at(b);
                       });
                     });
}

llvm::Expected<std::pair<Tensor, Tensor>> sort(const Tensor &self, int64_t dim, bool descending) {
  return order("sort", self, dim, descending, std::nullopt);
}

llvm::Expected<std::pair<Tensor, Tensor>> topk(const Tensor &self, int64_t k, int64_t dim, bool largest) {
  return order("topk", self, dim, largest, k);
}

/// The first of equal extremes wins.
static llvm::Expected<std::pair<Tensor, Tensor>> extreme(llvm::StringRef method, const Tensor &self, int64_t dim,
                                                         bool keepDim, bool largest) {
  llvm::Expected<Lines> lines = getLines(method, self, dim);
  if (!lines)
    return lines.takeError();
  if (lines->length == 0)
    return refuse(method, "wants at least one element along dimension {0}, got {1}", dim, toString(self.getType()));
  llvm::SmallVector<int64_t, 6> sizes(self.getSizes().begin(), self.getSizes().end());
  if (!sizes.empty() && keepDim)
    sizes[lines->dim] = 1;
  else if (!sizes.empty())
    sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(lines->dim));
  return pickPerLine(
      self, *lines, sizes, 1, [&](llvm::function_ref<double(int64_t)> at, std::vector<int64_t> &indices) {
        indices[0] = *std::max_element(indices.begin(), indices.end(),
                                       [&](int64_t a, int64_t b) { return largest ? at(a) < at(b) : at(b) < at(a); });
      });
}

llvm::Expected<std::pair<Tensor, Tensor>> max(const Tensor &self, int64_t dim, bool keepDim) {
  return extreme("max", self, dim, keepDim, /*largest=*/true);
}
llvm::Expected<std::pair<Tensor, Tensor>> min(const Tensor &self, int64_t dim, bool keepDim) {
  return extreme("min", self, dim, keepDim, /*largest=*/false);
}

static llvm::Expected<Tensor> extremeOfAll(llvm::StringRef method, const Tensor &self, bool largest) {
  if (self.getNumElements() == 0)
    return refuse(method, "wants at least one element, got {0}", toString(self.getType()));
  auto found = extreme(method, self.reshaped({self.getNumElements()}), 0, /*keepDim=*/false, largest);
  if (!found)
    return found.takeError();
  return found->first;
}

llvm::Expected<Tensor> max(const Tensor &self) {
  if (llvm::Error err = wantPerTensor("max", self))
    return err;
  return extremeOfAll("max", self, /*largest=*/true);
}
llvm::Expected<Tensor> min(const Tensor &self) {
  if (llvm::Error err = wantPerTensor("min", self))
    return err;
  return extremeOfAll("min", self, /*largest=*/false);
}

} // namespace qfx::tensors
