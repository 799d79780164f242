// Signal-to-quantization-noise ratios of outputs and layers.
#include "tools/run/Compare.h"

#include "backends/observe/Observer.h"
#include "passes/ValueOrigin.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

namespace qfx::tool {

/// Row-major coordinates of element `index`.
static std::vector<int64_t> unravel(int64_t index, llvm::ArrayRef<int64_t> sizes) {
  std::vector<int64_t> coordinates(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    coordinates[i] = index % sizes[i];
    index /= sizes[i];
  }
  return coordinates;
}

void ErrorSums::add(const Tensor &value, const Tensor &reference) {
  if (value.getSizes() != reference.getSizes()) {
    isComparable = false;
    return;
  }
  Tensor a = value.getQuantizer() ? dequantizeTensor(value) : value;
  Tensor b = reference.getQuantizer() ? dequantizeTensor(reference) : reference;
  type = reference.getType();
  for (int64_t i = 0, n = a.getNumElements(); i < n; ++i) {
    double x = a.getElementAsDouble(i), y = b.getElementAsDouble(i);
    double difference = x == y ? 0 : std::abs(x - y); // equal infinities differ by nothing
    signal += y * y;
    noise += difference * difference;
    maxReference = std::max(maxReference, std::abs(y));
    if (difference > maxAbs || std::isnan(difference)) {
      maxAbs = difference;
      valueAtMax = x;
      referenceAtMax = y;
      indexOfMax = unravel(i, a.getSizes());
    }
  }
}

double ErrorSums::getSqnr() const {
  if (noise == 0)
    return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

static ErrorSums &getSums(std::vector<std::pair<std::string, ErrorSums>> &all, llvm::StringRef name) {
  for (auto &entry : all)
    if (entry.first == name)
      return entry.second;
  all.emplace_back(name.str(), ErrorSums());
  return all.back().second;
}

void Comparison::addOutputs(llvm::ArrayRef<NamedValue> values, llvm::ArrayRef<NamedValue> references) {
  for (const auto &[value, reference] : llvm::zip(values, references))
    if (value.value.isTensor() && reference.value.isTensor())
      getSums(outputs, reference.name).add(value.value.tensor, reference.value.tensor);
}

void Comparison::addLayers(llvm::ArrayRef<NamedValue> values, llvm::ArrayRef<NamedValue> references,
                           const std::vector<std::pair<std::string, std::string>> &valueOf) {
  llvm::StringMap<const Tensor *> valueByName, referenceByName;
  for (const NamedValue &value : values)
    if (value.value.isTensor())
      valueByName[value.name] = &value.value.tensor;
  for (const NamedValue &reference : references)
    if (reference.value.isTensor())
      referenceByName[reference.name] = &reference.value.tensor;
  for (const auto &[name, referenceName] : valueOf) {
    const Tensor *value = valueByName.lookup(name), *reference = referenceByName.lookup(referenceName);
    if (value && reference && isFloat(reference->getDType()))
      getSums(layers, name).add(*value, *reference);
  }
}

bool Comparison::isMissed(const ErrorSums &sums) const {
  if (!sums.isComparable || std::isnan(sums.maxAbs))
    return true;
  double atol = std::max(options.atol, 0.0), rtol = std::max(options.rtol, 0.0);
  if ((options.atol >= 0 || options.rtol >= 0) && sums.maxAbs > atol + rtol * sums.maxReference)
    return true;
  return sums.getSqnr() < options.sqnr;
}

std::vector<std::pair<std::string, double>> Comparison::getLayersByError() const {
  std::vector<std::pair<std::string, double>> result;
  for (const auto &[name, sums] : layers)
    if (sums.isComparable)
      result.emplace_back(name, sums.getSqnr());
  llvm::stable_sort(result, [](const auto &a, const auto &b) { return a.second < b.second; });
  return result;
}

static void printIndex(llvm::raw_ostream &os, llvm::ArrayRef<int64_t> index) {
  os << '[';
  llvm::interleave(index, os, ",");
  os << ']';
}

unsigned Comparison::print(llvm::raw_ostream &os, unsigned numWorst) const {
  unsigned missed = 0;
  for (const auto &[name, sums] : outputs) {
    missed += isMissed(sums);
    os << name << "  ";
    if (!sums.isComparable) {
      os << "shapes differ\n";
      continue;
    }
    os << sums.type << llvm::formatv("  sqnr {0:f1} dB", sums.getSqnr());
    if (std::isfinite(options.sqnr))
      os << llvm::formatv(" (want {0:f1})", options.sqnr);
    os << llvm::formatv("  max abs {0:e3}", sums.maxAbs);
    if (sums.maxAbs != 0) {
      os << " at ";
      printIndex(os, sums.indexOfMax);
      os << llvm::formatv(": {0:f6} vs {1:f6}", sums.valueAtMax, sums.referenceAtMax);
    }
    os << '\n';
  }
  auto worst = getLayersByError();
  if (worst.size() > numWorst)
    worst.resize(numWorst);
  for (const auto &[name, sqnr] : worst)
    os << llvm::formatv("worst layer: %{0}  sqnr {1:f1} dB\n", name, sqnr);
  return missed;
}

std::vector<std::pair<std::string, std::string>> getValueNames(const GraphModule &model) {
  std::vector<std::pair<std::string, std::string>> names;
  for (const Node &node : model.getGraph().nodes()) {
    if (node.is(Opcode::Placeholder) || node.is(Opcode::Output) || node.is(Opcode::GetAttr))
      continue;
    names.emplace_back(node.getName(), getValueOrigin(node));
  }
  return names;
}

} // namespace qfx::tool
