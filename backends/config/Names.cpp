// Spellings of observation types, fuser methods and getters, read from their rows.
#include "backends/config/NamesDetail.h"

namespace qfx {

static constexpr llvm::StringLiteral kObservationTypes[] = {
    "OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT", "OUTPUT_SHARE_OBSERVER_WITH_INPUT", "INPUT_OUTPUT_NOT_OBSERVED"};

llvm::StringRef getObservationTypeName(ObservationType type) { return kObservationTypes[static_cast<unsigned>(type)]; }

std::optional<ObservationType> parseObservationType(llvm::StringRef name) {
  for (unsigned i = 0; i < std::size(kObservationTypes); ++i)
    if (kObservationTypes[i] == name)
      return static_cast<ObservationType>(i);
  return std::nullopt;
}

std::vector<std::string> getObservationTypeNames() {
  return std::vector<std::string>(std::begin(kObservationTypes), std::end(kObservationTypes));
}

namespace {
struct FuserRow {
  FuserMethod::Kind kind;
  llvm::StringLiteral name;
  llvm::StringLiteral shape;
};
} // namespace
static constexpr FuserRow kFusers[] = {
#define QFX_FUSER(enumerator, name, shape) {FuserMethod::Kind::enumerator, name, shape},
#include "backends/config/FuserMethods.def"
};

llvm::StringRef getFuserMethodName(FuserMethod::Kind kind) {
  for (const FuserRow &row : kFusers)
    if (row.kind == kind)
      return row.name;
  return "";
}

std::optional<FuserMethod::Kind> parseFuserMethod(llvm::StringRef name) {
  for (const FuserRow &row : kFusers)
    if (row.name == name)
      return row.kind;
  return std::nullopt;
}

std::vector<std::string> getFuserMethodNames() {
  std::vector<std::string> names;
  for (const FuserRow &row : kFusers)
    names.push_back(row.name.str());
  return names;
}

llvm::StringRef getFuserShape(FuserMethod::Kind kind) {
  for (const FuserRow &row : kFusers)
    if (row.kind == kind)
      return row.shape;
  return "";
}

std::string getPatternShape(const Pattern &pattern) {
  if (pattern.getKind() == Pattern::Kind::MatchAll)
    return "*";
  if (pattern.getKind() == Pattern::Kind::Literal)
    return "=";
  if (pattern.isSingle())
    return "o";
  std::string text = "(o";
  for (const Pattern &arg : pattern.getArgs())
    text += getPatternShape(arg);
  return text + ")";
}

namespace {
struct GetterRow {
  std::string fuser, root, extraInputs;
  PatternPath rootPath, extraInputPath;
};
} // namespace

static const std::vector<GetterRow> &getGetters() {
  static const std::vector<GetterRow> rows = {
#define QFX_GETTER(prefix, side, rootPath, extraInputPath)                                                             \
  {"fuse_" prefix "_" side, prefix "_root_node_getter_" side, prefix "_extra_inputs_getter_" side, rootPath, extraInputPath},
#include "backends/config/PatternGetters.def"
  };
  return rows;
}

std::optional<PatternPath> parseRootGetter(llvm::StringRef name) {
  for (const GetterRow &row : getGetters())
    if (row.root == name)
      return row.rootPath;
  return std::nullopt;
}

std::optional<PatternPath> parseExtraInputsGetter(llvm::StringRef name) {
  for (const GetterRow &row : getGetters())
    if (row.extraInputs == name)
      return row.extraInputPath;
  return std::nullopt;
}

std::vector<std::string> getRootGetterNames() {
  std::vector<std::string> names;
  for (const GetterRow &row : getGetters())
    names.push_back(row.root);
  return names;
}

std::vector<std::string> getExtraInputsGetterNames() {
  std::vector<std::string> names;
  for (const GetterRow &row : getGetters())
    names.push_back(row.extraInputs);
  return names;
}

/// The row whose fuser wants patterns of the shape of `entry`'s.
static const GetterRow *findGetterOf(const BackendPatternConfig &entry) {
  for (const GetterRow &row : getGetters())
    if (getFuserShape(*parseFuserMethod(row.fuser)) == getPatternShape(entry.pattern))
      return &row;
  return nullptr;
}

std::string findRootGetterName(const BackendPatternConfig &entry) {
  const GetterRow *row = findGetterOf(entry);
  return row && entry.rootNodePath == row->rootPath ? row->root : "";
}

std::string findExtraInputsGetterName(const BackendPatternConfig &entry) {
  const GetterRow *row = findGetterOf(entry);
  return row && entry.extraInputPaths == std::vector<PatternPath>{row->extraInputPath} ? row->extraInputs : "";
}

} // namespace qfx
