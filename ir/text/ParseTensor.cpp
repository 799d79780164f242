// One tensor written as text, outside a model: inputs on a command line.
#include "ir/text/ParserDetail.h"

namespace qfx {

namespace {
class TensorTextParser final : public ValueParser {
public:
  TensorTextParser(std::shared_ptr<const SourceText> source, const LoadOptions &options)
      : ValueParser(std::move(source), options) {}

  llvm::Expected<Tensor> parse() {
    auto type = parseStaticType();
    if (!type)
      return type.takeError();
    if (llvm::Error err = expect('=', "after a tensor's type"))
      return err;
    auto tensor = parseInit(*type);
    if (tensor && token.kind != Token::Kind::End)
      return unexpected("the end of the tensor");
    return tensor;
  }

private:
  Node *resolveNode(const Token &) override { return nullptr; }
};
} // namespace

llvm::Expected<Tensor> parseTensorText(llvm::StringRef text, llvm::StringRef name) {
  LoadOptions options;
  auto source = std::make_shared<SourceText>(SourceText{name.str(), text.str()});
  TensorTextParser parser(std::move(source), options);
  return parser.parse();
}

} // namespace qfx
