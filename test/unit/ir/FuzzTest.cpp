// Damaged files: any truncation or flipped byte gives a model or an error, never a crash or a hang.
#include "Catch.h"
#include "IrTest.h"

#include "ir/weights/Npy.h"

#include <random>

using namespace qfx;

/// A copy with one to four random edits: bytes changed, removed, doubled, swapped for grammar's own characters.
static std::string damage(std::string bytes, std::mt19937 &random) {
  static const std::string kSpice = "%[](){}=,:\"#\n0-9.eN\xff\x00\x7f";
  auto pick = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n ? n - 1 : 0)(random); };
  if (pick(4) == 0)
    bytes.resize(pick(bytes.size() + 1));
  for (size_t edits = 1 + pick(4); edits && !bytes.empty(); --edits) {
    size_t at = pick(bytes.size());
    switch (pick(5)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << pick(8)));
      break;
    case 1:
      bytes.erase(at, 1 + pick(12));
      break;
    case 2:
      bytes.insert(at, bytes.substr(pick(bytes.size()), 1 + pick(40)));
      break;
    case 3:
      bytes[at] = kSpice[pick(kSpice.size())];
      break;
    default:
      bytes.insert(at, 1, kSpice[pick(kSpice.size())]);
    }
  }
  return bytes;
}

TEST_CASE("damaged .qfx text") {
  std::vector<std::string> seeds;
  for (const char *folder : {QFX_SOURCE_DIR "/test/ir", QFX_GOLDEN_DIR "/fx_text"})
    for (const std::string &file : listFiles(folder, ".qfx"))
      for (std::string &part : splitParts(readFileOrFail(file)))
        seeds.push_back(std::move(part));
  std::mt19937 random(11);
  LoadOptions options;
  options.limits.maxGeneratedBytes = options.limits.maxTensorBytes = 1 << 20;
  int sound = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = damage(seeds[static_cast<size_t>(i) % seeds.size()], random);
    auto model = parseQfx(std::make_shared<SourceText>(SourceText{"damaged.qfx", text}), options);
    if (!model) {
      std::string messages = getMessages(model.takeError());
      if (messages.empty())
        FAIL("an error without a message for\n" << text);
      continue;
    }
    ++sound;
    std::string printed = print(*model);
    auto again = parse(printed);
    std::string why;
    if (!again || !isIdentical(*model, *again, &why))
      FAIL("no round trip (" << why << ") of\n" << printed << (again ? "" : getMessages(again.takeError())));
  }
  CHECK(sound > 20); // edits in comments and numbers leave models whole
}

TEST_CASE("every truncation of a .qfx text") {
  std::string text = readFileOrFail(QFX_SOURCE_DIR "/test/ir/round-trip.qfx");
  for (size_t length = 0; length < text.size(); length += 3)
    (void)getCodes(parse(text.substr(0, length)).takeError());
  SUCCEED();
}

TEST_CASE("damaged safetensors and .npy files") {
  std::string tensors = readFileOrFail(QFX_GOLDEN_DIR "/tensor_files/all.safetensors");
  std::string array = readFileOrFail(QFX_GOLDEN_DIR "/tensor_files/f32.npy");
  std::mt19937 random(12);
  for (int i = 0; i < 5000; ++i) {
    auto file = SafetensorsFile::parse(makeStorage(damage(tensors, random)), "damaged.safetensors");
    if (file) {
      if (auto all = file->readAll())
        for (const auto &entry : *all)
          (void)entry.second.equals(entry.second);
      else
        llvm::consumeError(all.takeError());
    } else {
      llvm::consumeError(file.takeError());
    }
    auto one = parseNpy(makeStorage(damage(array, random)), "damaged.npy");
    if (one)
      (void)one->equals(*one);
    else
      llvm::consumeError(one.takeError());
  }
  SUCCEED();
}
