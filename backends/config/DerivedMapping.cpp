// Votes of the entries, bounds of those that agree, and the observers within them.
#include "backends/config/DerivedMapping.h"

#include "backends/config/ObserverSpecDetail.h"
#include "ir/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace qfx {

namespace {
/// Codes and the smallest scale that one side of a dtype config allows.
struct Bounds {
  int64_t low, high;
  double minScale = 0;

  Bounds(DType dtype, const DTypeWithConstraints &side)
      : low(getDTypeInfo(dtype).codeMin), high(getDTypeInfo(dtype).codeMax), minScale(side.scaleMinLowerBound.value_or(0)) {
    if (!side.quantMinLowerBound || !side.quantMaxUpperBound)
      return; // a bound alone is never checked (backend_config.md 1.2)
    low = std::max(low, static_cast<int64_t>(std::ceil(*side.quantMinLowerBound)));
    high = std::min(high, static_cast<int64_t>(std::floor(*side.quantMaxUpperBound)));
  }
  /// The codes that both allow, the larger scale.
  void intersect(const Bounds &other) {
    low = std::max(low, other.low);
    high = std::min(high, other.high);
    minScale = std::max(minScale, other.minScale);
  }
  /// Can an observer have this range?
  bool isUsable() const { return low <= 0 && 0 <= high && low < high; }
};

struct FixedParameters {
  double scale;
  int64_t zeroPoint;
};

/// What a dtype config wants of a qconfig.
struct Wish {
  DType activation;
  bool isDynamic;
  Bounds activationBounds;
  std::optional<FixedParameters> fixed;
  std::optional<DType> weight; ///< none: any
  Bounds weightBounds;

  bool hasKindOf(const Wish &other) const { return activation == other.activation && isDynamic == other.isDynamic; }
};
} // namespace

static std::optional<FixedParameters> findFixed(const DTypeWithConstraints &side) {
  if (!side.scaleExactMatch || !side.zeroPointExactMatch)
    return std::nullopt;
  return FixedParameters{*side.scaleExactMatch, *side.zeroPointExactMatch};
}

static bool isOneOf(DType dtype, std::initializer_list<DType> set) { return llvm::is_contained(set, dtype); }

