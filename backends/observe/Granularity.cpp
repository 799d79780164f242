// Granularities: text, block sizes, blocks.
#include "backends/observe/Granularity.h"

#include "ir/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace qfx {

std::pair<int64_t, int64_t> getTorchAORange(TorchAODType dtype) {
  const int64_t half = int64_t(1) << (static_cast<int>(dtype) - 1);
  return {-half, half - 1};
}

static constexpr llvm::StringLiteral kMappingTypes[] = {"SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR", "ASYMMETRIC"};
static constexpr llvm::StringLiteral kDomains[] = {"INT", "FLOAT", "NONE"};

/// Enumerators count from 1.
template <class Enum> static std::optional<Enum> parseName(llvm::ArrayRef<llvm::StringLiteral> names, llvm::StringRef name) {
  const auto *found = llvm::find(names, name);
  return found == names.end() ? std::nullopt : std::optional(static_cast<Enum>(found - names.begin() + 1));
}

llvm::StringRef getMappingTypeName(MappingType type) { return kMappingTypes[static_cast<size_t>(type) - 1]; }
std::optional<MappingType> parseMappingType(llvm::StringRef name) { return parseName<MappingType>(kMappingTypes, name); }
llvm::StringRef getZeroPointDomainName(ZeroPointDomain domain) { return kDomains[static_cast<size_t>(domain) - 1]; }
std::optional<ZeroPointDomain> parseZeroPointDomain(llvm::StringRef name) { return parseName<ZeroPointDomain>(kDomains, name); }

static std::string joinSizes(llvm::ArrayRef<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  return text;
}

std::string toString(const Granularity &granularity) {
  if (const auto *axis = std::get_if<PerAxis>(&granularity))
    return "PerAxis(axis=" + std::to_string(axis->axis) + ")";
  if (const auto *group = std::get_if<PerGroup>(&granularity))
    return "PerGroup(group_size=" + std::to_string(group->groupSize) + ")";
  if (const auto *block = std::get_if<PerBlock>(&granularity))
    return "PerBlock(block_size=(" + joinSizes(block->blockSize) + (block->blockSize.size() == 1 ? ",))" : "))");
  if (const auto *row = std::get_if<PerRow>(&granularity))
    return row->dim == -1 ? "PerRow()" : "PerRow(dim=" + std::to_string(row->dim) + ")";
  return std::holds_alternative<PerToken>(granularity) ? "PerToken()" : "PerTensor()";
}

