// Tensors: storage, views, elements and half precision.
#include "Catch.h"

#include "ir/Diagnostics.h"
#include "ir/Tensor.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

using namespace qfx;

TEST_CASE("tensors are built once, shared and viewed") {
  Tensor t = Tensor::of<float>(DType::Float32, {2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
  CHECK(t.getNumElements() == 6);
  CHECK(t.getSizeBytes() == 24);
  CHECK(t.getStrides() == llvm::ArrayRef<int64_t>({3, 1}));
  CHECK(reinterpret_cast<uintptr_t>(t.getBytes()) % 64 == 0);
  Tensor flat = t.reshaped({6});
  CHECK(flat.getBytes() == t.getBytes());
  CHECK(flat.getElementAsDouble(4) == 5);
  CHECK(!flat.equals(t));
  CHECK(flat.reshaped({2, 3}).equals(t));
  CHECK(!Tensor());
  CHECK(Tensor().equals(Tensor()));
  Tensor empty = Tensor::build(DType::Float32, {0, 4}, [](MutableBytes bytes) { CHECK(bytes.empty()); });
  CHECK(empty.getNumElements() == 0);
  CHECK(empty);
}

TEST_CASE("a computed tensor gives its bytes to readers piece by piece and keeps them once somebody asks for all") {
  const int64_t count = 100'000; // 400 KB: small tensors are computed at once
  int64_t numComputed = 0;
  auto alive = std::make_shared<int>();
  std::weak_ptr<int> source = alive;
  Tensor t = Tensor::computed(DType::Int32, {count}, [&numComputed, alive](size_t offset, MutableBytes out) {
    numComputed += static_cast<int64_t>(out.size() / sizeof(int32_t));
    for (size_t i = 0; i < out.size() / sizeof(int32_t); ++i) {
      auto value = static_cast<int32_t>(offset / sizeof(int32_t) + i);
      std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
    }
  });
  alive.reset();
  CHECK(numComputed == 0);

  // Of two thirds in the middle, every element comes once and in order.
  auto checkVisit = [](const Tensor &tensor, int64_t begin, int64_t end) {
    int64_t next = begin;
    bool isRight = true;
    tensor.visitBytes(static_cast<size_t>(begin) * sizeof(int32_t), static_cast<size_t>(end) * sizeof(int32_t),
                      [&](size_t offset, std::span<const std::byte> bytes) {
                        isRight &= offset == static_cast<size_t>(next) * sizeof(int32_t) && !bytes.empty();
                        const auto *values = reinterpret_cast<const int32_t *>(bytes.data());
                        for (size_t i = 0; i < bytes.size() / sizeof(int32_t); ++i)
                          isRight &= values[i] == next++;
                      });
    CHECK(isRight);
    CHECK(next == end);
  };
  checkVisit(t, 11, count / 3 * 2);
  CHECK(numComputed == count / 3 * 2 - 11);
  checkVisit(t.reshaped({count / 2, 2}), 0, count);
  checkVisit(t, 5, 5);
  CHECK(!source.expired());

  numComputed = 0;
  std::vector<std::thread> readers;
  std::atomic<int64_t> sum = 0;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] { sum += t.getData<int32_t>().back(); });
  for (std::thread &reader : readers)
    reader.join();
  CHECK(sum == 3 * (count - 1));
  CHECK(numComputed == count); // once for all of them
  CHECK(source.expired());
  CHECK(t.getBytes() == t.reshaped({2, count / 2}).getBytes());
  checkVisit(t, 0, count);
  CHECK(numComputed == count);

  Tensor small = Tensor::computed(DType::Int32, {3}, [&](size_t, MutableBytes) { ++numComputed; });
  CHECK(numComputed == count + 1);
  CHECK(small.getPlace() == small.reshaped({1, 3}).getPlace());
  CHECK(small.getPlace() != t.getPlace());
}

TEST_CASE("codes of packed dtypes stand low bits first") {
  Tensor four = Tensor::of<uint8_t>(DType::QUInt4x2, {3}, {0x21, 0x0f});
  CHECK(four.getElementAsDouble(0) == 1);
  CHECK(four.getElementAsDouble(1) == 2);
  CHECK(four.getElementAsDouble(2) == 15);
  Tensor two = Tensor::of<uint8_t>(DType::QUInt2x4, {4}, {0b11100100});
  for (int i = 0; i < 4; ++i)
    CHECK(two.getElementAsDouble(i) == i);
  CHECK(getStorageBytes(DType::QUInt4x2, 3) == 2);
  CHECK(getStorageBytes(DType::QUInt2x4, 5) == 2);
}

