// Every operator gives the same bits on every instruction set, with one, two and three threads, at lengths 1 to 130
// (all of them around multiples of 32, where vectors end; test/kernels has every one) and from unaligned, strided and
// permuted operands.
#include "OperatorSamples.h"
#include "QuantizedCases.h"

#include "Catch.h"
#include "kernels/isa/Isa.h"

#include <optional>
#include <set>

using namespace qfx;
using namespace qfx::test;

namespace {

std::optional<std::vector<Tensor>> run(const Sample &sample, int threads) {
  ProgramOptions options;
  options.threads = threads;
  auto program = compileSample(sample, options);
  if (!program) {
    llvm::consumeError(program.takeError());
    return std::nullopt;
  }
  auto results = runSample(**program, sample);
  if (!results) {
    llvm::consumeError(results.takeError());
    return std::nullopt;
  }
  return std::move(*results);
}

bool areEqual(const std::optional<std::vector<Tensor>> &a, const std::optional<std::vector<Tensor>> &b) {
  if (!a || !b || a->size() != b->size())
    return false;
  for (size_t i = 0; i < a->size(); ++i)
    if (!(*a)[i].equals((*b)[i]))
      return false;
  return true;
}

std::optional<std::vector<Tensor>> runScalar(const Sample &sample) {
  kernels::ScopedIsa scalar(kernels::Isa::Scalar);
  return run(sample, 1);
}

/// The operand behind two moves that change where it lies, not what it is.
enum class Place { Unaligned, Strided, Permuted };

Sample moveInputs(Sample sample, Place place) {
  std::vector<std::string> moves;
  for (auto &[name, type] : sample.inputs) {
    if (type.sizes.empty())
      continue;
    const std::string last = std::to_string(type.sizes.size() - 1), fresh = name + "_moved";
    if (place == Place::Permuted) {
      if (type.sizes.size() < 2)
        continue;
      moves.push_back("  %" + name + "_t = call_method[transpose](%" + name + ", 0, " + last + ")");
      moves.push_back("  %" + name + "_c = call_method[contiguous](%" + name + "_t)");
      moves.push_back("  %" + fresh + " = call_method[transpose](%" + name + "_c, 0, " + last + ")");
    } else {
      // behind itself along the first dimension (starts anywhere) or the last (rows lie apart)
      const std::string dim = place == Place::Unaligned ? "0" : last;
      const std::string &size = type.sizes[place == Place::Unaligned ? 0 : type.sizes.size() - 1];
      moves.push_back("  %" + name + "_w = call_function[torch.cat]([%" + name + ", %" + name + "], " + dim + ")");
      moves.push_back("  %" + fresh + " = call_method[narrow](%" + name + "_w, " + dim + ", " + size + ", " + size + ")");
    }
    for (std::string &line : sample.lines) {
      const size_t open = line.find("](");
      for (size_t at = open; (at = line.find("%" + name, at)) != std::string::npos; at += fresh.size()) {
        const char next = at + name.size() + 1 < line.size() ? line[at + name.size() + 1] : ' ';
        if (!std::isalnum(static_cast<unsigned char>(next)) && next != '_')
          line.replace(at, name.size() + 1, "%" + fresh);
      }
    }
  }
  sample.lines.insert(sample.lines.begin(), moves.begin(), moves.end());
  return sample;
}

/// The sample with every operand size `from` replaced.
Sample resize(Sample sample, const std::string &from, int to) {
  for (auto &[name, type] : sample.inputs)
    for (std::string &size : type.sizes)
      if (size == from)
        size = std::to_string(to);
  return sample;
}

/// A size that can become any length from 1 to 130, the last dimension's before others; empty: the operator's operands are bound to
/// its attributes.
std::string findFreeSize(const Sample &sample) {
  std::vector<std::string> sizes;
  for (const auto &[name, type] : sample.inputs)
    for (size_t i = type.sizes.size(); i-- > 0;)
      if (std::find(sizes.begin(), sizes.end(), type.sizes[i]) == sizes.end())
        sizes.push_back(type.sizes[i]);
  for (const std::string &size : sizes) {
    bool isFree = true;
    for (int n : {1, 2, 37, 130})
      isFree = isFree && run(resize(sample, size, n), 1);
    if (isFree)
      return size;
  }
  return "";
}

} // namespace

TEST_CASE("instruction sets, threads and places change no bit of any operator", "[operators][bits]") {
  int64_t checked = 0;
  for (const OpInfo &op : getAllOps()) {
    std::vector<Sample> samples = getSamples(op);
    if (samples.size() > 2)
      samples.resize(2);
    for (const Sample &sample : samples) {
      const auto expected = runScalar(sample);
      if (!expected)
        continue; // has no kernel: observers, queries of shapes, packing
      ++checked;
      INFO(sample.getText());
      for (int threads : {1, 2, 3})
        CHECK(areEqual(run(sample, threads), expected));
      for (Place place : {Place::Unaligned, Place::Strided, Place::Permuted}) {
        const Sample moved = moveInputs(sample, place);
        const auto result = runScalar(moved);
        if (!result)
          continue; // operands whose memory or parameters must be known: as_strided, weights, per-channel codes
        INFO(moved.getText());
        CHECK(areEqual(run(moved, 2), result));
      }
    }
  }
  CHECK(checked > 350);
}

TEST_CASE("lengths up to 130 give the same bits on every instruction set", "[operators][bits]") {
  int64_t lengths = 0, operators = 0;
  for (const OpInfo &op : getAllOps()) {
    std::vector<Sample> samples = getSamples(op);
    if (samples.empty())
      continue;
    const std::string free = findFreeSize(samples[0]);
    if (free.empty())
      continue;
    ++operators;
    for (int n = 1; n <= 130; n += n < 17 || n % 32 >= 30 || n % 32 < 3 ? 1 : 7) {
      const Sample sized = resize(samples[0], free, n);
      const auto expected = runScalar(sized);
      if (!expected)
        continue;
      ++lengths;
      if (!areEqual(run(sized, n % 3 + 1), expected)) {
        INFO(sized.getText());
        FAIL_CHECK("differs from scalar");
      }
    }
  }
  CHECK(operators > 200);
  CHECK(lengths > 200 * 30);
}
