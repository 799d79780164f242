// Construction, traversal, comparison and printing of FX Arguments.
#include "ir/Argument.h"

#include "ir/Graph.h"
#include "ir/Text.h"

#include "llvm/Support/raw_ostream.h"

#include <cstring>

namespace qfx {

Argument::Argument(const Argument &other) = default;
Argument::Argument(Argument &&other) noexcept = default;
Argument &Argument::operator=(const Argument &other) = default;
Argument &Argument::operator=(Argument &&other) noexcept = default;
Argument::~Argument() = default;

Argument Argument::aggregate(Kind kind, Elements elements) {
  Argument result;
  result.kind = kind;
  result.value = std::make_shared<const Elements>(std::move(elements));
  return result;
}

Argument Argument::ellipsis() {
  Argument result;
  result.kind = Kind::Ellipsis;
  return result;
}

Argument Argument::device(llvm::StringRef name) {
  Argument result(name);
  result.kind = Kind::Device;
  return result;
}

Argument Argument::slice(Argument start, Argument stop, Argument step) {
  return aggregate(Kind::Slice, {std::move(start), std::move(stop), std::move(step)});
}

Argument Argument::dict(DictEntries entries) {
  Argument result;
  result.kind = Kind::Dict;
  result.value = std::make_shared<const DictEntries>(std::move(entries));
  return result;
}

Argument Argument::ints(llvm::ArrayRef<int64_t> numbers) {
  return tuple(Elements(numbers.begin(), numbers.end()));
}

double Argument::getNumber() const {
  assert(isNumber() && "not a number");
  if (isInt())
    return static_cast<double>(getInt());
  return isFloat() ? getFloat() : (getBool() ? 1.0 : 0.0);
}

const Argument *Argument::find(llvm::StringRef key) const {
  for (const auto &[name, entry] : getEntries())
    if (name == key)
      return &entry;
  return nullptr;
}

void Argument::forEachNode(llvm::function_ref<void(Node *)> visit) const {
  switch (kind) {
  case Kind::Node:
    visit(getNode());
    break;
  case Kind::List:
  case Kind::Tuple:
  case Kind::Slice:
    for (const Argument &element : getElements())
      element.forEachNode(visit);
    break;
  case Kind::Dict:
    for (const auto &entry : getEntries())
      entry.second.forEachNode(visit);
    break;
  default:
    break;
  }
}

Argument Argument::mapNodes(llvm::function_ref<Argument(Node *)> map) const {
  switch (kind) {
  case Kind::Node:
    return map(getNode());
  case Kind::List:
  case Kind::Tuple:
  case Kind::Slice: {
    Elements mapped;
    for (const Argument &element : getElements())
      mapped.push_back(element.mapNodes(map));
    return aggregate(kind, std::move(mapped));
  }
  case Kind::Dict: {
    DictEntries mapped;
    for (const auto &[key, entry] : getEntries())
      mapped.emplace_back(key, entry.mapNodes(map));
    return dict(std::move(mapped));
  }
  default:
    return *this;
  }
}

bool Argument::operator==(const Argument &other) const {
  if (kind != other.kind)
    return false;
  switch (kind) {
  case Kind::List:
  case Kind::Tuple:
  case Kind::Slice:
    return getElements() == other.getElements();
  case Kind::Dict:
    return getEntries() == other.getEntries();
  case Kind::Float: { // by bits, so that nan equals itself and a round trip can be checked
    double a = getFloat(), b = other.getFloat();
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
  default:
    return value == other.value;
  }
}

static void printSequence(llvm::raw_ostream &os, llvm::ArrayRef<Argument> elements, ArgumentStyle style) {
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i)
      os << ", ";
    printArgument(os, elements[i], style);
  }
}

/// `cuda:1` -> device(type='cuda', index=1).
static std::string formatDeviceRepr(llvm::StringRef device) {
  auto [type, index] = device.split(':');
  std::string text = "device(type=" + formatPythonString(type);
  return text + (index.empty() ? ")" : ", index=" + index.str() + ")");
}

void printArgument(llvm::raw_ostream &os, const Argument &argument, ArgumentStyle style) {
  using Kind = Argument::Kind;
  switch (argument.getKind()) {
  case Kind::None:
    os << "None";
    return;
  case Kind::Bool:
    os << (argument.getBool() ? "True" : "False");
    return;
  case Kind::Int:
    os << argument.getInt();
    return;
  case Kind::Float:
    os << formatFloat(argument.getFloat());
    return;
  case Kind::String:
    if (style == ArgumentStyle::Fx)
      os << argument.getString();
    else
      os << (style == ArgumentStyle::Repr ? formatPythonString(argument.getString())
                                          : formatQuoted(argument.getString()));
    return;
  case Kind::DType:
    os << "torch." << getDTypeInfo(argument.getDType()).torchName;
    return;
  case Kind::QScheme:
    os << "torch." << getQSchemeName(argument.getQScheme());
    return;
  case Kind::MemoryFormat:
    os << "torch." << getMemoryFormatName(argument.getMemoryFormat());
    return;
  case Kind::Device:
    if (style == ArgumentStyle::Qfx)
      os << "device(" << formatQuoted(argument.getString()) << ')';
    else if (style == ArgumentStyle::Repr)
      os << formatDeviceRepr(argument.getString());
    else
      os << argument.getString();
    return;
  case Kind::Ellipsis:
    os << (style == ArgumentStyle::Qfx ? "..." : "Ellipsis");
    return;
  case Kind::Node:
    if (style != ArgumentStyle::Repr)
      os << '%';
    os << argument.getNode()->getName();
    return;
  case Kind::Slice:
    // FX prints slices with repr, so their nodes carry no '%'.
    os << "slice(";
    printSequence(os, argument.getElements(), style == ArgumentStyle::Fx ? ArgumentStyle::Repr : style);
    os << ')';
    return;
  case Kind::List:
    os << '[';
    printSequence(os, argument.getElements(), style);
    os << ']';
    return;
  case Kind::Tuple:
    os << '(';
    printSequence(os, argument.getElements(), style);
    os << (argument.getElements().size() == 1 ? ",)" : ")");
    return;
  case Kind::Dict: {
    os << '{';
    bool first = true;
    for (const auto &[key, entry] : argument.getEntries()) {
      if (!first)
        os << ", ";
      first = false;
      if (style == ArgumentStyle::Fx)
        os << key;
      else
        os << (style == ArgumentStyle::Repr ? formatPythonString(key) : formatQuoted(key));
      os << ": ";
      printArgument(os, entry, style);
    }
    os << '}';
    return;
  }
  }
}

std::string toString(const Argument &argument, ArgumentStyle style) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printArgument(os, argument, style);
  return os.str();
}

} // namespace qfx
