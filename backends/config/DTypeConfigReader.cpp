// Reads dtype configs and their constraints (backend_config.md 5.3).
#include "backends/config/BackendReaderDetail.h"
#include "ir/Text.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

/// backend_config.md 2.4.
static std::optional<DType> readDType(const JsonCursor &cursor) {
  static const std::vector<std::string> kNames = {"quint8",   "qint8",    "qint32",  "quint4x2", "quint2x4", "float32", "float16",
                                                  "bfloat16", "float64",  "uint8",   "int8",     "int16",    "int32"};
  if (!cursor.expect(JsonValue::Kind::String))
    return std::nullopt;
  std::optional<DType> dtype = parseTorchDType(cursor->text);
  if (dtype && llvm::is_contained(kNames, getDTypeInfo(*dtype).torchName.str()))
    return dtype;
  cursor.error("dtype-unknown", "unknown dtype '" + cursor->text + "'" + didYouMean(cursor->text, kNames));
  return std::nullopt;
}

static std::string formatNumber(const JsonValue &value) {
  return value.is(JsonValue::Kind::Integer) ? std::to_string(value.integer) : formatFloat(value.real);
}

namespace {
/// Reads the object form of a dtype with constraints.
class ConstraintReader {
public:
  explicit ConstraintReader(const JsonCursor &object) : object(object) {}

  DTypeWithConstraints read() {
    object.checkKeys({"dtype", "quant_min_lower_bound", "quant_max_upper_bound", "scale_min_lower_bound",
                      "scale_max_upper_bound", "scale_exact_match", "zero_point_exact_match"});
    if (const JsonMember *member = object.findMember("dtype"))
      result.dtype = readDType(object.at(*member));
    else
      object.error("constraint-without-dtype", "constraints need a dtype");
    result.quantMinLowerBound = readCode("quant_min_lower_bound");
    result.quantMaxUpperBound = readCode("quant_max_upper_bound");
    result.scaleMinLowerBound = readScale("scale_min_lower_bound");
    result.scaleMaxUpperBound = readScale("scale_max_upper_bound");
    result.scaleExactMatch = readScale("scale_exact_match");
    readZeroPoint();
    checkCombination();
    return result;
  }

private:
  std::optional<JsonCursor> find(llvm::StringRef key) const {
    const JsonMember *member = object.findMember(key);
    return member ? std::optional(object.at(*member)) : std::nullopt;
  }

  /// A quant bound or zero point must lie in the dtype's code range.
  void checkCode(const JsonCursor &cursor) const {
    if (!result.dtype || isFloat(*result.dtype))
      return;
    const DTypeInfo &info = getDTypeInfo(*result.dtype);
    if (cursor->real < static_cast<double>(info.codeMin) || cursor->real > static_cast<double>(info.codeMax))
      cursor.error("constraint-range", formatNumber(*cursor) + " is outside the range of " + info.torchName.str() + ", " +
                                           std::to_string(info.codeMin) + ".." + std::to_string(info.codeMax));
  }

  std::optional<double> readCode(llvm::StringRef key) const {
    std::optional<JsonCursor> cursor = find(key);
    if (!cursor || !cursor->expectNumber())
      return std::nullopt;
    checkCode(*cursor);
    return (*cursor)->real;
  }

  std::optional<double> readScale(llvm::StringRef key) const {
    std::optional<JsonCursor> cursor = find(key);
    if (!cursor || !cursor->expectNumber())
      return std::nullopt;
    if (!((*cursor)->real > 0))
      cursor->error("constraint-range", (key + " must be greater than 0, got " + formatNumber(**cursor)).str());
    return (*cursor)->real;
  }

  void readZeroPoint() {
    std::optional<JsonCursor> cursor = find("zero_point_exact_match");
    if (!cursor || !cursor->expect(JsonValue::Kind::Integer))
      return;
    checkCode(*cursor);
    result.zeroPointExactMatch = (*cursor)->integer;
  }

  void checkOrder(const std::optional<double> &low, const std::optional<double> &high, llvm::StringRef lowKey,
                  llvm::StringRef highKey) const {
    if (low && high && *low > *high)
      object.error("constraint-range", (lowKey + " " + formatNumber(object.findMember(lowKey)->value) + " is above " + highKey + " " +
                                       formatNumber(object.findMember(highKey)->value))
                                          .str());
  }

