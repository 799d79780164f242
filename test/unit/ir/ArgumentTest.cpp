// FX Arguments: kinds, equality, traversal and the three ways of printing.
#include "Catch.h"

#include "ir/Argument.h"
#include "ir/Graph.h"
#include "ir/Text.h"

#include <cmath>

using namespace qfx;

static std::string fx(const Argument &a) { return toString(a, ArgumentStyle::Fx); }
static std::string repr(const Argument &a) { return toString(a, ArgumentStyle::Repr); }
static std::string text(const Argument &a) { return toString(a, ArgumentStyle::Qfx); }

TEST_CASE("int, float and bool of the same value are different") {
  CHECK(Argument(1) != Argument(1.0));
  CHECK(Argument(1) != Argument(true));
  CHECK(Argument(1.0) != Argument(true));
  CHECK(Argument(1) == Argument(int64_t(1)));
  CHECK(Argument(std::nan("")) == Argument(std::nan("")));
  CHECK(Argument(0.0) != Argument(-0.0));
  CHECK(Argument::list({1}) != Argument::tuple({1}));
  CHECK(Argument("cpu") != Argument::device("cpu"));
}

TEST_CASE("arguments print as Python and as .qfx") {
  // Expected texts: str() and repr() in Python 3.11.
  CHECK(fx("bare") == "bare");
  CHECK(repr("it's") == "\"it's\"");
  CHECK(repr("a\"b'c") == "'a\"b\\'c'");
  CHECK(repr("tab\tbell\x07") == "'tab\\tbell\\x07'");
  CHECK(text("a\"b\n\x01") == "\"a\\\"b\\n\\u0001\"");
  CHECK(repr(Argument::tuple({})) == "()");
  CHECK(repr(Argument::tuple({1})) == "(1,)");
  CHECK(repr(Argument::list({1, 2.0, "s"})) == "[1, 2.0, 's']");
  CHECK(fx(Argument::dict({{"k", "v"}})) == "{k: v}");
  CHECK(repr(Argument::dict({{"k", "v"}})) == "{'k': 'v'}");
  CHECK(text(Argument::dict({{"k", "v"}})) == "{\"k\": \"v\"}");
  CHECK(repr(Argument::slice(Argument::none(), 3, Argument::none())) == "slice(None, 3, None)");
  CHECK(repr(Argument::ellipsis()) == "Ellipsis");
  CHECK(text(Argument::ellipsis()) == "...");
  CHECK(repr(DType::QUInt8) == "torch.quint8");
  CHECK(repr(QScheme::PerChannelSymmetric) == "torch.per_channel_symmetric");
  CHECK(repr(MemoryFormat::ChannelsLast) == "torch.channels_last");
  CHECK(repr(Argument::device("cuda:1")) == "device(type='cuda', index=1)");
  CHECK(repr(Argument::device("cpu")) == "device(type='cpu')");
  CHECK(fx(Argument::device("cuda:1")) == "cuda:1");
  CHECK(text(Argument::device("cuda:1")) == "device(\"cuda:1\")");
}

TEST_CASE("floats print as Python's repr") {
  const std::pair<double, const char *> cases[] = {
      {2.0, "2.0"},       {0.1, "0.1"},           {1e-5, "1e-05"},     {0.0001, "0.0001"},
      {1e15, "1000000000000000.0"}, {1e16, "1e+16"}, {123456789.125, "123456789.125"}, {-0.0, "-0.0"},
      {5e-324, "5e-324"}, {1.7976931348623157e308, "1.7976931348623157e+308"}, {INFINITY, "inf"}, {-INFINITY, "-inf"},
      {1.5e-10, "1.5e-10"}, {100.0, "100.0"}, {1e22, "1e+22"}};
  for (const auto &[value, expected] : cases)
    CHECK(formatFloat(value) == expected);
}

TEST_CASE("nodes inside are visited and mapped in order") {
  Graph graph;
  Node *x = graph.placeholder("x"), *y = graph.placeholder("y");
  Argument argument = Argument::list({x, Argument::tuple({y, 1}), Argument::slice(y, Argument::none(), x),
                                      Argument::dict({{"k", Argument(x)}})});
  std::string order;
  argument.forEachNode([&](Node *node) { order += node->getName(); });
  CHECK(order == "xyyxx");
  CHECK(fx(argument) == "[%x, (%y, 1), slice(y, None, x), {k: %x}]");
  Argument mapped = argument.mapNodes([&](Node *node) -> Argument { return node == x ? Argument(7) : Argument(node); });
  CHECK(text(mapped) == "[7, (%y, 1), slice(%y, None, 7), {\"k\": 7}]");
}