TEST_CASE("products of sizes that overflow are noticed") {
  CHECK(checkedNumElements({}) == 1);
  CHECK(checkedNumElements({3, 0, 5}) == 0);
  CHECK(!checkedNumElements({-1}));
  CHECK(!checkedNumElements({int64_t(1) << 40, int64_t(1) << 40}));
  CHECK(!checkedNumElements({0, int64_t(1) << 40, int64_t(1) << 40}));
}

TEST_CASE("half and bfloat16 round to nearest even") {
  // IEEE 754 binary16 by hand: 1 = 0x3c00, 65504 the largest, 2^-24 the smallest subnormal.
  const std::pair<float, uint16_t> halves[] = {{0.f, 0x0000},      {-0.f, 0x8000},     {1.f, 0x3c00},
                                               {65504.f, 0x7bff},  {65519.f, 0x7bff},  {65520.f, 0x7c00},
                                               {INFINITY, 0x7c00}, {0x1p-24f, 0x0001}, {0x1p-25f, 0x0000},
                                               {0x1.8p-24f, 0x0002}, {0x1p-14f, 0x0400}, {1.f + 0x1p-11f, 0x3c00},
                                               {1.f + 0x3p-11f, 0x3c02}, {-2.f, 0xc000}};
  for (const auto &[value, bits] : halves) {
    INFO(value);
    CHECK(floatToHalf(value) == bits);
  }
  for (uint32_t bits = 0; bits < 65536; ++bits) { // every half survives the way through float
    float value = halfToFloat(static_cast<uint16_t>(bits));
    bool same = std::isnan(value) ? (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) : floatToHalf(value) == bits;
    if (!same)
      FAIL("half 0x" << std::hex << bits);
  }
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float value = bfloat16ToFloat(static_cast<uint16_t>(bits));
    if (!std::isnan(value) && floatToBFloat16(value) != bits)
      FAIL("bfloat16 0x" << std::hex << bits);
  }
  CHECK(floatToBFloat16(std::bit_cast<float>(0x3f808000u)) == 0x3f80); // tie to even
  CHECK(floatToBFloat16(std::bit_cast<float>(0x3f818000u)) == 0x3f82);
  CHECK(std::isnan(bfloat16ToFloat(floatToBFloat16(NAN))));
  CHECK(std::isnan(halfToFloat(floatToHalf(NAN))));
}

static std::string codeOf(llvm::Error err) {
  auto all = takeDiagnostics(std::move(err));
  return all.empty() ? "" : all[0].code;
}

TEST_CASE("rule tensor_quant") {
  Location loc;
  CHECK(codeOf(Quantizer::perTensor(0.1, 255).verify(DType::QUInt8, {2}, loc)).empty());
  CHECK(codeOf(Quantizer::perTensor(0.1, 256).verify(DType::QUInt8, {2}, loc)) == "tensor_quant");
  CHECK(codeOf(Quantizer::perTensor(0.0, 0).verify(DType::QUInt8, {2}, loc)) == "tensor_quant");
  CHECK(codeOf(Quantizer::perTensor(INFINITY, 0).verify(DType::QUInt8, {2}, loc)) == "tensor_quant");
  CHECK(codeOf(Quantizer::perTensor(NAN, 0).verify(DType::QUInt8, {2}, loc)) == "tensor_quant");
  CHECK(codeOf(Quantizer::perTensor(0.1, 0).verify(DType::Float32, {2}, loc)) == "tensor_quant");
  CHECK(codeOf(Quantizer::perChannel({0.1, 0.2}, {0, 0}, 1).verify(DType::QInt8, {3, 2}, loc)).empty());
  CHECK(codeOf(Quantizer::perChannel({0.1, 0.2}, {0, 0}, 0).verify(DType::QInt8, {3, 2}, loc)) == "tensor_quant");
  CHECK(codeOf(Quantizer::perChannel({0.1, 0.2}, {0}, 1).verify(DType::QInt8, {3, 2}, loc)) == "tensor_quant");
  CHECK(codeOf(Quantizer::perChannel({0.1, 0.2}, {0, 0}, 2).verify(DType::QInt8, {3, 2}, loc)) == "tensor_quant");
  CHECK(codeOf(Quantizer::perChannelFloat({0.1f}, {0.5f}, 0).verify(DType::QUInt8, {1, 2}, loc)).empty());
}
