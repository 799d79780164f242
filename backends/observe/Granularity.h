// Which values of a tensor share quantization parameters, in torchao's words.
#ifndef BACKENDS_OBSERVE_GRANULARITY_H
#define BACKENDS_OBSERVE_GRANULARITY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace qfx {

/// How real numbers map to codes (numerics 3.13); the numbers are PyTorch's enumerators.
enum class MappingType : uint8_t { Symmetric = 1, SymmetricNoClippingErr, Asymmetric };
/// Where zero points live: codes, real numbers, nowhere.
enum class ZeroPointDomain : uint8_t { Int = 1, Float, None };
/// Signed integers of 1 to 7 bits, which have no dtype of their own: -2^(n-1)..2^(n-1)-1.
enum class TorchAODType : uint8_t { Int1 = 1, Int2, Int3, Int4, Int5, Int6, Int7 };

/// Smallest and largest code of a TorchAODType.
std::pair<int64_t, int64_t> getTorchAORange(TorchAODType dtype);

/// PyTorch's names: SYMMETRIC, SYMMETRIC_NO_CLIPPING_ERR, ASYMMETRIC; INT, FLOAT, NONE.
llvm::StringRef getMappingTypeName(MappingType type);
std::optional<MappingType> parseMappingType(llvm::StringRef name);
llvm::StringRef getZeroPointDomainName(ZeroPointDomain domain);
std::optional<ZeroPointDomain> parseZeroPointDomain(llvm::StringRef name);

struct PerTensor {
  bool operator==(const PerTensor &) const = default;
};
/// One set of parameters for each index along `axis`; negative axes count from the end.
struct PerAxis {
  int64_t axis = 0;
  bool operator==(const PerAxis &) const = default;
};
/// Groups of neighbours along the last dimension.
struct PerGroup {
  int64_t groupSize = 1;
  bool operator==(const PerGroup &) const = default;
};
/// One set for each line along `dim` (torchao's extension; the core has the last dimension only).
struct PerRow {
  int64_t dim = -1;
  bool operator==(const PerRow &) const = default;
};
/// One set for each vector along the last dimension.
struct PerToken {
  bool operator==(const PerToken &) const = default;
};
/// Blocks of a given size; a shorter size is filled up with ones from the left (torchao's extension, refused by the core).
struct PerBlock {
  std::vector<int64_t> blockSize;
  bool operator==(const PerBlock &) const = default;
};

/// Comparable by class and fields.
using Granularity = std::variant<PerTensor, PerAxis, PerGroup, PerRow, PerToken, PerBlock>;

/// "PerTensor()", "PerAxis(axis=0)", "PerGroup(group_size=32)", "PerRow()", "PerToken()", "PerBlock(block_size=(1, 32))"; field names may
/// be left out.
std::string toString(const Granularity &granularity);
/// Errors: `granularity_syntax`.
llvm::Expected<Granularity> parseGranularity(llvm::StringRef text);

/// get_block_size: the sizes of the blocks of a tensor that share parameters.
/// Errors (`granularity_shape`): an axis outside the rank, a group or block that does not divide the tensor, rank 0 where there must be a
/// last dimension.  torch core refuses groups of tensors that are not two-dimensional and PerBlock; they are accepted here as in torchao.
llvm::Expected<std::vector<int64_t>> getBlockSize(llvm::ArrayRef<int64_t> shape, const Granularity &granularity);

/// The blocks of a tensor: which one an element belongs to, and the shape of the parameters.
class BlockLayout {
public:
  /// Errors: ranks that differ, a block that does not divide its dimension (`granularity_shape`).
  static llvm::Expected<BlockLayout> get(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> blockSize);

  /// Dimensions that a block covers as a whole are dropped.
  const std::vector<int64_t> &getParameterShape() const { return parameterShape; }
  size_t getNumBlocks() const { return numBlocks; }
  /// Block of each element, row-major.
  std::vector<size_t> findBlocks() const;

private:
  std::vector<int64_t> shape, blockSize, parameterShape;
  size_t numBlocks = 1;
};

} // namespace qfx

#endif // BACKENDS_OBSERVE_GRANULARITY_H
