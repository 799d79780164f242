// Values before running: tensor types, host constants, sequences, packed weights.
#include "ir/Infer.h"
#include "ir/Module.h"

namespace qfx {

ValueType ValueType::host(Argument constant) {
  if (constant.isInt())
    return ValueType(Dim(constant.getInt()));
  if (constant.isSequence()) {
    std::vector<ValueType> elements;
    for (const Argument &element : constant.getElements())
      elements.push_back(host(element));
    return sequence(constant.getKind(), std::move(elements));
  }
  if (constant.isDict()) {
    std::vector<std::pair<std::string, ValueType>> entries;
    for (const auto &[key, entry] : constant.getEntries())
      entries.emplace_back(key, host(entry));
    return dictionary(std::move(entries));
  }
  assert(!constant.isNode() && "a node is no host value");
  ValueType result;
  result.value = std::move(constant);
  return result;
}

ValueType ValueType::sequence(Argument::Kind listOrTuple, std::vector<ValueType> elements) {
  ValueType result;
  result.value = std::make_shared<const Sequence>(Sequence{listOrTuple, std::move(elements)});
  return result;
}

ValueType ValueType::dictionary(std::vector<std::pair<std::string, ValueType>> entries) {
  ValueType result;
  result.value = std::make_shared<const Dictionary>(Dictionary{std::move(entries)});
  return result;
}

ValueType ValueType::packed(PackedWeights weights) {
  ValueType result;
  result.value = std::make_shared<const PackedWeights>(std::move(weights));
  return result;
}

template <class T, class Variant> static const T *getShared(const Variant &value) {
  const auto *pointer = std::get_if<std::shared_ptr<const T>>(&value);
  return pointer ? pointer->get() : nullptr;
}

const ValueType::Sequence *ValueType::getSequence() const { return getShared<Sequence>(value); }
const ValueType::Dictionary *ValueType::getDictionary() const { return getShared<Dictionary>(value); }
const PackedWeights *ValueType::getPacked() const { return getShared<PackedWeights>(value); }

std::optional<DTypeKind> ValueType::getNumberKind() const {
  if (const DataNumber *number = getDataNumber())
    return number->kind;
  const Argument *host = getHost();
  if (host && host->isNumber())
    return host->isFloat() ? DTypeKind::Float : host->isBool() ? DTypeKind::Bool : DTypeKind::Integer;
  return getDim() ? std::optional(DTypeKind::Integer) : std::nullopt;
}

std::optional<Argument> ValueType::getConstant() const {
  if (const Argument *constant = getHost())
    return *constant;
  if (const Dim *dim = getDim())
    return dim->isStatic() ? std::optional<Argument>(dim->getValue()) : std::nullopt;
  if (const Sequence *list = getSequence()) {
    Argument::Elements elements;
    for (const ValueType &element : list->elements) {
      std::optional<Argument> constant = element.getConstant();
      if (!constant)
        return std::nullopt;
      elements.push_back(std::move(*constant));
    }
    return list->kind == Argument::Kind::List ? Argument::list(std::move(elements)) : Argument::tuple(std::move(elements));
  }
  if (const Dictionary *dict = getDictionary()) {
    Argument::DictEntries entries;
    for (const auto &[key, entry] : dict->entries) {
      std::optional<Argument> constant = entry.getConstant();
      if (!constant)
        return std::nullopt;
      entries.emplace_back(key, std::move(*constant));
    }
    return Argument::dict(std::move(entries));
  }
  return std::nullopt;
}

} // namespace qfx
