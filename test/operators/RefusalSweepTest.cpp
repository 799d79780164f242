// Every operator with operands of every dtype, scheme and rank: it compiles and runs, or is refused at compile time by
// place, operator or node, what it got and what it takes.  Nothing fails first at run time.
#include "OperatorSamples.h"
#include "QuantizedCases.h"

#include "Catch.h"

#include <set>

using namespace qfx;
using namespace qfx::test;

namespace {

/// Types to put in the place of an operand: same sizes unless said.
std::vector<TypeText> getVariants(const TypeText &type) {
  std::vector<TypeText> variants;
  for (const char *dtype : {"f32", "f16", "bf16", "f64", "i8", "u8", "i16", "i32", "i64", "bool", "f8e5m2"})
    variants.push_back({dtype, type.sizes, ""});
  for (const char *dtype : {"quint8", "qint8", "qint32", "quint4x2"})
    variants.push_back({dtype, type.sizes, "{scale=0.1, zero_point=3}"});
  for (const char *dtype : {"quint8", "qint8", "qint32"}) // parameters come with the value
    variants.push_back({dtype, type.sizes, ""});
  if (!type.sizes.empty() && type.sizes[0].find_first_not_of("0123456789") == std::string::npos) {
    std::string scales = "[", zeroPoints = "[", floats = "[";
    for (int i = 0; i < std::stoi(type.sizes[0]); ++i) {
      scales += i ? ", 0.1" : "0.1";
      zeroPoints += i ? ", 0" : "0";
      floats += i ? ", 0.5" : "0.5";
    }
    variants.push_back({"qint8", type.sizes, "{axis=0, scales=" + scales + "], zero_points=" + zeroPoints + "]}"});
    variants.push_back({"quint8", type.sizes, "{axis=0, scales=" + scales + "], zero_points=" + floats + "]}"});
  }
  // other ranks and sizes
  for (const std::vector<std::string> &sizes : {std::vector<std::string>{}, {"3"}, {"2", "3"}, {"0", "4"}, {"1", "1", "1", "1", "1"}})
    variants.push_back({type.dtype, sizes, type.suffix.find("axis") == std::string::npos ? type.suffix : ""});
  return variants;
}

/// Errors that only values can cause.
bool dependsOnValues(const std::string &message) {
  for (const char *code : {"[run_index]", "[run_assert]"})
    if (message.find(code) != std::string::npos)
      return true;
  return false;
}

struct Counts {
  int64_t runs = 0, refusals = 0;
};

void check(const Sample &sample, Counts &counts) {
  INFO(sample.getText());
  auto program = compileSample(sample);
  if (!program) {
    ++counts.refusals;
    const std::string message = toText(program.takeError());
    INFO(message);
    CHECK(message.find("sample:") != std::string::npos); // the place
    const bool namesIt = message.find("'" + std::string(sample.op->name)) != std::string::npos ||
                         message.find("'" + sample.result + "'") != std::string::npos ||
                         message.find('\'') != std::string::npos;
    CHECK(namesIt);
    return;
  }
  auto results = runSample(**program, sample);
  if (results) {
    ++counts.runs;
    return;
  }
  const std::string message = toText(results.takeError());
  if (!dependsOnValues(message)) {
    INFO(message);
    FAIL_CHECK("fails first at run time");
  }
}

} // namespace

TEST_CASE("every operator has a sample that compiles or is refused", "[operators][refusals]") {
  for (const OpInfo &op : getAllOps()) {
    INFO(op.name.str());
    CHECK((!getSamples(op).empty() || op.name == "PackedWeights"));
  }
}

TEST_CASE("no operand of any type or rank fails first at run time", "[operators][refusals]") {
  Counts counts;
  for (const OpInfo &op : getAllOps()) {
    std::vector<Sample> samples = getSamples(op);
    if (samples.size() > 2)
      samples.resize(2);
    for (const Sample &sample : samples) {
      for (size_t i = 0; i < sample.inputs.size(); ++i)
        for (const TypeText &variant : getVariants(sample.inputs[i].second)) {
          Sample changed = sample;
          changed.inputs[i].second = variant;
          check(changed, counts);
        }
      if (sample.inputs.size() < 2) // all operands alike
        continue;
      for (size_t v = 0; v < 18; ++v) {
        Sample changed = sample;
        for (auto &[name, type] : changed.inputs)
          type = getVariants(type)[v];
        check(changed, counts);
      }
    }
  }
  CHECK(counts.runs > 2000);
  CHECK(counts.refusals > 2000);
}

