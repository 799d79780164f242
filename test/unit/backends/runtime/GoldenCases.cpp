// Loading of the golden cases.
#include "GoldenCases.h"

#include "Catch.h"
#include "ir/Diagnostics.h"
#include "ir/Text.h"
#include "ir/text/QfxText.h"
#include "ir/weights/Safetensors.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <set>

namespace qfx::test {

static std::string getFolder() { return std::string(QFX_GOLDEN_DIR) + "/runtime/"; }

std::string toText(llvm::Error err) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Diagnostic &diagnostic : takeDiagnostics(std::move(err)))
    printDiagnostic(os, diagnostic);
  return os.str();
}

static const SafetensorsFile &getFile() {
  static SafetensorsFile file = [] {
    auto opened = SafetensorsFile::open(getFolder() + "cases.safetensors");
    if (!opened)
      FAIL(toText(opened.takeError()));
    return std::move(*opened);
  }();
  return file;
}

std::vector<std::string> getCaseNames(const std::string &prefix) {
  std::set<std::string> names;
  for (const std::string &key : getFile().getKeys())
    if (startsWith(key, prefix))
      names.insert(key.substr(0, key.find('/')));
  return {names.begin(), names.end()};
}

GraphModule loadCase(const std::string &name) {
  auto model = loadModel(getFolder() + name + ".qfx");
  if (!model)
    FAIL(toText(model.takeError()));
  return std::move(*model);
}

static Tensor read(const std::string &key) {
  auto tensor = getFile().read(key);
  if (!tensor)
    FAIL(toText(tensor.takeError()));
  return *tensor;
}

NamedTensors getCaseTensors(const std::string &name, const std::string &side) {
  NamedTensors tensors;
  std::string prefix = name + "/" + side + "/";
  for (const std::string &key : getFile().getKeys()) {
    if (!startsWith(key, prefix))
      continue;
    std::string part = key.substr(prefix.size());
    Tensor tensor = read(key);
    if (getFile().contains(name + "/scale/" + part)) {
      auto quantizer = std::make_shared<Quantizer>(
          Quantizer::perTensor(read(name + "/scale/" + part).getElementAsDouble(0),
                               static_cast<int64_t>(read(name + "/zero_point/" + part).getElementAsDouble(0))));
      tensor = tensor.withType(tensor.getDType() == DType::UInt8 ? DType::QUInt8 : DType::QInt8, quantizer);
    }
    tensors.push_back({part, tensor});
  }
  return tensors;
}

} // namespace qfx::test
