// Helpers of the IR tests.
#include "IrTest.h"

#include "Catch.h"

#include "ir/Text.h"
#include "ir/weights/MappedFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

namespace qfx {

llvm::Expected<GraphModule> parse(std::string text) {
  return parseQfx(std::make_shared<SourceText>(SourceText{"test.qfx", std::move(text)}));
}

std::string getMessages(llvm::Error err) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Diagnostic &diagnostic : takeDiagnostics(std::move(err)))
    printDiagnostic(os, diagnostic);
  return os.str();
}

std::string getCodes(llvm::Error err) {
  std::string codes;
  for (const Diagnostic &diagnostic : takeDiagnostics(std::move(err)))
    codes += (codes.empty() ? "" : " ") + diagnostic.code;
  return codes;
}

GraphModule parseOrFail(std::string text) {
  auto model = parse(std::move(text));
  if (!model)
    FAIL(getMessages(model.takeError()));
  return std::move(*model);
}

std::string print(const GraphModule &model, const PrintOptions &options) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printQfx(os, model, options);
  return os.str();
}

std::string readFileOrFail(const std::string &path) {
  auto content = readFile(path, uint64_t(1) << 30);
  if (!content)
    FAIL(getMessages(content.takeError()));
  return *content;
}

void writeFileOrFail(const std::string &path, llvm::StringRef content) {
  std::string messages = getMessages(writeFileAtomically(path, [&](llvm::raw_ostream &os) { os << content; }));
  if (!messages.empty())
    FAIL(messages);
}

std::vector<std::string> listFiles(const std::string &folder, llvm::StringRef suffix) {
  std::vector<std::string> files;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(folder, code), end; it != end && !code; it.increment(code))
    if (endsWith(it->path(), suffix))
      files.push_back(it->path());
  llvm::sort(files);
  return files;
}

std::vector<std::string> splitParts(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 8> parts;
  text.split(parts, "// -----\n");
  std::vector<std::string> result;
  for (llvm::StringRef part : parts)
    result.push_back(part.str());
  return result;
}

void checkExpectedErrors(const std::string &file, const std::string &part) {
  struct Expectation {
    unsigned line;
    std::string text;
  };
  std::vector<Expectation> expected;
  unsigned lineNumber = 0;
  for (llvm::StringRef rest = part; !rest.empty();) {
    auto [line, more] = rest.split('\n');
    rest = more;
    ++lineNumber;
    auto [before, comment] = line.split("// expected-error");
    if (comment.empty())
      continue;
    int offset = 0;
    if (comment.consume_front("@")) {
      comment.consume_front("+");
      REQUIRE(!comment.consumeInteger(10, offset));
    }
    llvm::StringRef text = comment.split("{{").second;
    expected.push_back({lineNumber + offset, text.take_front(text.rfind("}}")).str()});
  }
  auto model = parse(part);
  std::vector<Diagnostic> reported = model ? std::vector<Diagnostic>() : takeDiagnostics(model.takeError());
  for (const Expectation &one : expected) {
    auto it = llvm::find_if(reported, [&](const Diagnostic &diagnostic) {
      std::string message = diagnostic.message + " [" + diagnostic.code + "]";
      return diagnostic.loc.line == one.line && llvm::StringRef(message).contains(one.text);
    });
    INFO(file << ": expected on line " << one.line << " of the part: " << one.text << "\n" << part);
    CHECK(it != reported.end());
    if (it != reported.end())
      reported.erase(it);
  }
  for (const Diagnostic &diagnostic : reported)
    FAIL_CHECK(file << ": not expected on line " << diagnostic.loc.line << ": " << diagnostic.message << " ["
                    << diagnostic.code << "]\n"
                    << part);
}

TemporaryFolder::TemporaryFolder() {
  llvm::SmallString<128> unique;
  if (auto code = llvm::sys::fs::createUniqueDirectory("qfx-test", unique))
    FAIL(code.message());
  path = unique.str().str();
}

TemporaryFolder::~TemporaryFolder() { (void)llvm::sys::fs::remove_directories(path); }

std::string TemporaryFolder::getPath(llvm::StringRef name) const {
  llvm::SmallString<128> full(path);
  llvm::sys::path::append(full, name);
  return full.str().str();
}

std::shared_ptr<const Storage> makeStorage(llvm::StringRef bytes) {
  MutableBytes writable;
  auto storage = allocateStorage(bytes.size(), writable);
  if (!bytes.empty())
    std::memcpy(writable.data(), bytes.data(), bytes.size());
  return storage;
}

} // namespace qfx