/// None if no observers make what the config says.
static std::optional<Wish> makeWish(const DTypeConfig &config) {
  DTypeWithConstraints input = config.input;
  if (!input.dtype)
    input.dtype = config.output.dtype.value_or(DType::Float32);
  DType activation = *input.dtype;
  bool isDynamic = config.isDynamicSet();
  if (!isDynamic && config.output.dtype && *config.output.dtype != activation)
    return std::nullopt; // a qconfig has one activation dtype
  std::optional<DType> weight = config.weight.dtype;
  if (weight == DType::Float32)
    weight.reset();
  bool isHalf = activation == DType::Float16;
  bool fits = isDynamic ? isOneOf(activation, {DType::QUInt8, DType::QInt8, DType::Float16})
                        : isOneOf(activation, {DType::QUInt8, DType::QInt8, DType::QInt32, DType::Float16}) ||
                              (activation == DType::Float32 && weight);
  if (weight)
    fits &= isHalf ? weight == DType::Float16 : isOneOf(*weight, {DType::QUInt8, DType::QInt8, DType::QUInt4x2});
  if (!fits)
    return std::nullopt;
  Wish wish{activation, isDynamic, Bounds(activation, input), findFixed(input), weight,
            Bounds(weight.value_or(DType::QInt8), weight ? config.weight : DTypeWithConstraints())};
  if (!wish.fixed)
    wish.fixed = findFixed(config.output);
  if (!isDynamic && config.output.dtype)
    wish.activationBounds.intersect(Bounds(activation, config.output));
  bool isUsable = (isFloat(activation) || wish.activationBounds.isUsable()) && (!weight || isFloat(*weight) || wish.weightBounds.isUsable());
  return isUsable ? std::optional(wish) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Observers
//===----------------------------------------------------------------------===//

/// quant_min and quant_max where they are not the dtype's own, eps where a smallest scale is asked for.
static void addBounds(std::vector<Keyword> &keywords, DType dtype, const Bounds &bounds, bool alwaysRange) {
  const DTypeInfo &info = getDTypeInfo(dtype);
  if (alwaysRange || bounds.low != info.codeMin || bounds.high != info.codeMax) {
    keywords.push_back(makeKeyword("quant_min", bounds.low));
    keywords.push_back(makeKeyword("quant_max", bounds.high));
  }
  if (bounds.minScale > 0)
    keywords.push_back(makeKeyword("eps", bounds.minScale));
}

static ObserverSpec makeActivation(const Wish &wish, bool isQat) {
  DType dtype = wish.activation;
  if (isFloat(dtype)) {
    if (dtype == DType::Float32)
      return isQat ? makeSpec("NoopObserver", {makeKeyword("dtype", dtype)}) : makeNamedSpec("default_placeholder_observer");
    std::vector<Keyword> keywords = {makeKeyword("dtype", dtype)};
    if (wish.isDynamic)
      keywords.push_back(makeKeyword("is_dynamic", true));
    return makeSpec("PlaceholderObserver", std::move(keywords));
  }
  const Bounds &bounds = wish.activationBounds;
  if (wish.fixed) {
    ObserverSpec observer = makeSpec("FixedQParamsObserver", {makeKeyword("scale", wish.fixed->scale), makeKeyword("zero_point", wish.fixed->zeroPoint),
                                                              makeKeyword("dtype", dtype), makeKeyword("quant_min", bounds.low),
                                                              makeKeyword("quant_max", bounds.high)});
    if (!isQat)
      return observer;
    ObserverSpec fake = makeSpec("FixedQParamsFakeQuantize", {});
    fake.observer = std::make_shared<const ObserverSpec>(std::move(observer));
    return fake;
  }
  std::vector<Keyword> keywords = {makeKeyword("dtype", dtype)};
  addBounds(keywords, dtype, bounds, /*alwaysRange=*/isQat || wish.isDynamic);
  if (wish.isDynamic)
    keywords.push_back(makeKeyword("is_dynamic", true));
  if (!isQat)
    return makeSpec(wish.isDynamic ? "PlaceholderObserver" : dtype == DType::QInt32 ? "MinMaxObserver" : "HistogramObserver", std::move(keywords));
  if (!wish.isDynamic)
    return makeFakeQuantizeSpec("FusedMovingAvgObsFakeQuantize", "MovingAverageMinMaxObserver", std::move(keywords));
  keywords.push_back(makeKeyword("averaging_constant", 1)); // remembers nothing (numerics 5.7)
  return makeFakeQuantizeSpec("FakeQuantize", "MovingAverageMinMaxObserver", std::move(keywords));
}

static ObserverSpec makeWeight(const Wish &wish, DType fallback, bool isQat) {
  DType dtype = wish.weight.value_or(wish.activation == DType::Float16 ? DType::Float16 : fallback);
  if (isFloat(dtype))
    return makeSpec("PlaceholderObserver", {makeKeyword("dtype", dtype)});
  if (wish.activation == DType::Float32 && dtype != DType::QInt8) { // tables of rows, each with float parameters
    if (isQat)
      return makeNamedSpec(dtype == DType::QUInt8 ? "default_embedding_fake_quant" : "default_embedding_fake_quant_4bit");
    return makeNamedSpec(dtype == DType::QUInt8 ? "default_float_qparams_observer" : "default_float_qparams_observer_4bit");
  }
  std::vector<Keyword> keywords = {makeKeyword("dtype", dtype),
                                   makeKeyword("qscheme", dtype == DType::QInt8 ? QScheme::PerChannelSymmetric : QScheme::PerChannelAffine)};
  Bounds bounds = wish.weight ? wish.weightBounds : Bounds(dtype, {});
  addBounds(keywords, dtype, bounds, /*alwaysRange=*/isQat);
  if (!isQat)
    return makeSpec("PerChannelMinMaxObserver", std::move(keywords));
  return makeFakeQuantizeSpec("FusedMovingAvgObsFakeQuantize", "MovingAveragePerChannelMinMaxObserver", std::move(keywords));
}

//===----------------------------------------------------------------------===//
// Votes
//===----------------------------------------------------------------------===//

namespace {
/// An entry and what its usable dtype configs want, in their order.
struct Voter {
  const BackendPatternConfig *entry;
  std::vector<Wish> wishes;
};

class Derivation {
public:
  Derivation(const BackendConfig &backend, bool isQat) : backend(backend), isQat(isQat) {}

  llvm::Expected<QConfigMapping> run() {
    for (const BackendPatternConfig &entry : backend.getConfigs()) {
      Voter voter{&entry, {}};
      for (const DTypeConfig &config : entry.dtypeConfigs)
        if (std::optional<Wish> wish = makeWish(config))
          voter.wishes.push_back(*wish);
      if (!voter.wishes.empty())
        voters.push_back(std::move(voter));
    }
    const Wish *kind = electKind();
    if (!kind)
      return error(Location(), "no dtype config of the backend '{0}' can be served by an observer: give a mapping with --qconfig", backend.getName())
          .code("qconfig_needed");
    Wish global = *kind;
    global.fixed.reset();
    global.weight = electWeight(*kind);
    global.activationBounds = Bounds(global.activation, {});
    global.weightBounds = Bounds(global.weight.value_or(DType::QInt8), {});
    std::vector<const Voter *> others;
    for (const Voter &voter : voters)
      if (!mergeInto(global, voter))
        others.push_back(&voter);
    fallbackWeight = global.weight && !isFloat(*global.weight) ? *global.weight : DType::QInt8;
    mapping.setGlobal(makeQConfig(global));
    for (const Voter *voter : others)
      setObjectTypes(*voter);
    return std::move(mapping);
  }

private:
  QConfig makeQConfig(const Wish &wish) const { return QConfig{makeActivation(wish, isQat), makeWeight(wish, fallbackWeight, isQat)}; }

  /// The activation that serves most entries, then that which more of them name first; fixed parameters are always an operator's own affair.
  const Wish *electKind() const {
    const Wish *best = nullptr;
    std::pair<size_t, size_t> bestVotes;
    for (const Voter &candidate : voters)
      for (const Wish &wish : candidate.wishes) {
        auto agrees = [&](const Wish &other) { return !other.fixed && other.hasKindOf(wish); };
        std::pair<size_t, size_t> votes = {
            llvm::count_if(voters, [&](const Voter &voter) { return llvm::any_of(voter.wishes, agrees); }),
            llvm::count_if(voters, [&](const Voter &voter) { return agrees(voter.wishes.front()); })};
        if (!wish.fixed && votes > bestVotes) {
          best = &wish;
          bestVotes = votes;
        }
      }
    // Only fixed operators: any of them gives the dtype of the global entry.
    return best || voters.empty() ? best : &voters.front().wishes.front();
  }

  std::optional<DType> electWeight(const Wish &kind) const {
    std::vector<std::pair<DType, size_t>> votes;
    for (const Voter &voter : voters) {
      auto wish = llvm::find_if(voter.wishes, [&](const Wish &one) { return one.hasKindOf(kind) && one.weight; });
      if (wish == voter.wishes.end())
        continue;
      auto known = llvm::find_if(votes, [&](const auto &vote) { return vote.first == *wish->weight; });
      if (known == votes.end())
        votes.emplace_back(*wish->weight, 1);
      else
        ++known->second;
    }
    auto best = std::max_element(votes.begin(), votes.end(), [](const auto &a, const auto &b) { return a.second < b.second; });
    return best == votes.end() ? std::nullopt : std::optional(best->first);
  }

  /// Narrows the global bounds so that they fit a wish of this entry too.  \returns false if they cannot.
  static bool mergeInto(Wish &global, const Voter &voter) {
    for (const Wish &wish : voter.wishes) {
      if (!wish.hasKindOf(global) || wish.fixed || (wish.weight && wish.weight != global.weight))
        continue;
      Wish merged = global;
      merged.activationBounds.intersect(wish.activationBounds);
      if (wish.weight)
        merged.weightBounds.intersect(wish.weightBounds);
      bool isUsable = (isFloat(global.activation) || merged.activationBounds.isUsable()) &&
                      (!global.weight || isFloat(*global.weight) || merged.weightBounds.isUsable());
      if (!isUsable)
        continue;
      global = merged;
      return true;
    }
    return false;
  }

  /// The operators of an entry get its qconfig, unless another entry speaks for them alone.
  void setObjectTypes(const Voter &voter) {
    QConfig qconfig = makeQConfig(voter.wishes.front());
    forEachOperator(voter.entry->pattern, [&](const OperatorName &op) {
      const BackendPatternConfig *own = backend.findSingle(op);
      if ((!own || own == voter.entry) && !mapping.findObjectType(op))
        mapping.setObjectType(op, qconfig);
    });
  }

  static void forEachOperator(const Pattern &pattern, llvm::function_ref<void(const OperatorName &)> visit) {
    if (pattern.getKind() != Pattern::Kind::Operator)
      return;
    for (const Pattern &arg : pattern.getArgs())
      forEachOperator(arg, visit);
    visit(pattern.getHead());
  }

  const BackendConfig &backend;
  bool isQat;
  std::vector<Voter> voters;
  DType fallbackWeight = DType::QInt8;
  QConfigMapping mapping;
};
} // namespace

llvm::Expected<QConfigMapping> deriveQConfigMapping(const BackendConfig &backend, bool isQat) { return Derivation(backend, isQat).run(); }

} // namespace qfx
