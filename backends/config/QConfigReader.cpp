// Reads qconfigs and observers of mapping files (docs/QConfig.md).
#include "backends/config/QConfigReaderDetail.h"

#include "backends/config/EqualizationConfig.h"
#include "backends/config/ObserverSpecDetail.h"
#include "backends/observe/EqualizationObserver.h"
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

static OptionalQConfig readNamedQConfig(const JsonCursor &cursor, QConfigKind kind) {
  std::vector<std::string> names;
  OptionalQConfig named;
  if (kind == QConfigKind::Equalization) {
    names = {kDefaultEqualizationName.str()};
    if (cursor->text == kDefaultEqualizationName)
      named = getDefaultEqualizationQConfig();
  } else {
    names = getQConfigAliasNames();
    named = findQConfigAlias(cursor->text);
  }
  if (!named)
    cursor.error("qconfig-unknown", "no qconfig is named '" + cursor->text + "'" + didYouMean(cursor->text, names));
  return named;
}

/// Observers of equalization configs stand there and nowhere else.
static bool checkKind(const JsonCursor &cursor, const ObserverSpec &spec, QConfigKind kind, bool isWeight) {
  if (kind == QConfigKind::Quantization) {
    if (!isEqualizationSpec(spec))
      return true;
    cursor.error("equalization-observer", ("'" + spec.observerClass->getBaseName() + "' belongs to an equalization config (prepare=equalization=FILE)").str());
    return false;
  }
  const TargetInfo &wanted = requireModuleClass(isWeight ? kWeightEqualizationClass : kInputEqualizationClass);
  if (spec.observerClass == &wanted)
    return true;
  cursor.error("equalization-observer", ("an equalization config has '" + wanted.getBaseName() + "' here, found '" + spec.observerClass->getBaseName() + "'").str());
  return false;
}

OptionalQConfig readQConfig(const JsonCursor &cursor, QConfigKind kind) {
  if (cursor->is(JsonValue::Kind::Null))
    return std::nullopt;
  if (cursor->is(JsonValue::Kind::String))
    return readNamedQConfig(cursor, kind);
  const bool isEqualization = kind == QConfigKind::Equalization;
  const char *activationKey = isEqualization ? "input_activation" : "activation";
  if (!cursor->is(JsonValue::Kind::Object)) {
    cursor.error("wrong-type", (llvm::Twine("expected null, a qconfig's name or an object with ") + activationKey + " and weight, found " +
                                describeJsonKind(cursor->kind))
                                   .str());
    return std::nullopt;
  }
  cursor.checkKeys({activationKey, "weight"});
  QConfig qconfig;
  for (auto [key, side] : {std::pair(activationKey, &QConfig::activation), std::pair("weight", &QConfig::weight)}) {
    const JsonMember *member = cursor.findMember(key);
    if (!member) {
      cursor.error("missing-key", std::string("a qconfig needs the key '") + key + "'");
      continue;
    }
    if (member->value.is(JsonValue::Kind::Null) && !isEqualization)
      continue;
    std::optional<ObserverSpec> spec = readObserver(cursor.at(*member));
    if (spec && checkKind(cursor.at(*member), *spec, kind, side == &QConfig::weight))
      qconfig.*side = std::move(spec);
  }
  return qconfig;
}

} // namespace qfx