  void checkCombination() const {
    checkOrder(result.quantMinLowerBound, result.quantMaxUpperBound, "quant_min_lower_bound", "quant_max_upper_bound");
    checkOrder(result.scaleMinLowerBound, result.scaleMaxUpperBound, "scale_min_lower_bound", "scale_max_upper_bound");
    if (result.scaleExactMatch && (result.scaleMinLowerBound || result.scaleMaxUpperBound))
      object.error("constraint-conflict", "scale_exact_match together with a scale bound can never be satisfied");
    if (result.quantMinLowerBound.has_value() != result.quantMaxUpperBound.has_value())
      object.warn("constraint-half", "quant_min_lower_bound and quant_max_upper_bound work only together");
    if (result.scaleExactMatch.has_value() != result.zeroPointExactMatch.has_value())
      object.warn("constraint-half", "scale_exact_match and zero_point_exact_match work only together");
    if (std::optional<JsonCursor> cursor = find("scale_max_upper_bound"))
      cursor->warn("constraint-unused", "scale_max_upper_bound is never checked");
    DTypeWithConstraints bare;
    bare.dtype = result.dtype;
    if (result.dtype && isFloat(*result.dtype) && !(result == bare))
      object.warn("constraint-on-float", "constraints on a floating dtype have no effect");
  }

  const JsonCursor &object;
  DTypeWithConstraints result;
};
} // namespace

static DTypeWithConstraints readConstrained(const JsonCursor &cursor) {
  if (cursor->is(JsonValue::Kind::Object))
    return ConstraintReader(cursor).read();
  DTypeWithConstraints result;
  if (cursor->is(JsonValue::Kind::String))
    result.dtype = readDType(cursor);
  else
    cursor.error("wrong-type", "expected a dtype or an object with a dtype, found " + describeJsonKind(cursor->kind).str());
  return result;
}

static void checkDTypeConfig(const JsonCursor &cursor, const DTypeConfig &config) {
  if (config.isDynamicSet() && config.output.dtype && *config.output.dtype != DType::Float32)
    cursor.at(*cursor.findMember("output_dtype"))
        .error("dtype-dynamic-output",
               ("output_dtype of a dynamic config must be float32, got " + getDTypeInfo(*config.output.dtype).torchName).str());
  if (!config.isDynamicSet() && config.input.dtype && config.output.dtype && *config.input.dtype != *config.output.dtype)
    cursor.warn("dtype-static-mismatch",
                ("input_dtype " + getDTypeInfo(*config.input.dtype).torchName + " and output_dtype " +
                 getDTypeInfo(*config.output.dtype).torchName + " differ, but a qconfig has one activation dtype")
                    .str());
  if (config.bias && *config.bias != DType::Float32 && *config.bias != DType::Float16)
    cursor.at(*cursor.findMember("bias_dtype"))
        .warn("dtype-bias", ("bias_dtype is float32 or float16, got " + getDTypeInfo(*config.bias).torchName).str());
}

DTypeConfig readDTypeConfig(const JsonCursor &cursor) {
  DTypeConfig config;
  if (!cursor.expect(JsonValue::Kind::Object))
    return config;
  cursor.checkKeys({"input_dtype", "output_dtype", "weight_dtype", "bias_dtype", "is_dynamic"});
  auto read = [&](llvm::StringRef key, DTypeWithConstraints &side) {
    if (const JsonMember *member = cursor.findMember(key))
      side = readConstrained(cursor.at(*member));
  };
  read("input_dtype", config.input);
  read("output_dtype", config.output);
  read("weight_dtype", config.weight);
  if (const JsonMember *member = cursor.findMember("bias_dtype"))
    config.bias = readDType(cursor.at(*member));
  if (const JsonMember *member = cursor.findMember("is_dynamic"))
    if (cursor.at(*member).expect(JsonValue::Kind::Bool))
      config.isDynamic = member->value.flag;
  checkDTypeConfig(cursor, config);
  return config;
}

const DTypeConfig *findDTypeConfig(const NamedDTypeConfigs &named, llvm::StringRef name) {
  for (const auto &[key, config] : named)
    if (key == name)
      return &config;
  return nullptr;
}

} // namespace qfx