/// "field=VALUE" or "VALUE"; VALUE may stand in parentheses.
static std::optional<std::vector<int64_t>> parseNumbers(llvm::StringRef text, llvm::StringRef field) {
  text = text.trim();
  if (text.consume_front(field)) {
    text = text.ltrim();
    if (!text.consume_front("="))
      return std::nullopt;
    text = text.trim();
  }
  if (text.consume_front("(") && !text.consume_back(")"))
    return std::nullopt;
  std::vector<int64_t> numbers;
  llvm::SmallVector<llvm::StringRef, 4> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    int64_t number;
    if (part.trim().getAsInteger(10, number))
      return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

llvm::Expected<Granularity> parseGranularity(llvm::StringRef text) {
  auto [name, rest] = text.trim().split('(');
  auto wrong = [&] {
    return error({}, "'{0}' is no granularity; expected PerTensor(), PerAxis(axis), PerGroup(group_size), PerRow(), PerToken() or "
                     "PerBlock((sizes))",
                 text)
        .code("granularity_syntax");
  };
  if (!rest.consume_back(")"))
    return wrong();
  llvm::StringRef field = name == "PerAxis" ? "axis" : name == "PerGroup" ? "group_size" : name == "PerRow" ? "dim" : "block_size";
  std::optional<std::vector<int64_t>> numbers = parseNumbers(rest, field);
  if (!numbers)
    return wrong();
  const size_t count = numbers->size();
  if (name == "PerTensor" && count == 0)
    return Granularity(PerTensor());
  if (name == "PerToken" && count == 0)
    return Granularity(PerToken());
  if (name == "PerRow" && count <= 1)
    return Granularity(count ? PerRow{numbers->front()} : PerRow());
  if (name == "PerAxis" && count == 1)
    return Granularity(PerAxis{numbers->front()});
  if (name == "PerGroup" && count == 1)
    return Granularity(PerGroup{numbers->front()});
  if (name == "PerBlock" && count > 0)
    return Granularity(PerBlock{std::move(*numbers)});
  return wrong();
}

static ErrorBuilder shapeError(const Granularity &granularity, llvm::ArrayRef<int64_t> shape) {
  return error({}, "{0} does not fit a tensor of shape ({1})", toString(granularity), joinSizes(shape)).code("granularity_shape");
}

llvm::Expected<std::vector<int64_t>> getBlockSize(llvm::ArrayRef<int64_t> shape, const Granularity &granularity) {
  const int64_t rank = static_cast<int64_t>(shape.size());
  std::vector<int64_t> ones(shape.size(), 1);
  auto wrap = [&](int64_t dim) { return dim < 0 ? dim + rank : dim; };
  if (std::holds_alternative<PerTensor>(granularity))
    return shape.vec();
  if (const auto *axis = std::get_if<PerAxis>(&granularity)) {
    const int64_t dim = wrap(axis->axis);
    if (dim < 0 || dim >= rank)
      return shapeError(granularity, shape);
    std::vector<int64_t> block = shape.vec();
    block[static_cast<size_t>(dim)] = 1;
    return block;
  }
  if (const auto *blocks = std::get_if<PerBlock>(&granularity)) {
    if (blocks->blockSize.size() > shape.size())
      return shapeError(granularity, shape);
    llvm::copy(blocks->blockSize, ones.end() - static_cast<ptrdiff_t>(blocks->blockSize.size()));
    for (auto [size, block] : llvm::zip(shape, ones))
      if (block < 1 || size % block != 0)
        return shapeError(granularity, shape);
    return ones;
  }
  const auto *row = std::get_if<PerRow>(&granularity);
  const int64_t dim = row ? wrap(row->dim) : rank - 1;
  if (dim < 0 || dim >= rank)
    return shapeError(granularity, shape);
  const int64_t size = shape[static_cast<size_t>(dim)];
  const auto *group = std::get_if<PerGroup>(&granularity);
  if (group && (group->groupSize < 1 || size % group->groupSize != 0))
    return shapeError(granularity, shape);
  ones[static_cast<size_t>(dim)] = group ? group->groupSize : size;
  return ones;
}

llvm::Expected<BlockLayout> BlockLayout::get(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> blockSize) {
  auto wrong = [&] {
    return error({}, "blocks of ({0}) do not divide a tensor of shape ({1})", joinSizes(blockSize), joinSizes(shape))
        .code("granularity_shape");
  };
  if (shape.size() != blockSize.size())
    return wrong();
  BlockLayout layout;
  layout.shape = shape.vec();
  layout.blockSize = blockSize.vec();
  for (auto [size, block] : llvm::zip(shape, blockSize)) {
    if (size == 0 ? block < 0 : (block < 1 || size % block != 0))
      return wrong();
    if (block == 1 || block != size)
      layout.parameterShape.push_back(size == 0 ? 0 : size / block);
  }
  for (int64_t size : layout.parameterShape)
    layout.numBlocks *= static_cast<size_t>(size);
  return layout;
}

std::vector<size_t> BlockLayout::findBlocks() const {
  size_t numElements = 1;
  for (int64_t size : shape)
    numElements *= static_cast<size_t>(size);
  std::vector<size_t> blocks(numElements, 0);
  // From the last dimension on: an element's index along it, in blocks, times the blocks of the dimensions behind.
  size_t elementStride = 1, blockStride = 1;
  for (size_t d = shape.size(); d-- > 0 && numElements;) {
    const size_t size = static_cast<size_t>(shape[d]), block = static_cast<size_t>(blockSize[d]);
    for (size_t i = 0; i < numElements; ++i)
      blocks[i] += i / elementStride % size / block * blockStride;
    elementStride *= size;
    blockStride *= size / block;
  }
  return blocks;
}

} // namespace qfx
