// Tensors: storage, views, elements and half precision.
#include "Catch.h"

#include "ir/Diagnostics.h"
#include "ir/Tensor.h"

#include <bit>
#include <cmath>

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
