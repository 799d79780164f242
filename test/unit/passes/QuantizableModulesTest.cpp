// Modules taken apart compute what the whole ones compute.
#include "passes/custom/QuantizableModules.h"

#include "Catch.h"
#include "unit/backends/recurrent/RecurrentCases.h"
#include "unit/ir/IrTest.h"

using namespace qfx;
using namespace qfx::test;

TEST_CASE("a float LSTM taken apart keeps its values", "[quantizable]") {
  int compared = 0;
  for (const TextCase &one : loadTextCases("recurrent")) {
    bool isLayer = one.text.find("torch.nn.LSTM(") != std::string::npos;
    bool isCell = one.text.find("torch.nn.LSTMCell(") != std::string::npos;
    bool isPlain =
        one.text.find("proj_size") == std::string::npos && one.inputs[0].second.getRank() == (isCell ? 2 : 3);
    bool isPacked = one.text.find("pack_padded_sequence") != std::string::npos; // the quantizable LSTM takes tensors only, PyTorch's too
    if ((!isLayer && !isCell) || !isPlain || isPacked)
      continue;
    for (bool splitGates : {false, true}) {
      INFO(one.name << (splitGates ? " split" : ""));
      GraphModule model = parseOrFail(one.text);
      ModuleRef whole = model.getRoot().findModule("m");
      auto parts = isCell ? makeQuantizableLstmCell(*whole, splitGates) : makeQuantizableLstm(*whole, splitGates);
      if (!parts)
        FAIL(getMessages(parts.takeError()));
      model.getRoot().setModule("m", *parts);
      auto program = Program::compile(model);
      if (!program)
        FAIL(getMessages(program.takeError()));
      auto outputs = (*program)->run(one.inputs);
      if (!outputs)
        FAIL(getMessages(outputs.takeError()));
      CHECK(getWorstError(*outputs, one.outputs) <= 1e-5);
      ++compared;
    }
  }
  CHECK(compared >= 20);
}

TEST_CASE("an LSTM with projection is not taken apart", "[quantizable]") {
  for (const TextCase &one : loadTextCases("recurrent"))
    if (one.name == "float_proj_0") {
      GraphModule model = parseOrFail(one.text);
      auto parts = makeQuantizableLstm(*model.getRoot().findModule("m"));
      REQUIRE_FALSE(static_cast<bool>(parts));
      CHECK(getCodes(parts.takeError()) == "quantizable_projection");
    }
}