namespace {

/// The sizes behind the first place of all inputs that are numbers, but 0 and 1.
std::set<std::string> getOpenableSizes(const Sample &sample) {
  std::set<std::string> sizes;
  for (const auto &[name, type] : sample.inputs)
    for (size_t i = 1; i < type.sizes.size(); ++i)
      if (type.sizes[i].find_first_not_of("0123456789") == std::string::npos && type.sizes[i] != "0" && type.sizes[i] != "1")
        sizes.insert(type.sizes[i]);
  return sizes;
}

/// `size` becomes `to` wherever it stands behind the first place.
Sample changeSize(Sample sample, const std::string &size, const std::string &to) {
  for (auto &[name, type] : sample.inputs)
    for (size_t i = 1; i < type.sizes.size(); ++i)
      if (type.sizes[i] == size)
        type.sizes[i] = to;
  return sample;
}

/// Are there two more sizes that the sample takes?
bool takesOtherSizes(const Sample &sample, const std::string &size) {
  int count = 0;
  for (const char *other : {"64", "16", "224", "7", "2", "1", "12"}) {
    auto program = compileSample(changeSize(sample, size, other));
    if (program)
      count += other != size;
    else
      llvm::consumeError(program.takeError());
  }
  return count >= 2;
}

} // namespace

TEST_CASE("with an open size no operand of another dtype or scheme fails first at run time", "[operators][refusals]") {
  int64_t refusals = 0, runs = 0;
  for (const OpInfo &op : getAllOps()) {
    std::vector<Sample> samples = getSamples(op);
    if (samples.empty())
      continue;
    const Sample &sample = samples[0];
    for (const std::string &size : getOpenableSizes(sample)) {
      if (!takesOtherSizes(sample, size))
        continue; // the size is not open in truth
      for (size_t i = 0; i < sample.inputs.size(); ++i)
        for (const TypeText &variant : getVariants(sample.inputs[i].second)) {
          if (variant.sizes != sample.inputs[i].second.sizes)
            continue;
          Sample changed = sample;
          changed.inputs[i].second = variant;
          auto fixed = compileSample(changed);
          const std::string fixedRefusal = fixed ? "" : toText(fixed.takeError());
          const Sample open = changeSize(changed, size, "S");
          auto program = compileSample(open);
          const std::string refusal = program ? "" : toText(program.takeError());
          if (fixedRefusal.empty() != refusal.empty()) {
            INFO(open.getText() << fixedRefusal << refusal);
            FAIL_CHECK((refusal.empty() ? "is refused with the size known, not with it open" : "is refused with an open size only"));
          }
          ++(refusal.empty() ? runs : refusals);
        }
    }
  }
  CHECK(runs > 1000);
  CHECK(refusals > 2000);
}

TEST_CASE("no number in a call fails first at run time", "[operators][refusals]") {
  Counts counts;
  for (const OpInfo &op : getAllOps()) {
    std::vector<Sample> samples = getSamples(op);
    if (samples.size() > 1)
      samples.resize(1);
    for (const Sample &sample : samples) {
      const std::string &call = sample.lines.back();
      size_t at = call.find("](");
      while ((at = call.find_first_of("0123456789", at + 1)) != std::string::npos) {
        size_t end = call.find_first_not_of("0123456789.", at);
        const bool isName = std::isalnum(static_cast<unsigned char>(call[at - 1])) || call[at - 1] == '%' || call[at - 1] == '_' ||
                            (end != std::string::npos && (std::isalpha(static_cast<unsigned char>(call[end])) || call[end] == '_' || call[end] == '='));
        const bool isNegative = call[at - 1] == '-';
        if (!isName && !isNegative)
          for (const char *number : {"0", "-1", "-3", "3", "1000", "9223372036854775807", "-9223372036854775808", "4611686018427387904"}) {
            Sample changed = sample;
            changed.lines.back() = call.substr(0, at) + number + call.substr(end);
            check(changed, counts);
          }
        at = end == std::string::npos ? call.size() : end;
      }
    }
  }
  CHECK(counts.runs > 300);
  CHECK(counts.refusals > 300);
}
