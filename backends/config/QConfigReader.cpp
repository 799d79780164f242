// Reads qconfigs and observers of mapping files (docs/QConfig.md).
#include "backends/config/QConfigReaderDetail.h"

#include "backends/config/ObserverSpecDetail.h"
#include "ir/Ops.h"

#include "llvm/ADT/STLExtras.h"

namespace qfx {

static std::vector<std::string> getObserverNames() {
  std::vector<std::string> names = getObserverAliasNames();
  llvm::append_range(names, getObserverClassNames());
  return names;
}

/// A keyword's value: JSON scalars, with dtypes and schemes as their names.
static std::optional<Argument> readKeywordValue(const JsonCursor &cursor, const ObserverSpec &spec, llvm::StringRef name) {
  switch (cursor->kind) {
  case JsonValue::Kind::Null:
    return Argument::none();
  case JsonValue::Kind::Bool:
    return Argument(cursor->flag);
  case JsonValue::Kind::Integer:
    return Argument(cursor->integer);
  case JsonValue::Kind::Real:
    return Argument(cursor->real);
  case JsonValue::Kind::String:
    if (std::optional<Argument> value = parseKeywordText(spec, name, cursor->text))
      return value;
    cursor.error("observer-argument", ("unknown " + (name == "qscheme" ? name : "dtype") + " '" + cursor->text + "'").str());
    return std::nullopt;
  case JsonValue::Kind::Array:
  case JsonValue::Kind::Object:
    break;
  }
  cursor.error("wrong-type", ("expected a number, a string, a boolean or null, found " + describeJsonKind(cursor->kind)).str());
  return std::nullopt;
}

static std::optional<ObserverSpec> readObserver(const JsonCursor &cursor);

static std::optional<ObserverSpec> readObserverObject(const JsonCursor &cursor) {
  const JsonMember *className = cursor.findMember("class");
  if (!className) {
    cursor.error("missing-key", "an observer object needs the key 'class'");
    return std::nullopt;
  }
  JsonCursor nameCursor = cursor.at(*className);
  if (!nameCursor.expect(JsonValue::Kind::String))
    return std::nullopt;
  const TargetInfo *row = findObserverClass(nameCursor->text);
  if (!row) {
    nameCursor.error("observer-unknown", "no observer class is named '" + nameCursor->text + "'" +
                                             didYouMean(nameCursor->text, getObserverClassNames()));
    return std::nullopt;
  }
  ObserverSpec spec{row, /*isPartial=*/true, {}, nullptr};
  bool isFine = true;
  if (const JsonMember *nested = cursor.findMember("observer")) {
    if (!spec.isFakeQuantize()) {
      cursor.errorAtKey(*nested, "observer-argument", ("'" + row->getBaseName() + "' has no argument 'observer'").str());
      return std::nullopt;
    }
    std::optional<ObserverSpec> observer = readObserver(cursor.at(*nested));
    if (!observer)
      return std::nullopt;
    spec.observer = std::make_shared<const ObserverSpec>(std::move(*observer));
  }
  for (const JsonMember &member : cursor->members) {
    if (member.key == "class" || member.key == "observer" || member.key == "comment")
      continue;
    std::optional<Argument> value = readKeywordValue(cursor.at(member), spec, member.key);
    isFine &= value.has_value();
    if (!value)
      continue;
    if (llvm::Error err = checkKeyword(spec, member.key, *value)) {
      cursor.errorAtKey(member, "observer-argument", takeDiagnostics(std::move(err)).front().message);
      isFine = false;
      continue;
    }
    spec.keywords.emplace_back(member.key, std::move(*value));
  }
  return isFine ? std::optional(std::move(spec)) : std::nullopt;
}

/// The name of an alias or class, or an object with `class` and keywords; what the constructor refuses is refused here.
static std::optional<ObserverSpec> readObserver(const JsonCursor &cursor) {
  std::optional<ObserverSpec> spec;
  if (cursor->is(JsonValue::Kind::String)) {
    spec = findObserverAlias(cursor->text);
    if (const TargetInfo *row = findObserverClass(cursor->text); row && !spec)
      spec = ObserverSpec{row, /*isPartial=*/false, {}, nullptr};
    if (!spec)
      cursor.error("observer-unknown", "no observer is named '" + cursor->text + "'" + didYouMean(cursor->text, getObserverNames()));
  } else if (cursor->is(JsonValue::Kind::Object)) {
    spec = readObserverObject(cursor);
  } else {
    cursor.error("wrong-type", ("expected an observer's name or object, found " + describeJsonKind(cursor->kind)).str());
  }
  if (!spec)
    return std::nullopt;
  if (llvm::Expected<ModuleRef> built = spec->build(); !built) {
    for (const Diagnostic &diagnostic : takeDiagnostics(built.takeError()))
      cursor.error("observer-argument", diagnostic.message);
    return std::nullopt;
  }
  return spec;
}

OptionalQConfig readQConfig(const JsonCursor &cursor) {
  if (cursor->is(JsonValue::Kind::Null))
    return std::nullopt;
  if (cursor->is(JsonValue::Kind::String)) {
    std::optional<QConfig> alias = findQConfigAlias(cursor->text);
    if (!alias)
      cursor.error("qconfig-unknown", "no qconfig is named '" + cursor->text + "'" + didYouMean(cursor->text, getQConfigAliasNames()));
    return alias;
  }
  if (!cursor->is(JsonValue::Kind::Object)) {
    cursor.error("wrong-type", ("expected null, a qconfig's name or an object with activation and weight, found " + describeJsonKind(cursor->kind)).str());
    return std::nullopt;
  }
  cursor.checkKeys({"activation", "weight"});
  QConfig qconfig;
  for (auto [key, side] : {std::pair("activation", &QConfig::activation), std::pair("weight", &QConfig::weight)}) {
    const JsonMember *member = cursor.findMember(key);
    if (!member)
      cursor.error("missing-key", std::string("a qconfig needs the key '") + key + "'");
    else if (!member->value.is(JsonValue::Kind::Null))
      qconfig.*side = readObserver(cursor.at(*member));
  }
  return qconfig;
}

} // namespace qfx
