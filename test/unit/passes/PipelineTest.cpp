// Pipeline strings and the pass manager.
#include "PassTest.h"
#include "passes/PassManager.h"

using namespace qfx;

static Diagnostic failToParse(const std::string &text) {
  auto steps = parsePipeline(text);
  bool parsed = static_cast<bool>(steps);
  REQUIRE_FALSE(parsed);
  std::vector<Diagnostic> diagnostics = takeDiagnostics(steps.takeError());
  REQUIRE(diagnostics.size() == 1);
  return diagnostics[0];
}

TEST_CASE("pipelines parse, expand and print", "[pipeline]") {
  CHECK(printPipeline(require(parsePipeline("fuse, prepare{mode=qat  input-quantized-indexes=[0,2]}"))) ==
        "fuse,prepare{mode=qat input-quantized-indexes=[0,2]}");
  CHECK(printPipeline(require(parsePipeline("prepare-fx"))) == "fuse,prepare");
  std::vector<PipelineStep> steps =
      require(parsePipeline("prepare{input-quantized-indexes=[0,2] strict-module-weights}"));
  CHECK(steps[0].options.getInts("input-quantized-indexes") == std::vector<int64_t>{0, 2});
  CHECK(steps[0].options.getInts("output-quantized-indexes").empty());
  CHECK(steps[0].options.getBool("strict-module-weights"));
  CHECK(steps[0].options.getString("mode") == "ptq");
}

TEST_CASE("pipeline errors have a place and a nearest name", "[pipeline]") {
  Diagnostic value = failToParse("fuse,prepare{mode=qatt}"); // the session of cli.md
  CHECK(value.message == "option 'mode' of 'prepare' is one of 'ptq', 'qat', got 'qatt'");
  CHECK(value.loc.column == 19);
  CHECK(value.loc.file->name == "pipeline");
  Diagnostic pass = failToParse("fuze");
  CHECK(pass.message == "unknown pass 'fuze'; did you mean 'fuse'?");
  CHECK(pass.loc.column == 1);
  Diagnostic option = failToParse("prepare{moed=ptq}");
  CHECK(option.message == "'prepare' has no option 'moed'; did you mean 'mode'?");
  CHECK(option.loc.column == 9);
  Diagnostic twice = failToParse("prepare{mode=ptq mode=qat}");
  CHECK(twice.message == "option 'mode' of 'prepare' is given twice");
  CHECK(twice.loc.column == 18);
  CHECK(failToParse("").code == "pipeline_syntax");
  CHECK(failToParse("fuse,").code == "pipeline_syntax");
  CHECK(failToParse("fuse prepare").code == "pipeline_syntax");
  CHECK(failToParse("prepare{mode=ptq").code == "pipeline_syntax");
  CHECK(failToParse("prepare{mode}").code == "pipeline_value");
  CHECK(failToParse("prepare{input-quantized-indexes=[x]}").code == "pipeline_value");
  CHECK(failToParse("prepare-fx{mode=qat}").code == "pipeline_option");
}

namespace {
/// Writes down what happens.
class Recorder final : public PassInstrumentation {
public:
  explicit Recorder(std::string &log) : log(log) {}
  void runBeforePass(const PassRun &run, const GraphModule &) override { log += "before " + run.text + ";"; }
  void runAfterPass(const PassRun &run, const GraphModule &) override { log += run.changed ? "changed;" : "same;"; }
  void runAfterFailure(const PassRun &run, const GraphModule &) override { log += "failed " + run.name + ";"; }

private:
  std::string &log;
};

/// Leaves a graph without a return.
class BreakingPass final : public Pass {
public:
  llvm::Expected<bool> run(GraphModule &model, PassContext &) override {
    model.getGraph().erase(model.getGraph().getOutput());
    return true;
  }
};
} // namespace

TEST_CASE("the manager runs in order, tells watchers, verifies", "[pipeline]") {
  GraphModule model =
      parseModel("module relu : torch.nn.ReLU()\ngraph(%x : f32[1, 1]) {\n  %relu = call_module[relu](%x)\n"
                 "  return %relu\n}\n");
  TestContext context;
  std::string log;
  PassManager manager;
  manager.add(require(parsePipeline("fuse,prepare")));
  manager.addInstrumentation(std::make_shared<Recorder>(log));
  CHECK(describe(manager.run(model, context.context)).empty());
  CHECK(log == "before fuse;same;before prepare;changed;");
  CHECK(manager.getRuns().size() == 2);
  CHECK(manager.getRemainingPipeline(1) == "prepare");

  std::string failureLog;
  PassManager failing;
  failing.add(std::make_unique<BreakingPass>(), "break");
  failing.add(require(parsePipeline("fuse")));
  failing.addInstrumentation(std::make_shared<Recorder>(failureLog));
  std::vector<Diagnostic> diagnostics = takeDiagnostics(failing.run(model, context.context));
  REQUIRE_FALSE(diagnostics.empty());
  CHECK(diagnostics[0].notes.back().message == "found by the verifier after the pass 'break'");
  CHECK(failureLog == "before break;failed break;");
}

TEST_CASE("every phase stops when it is cancelled", "[pipeline]") {
  std::string text = "module fc : torch.nn.Linear(in_features=2, out_features=2, bias=False)\n"
                     "module relu : torch.nn.ReLU()\nparameter fc.weight : f32[2, 2] = random(seed=1)\n"
                     "graph(%x : f32[1, 2]) {\n  %fc = call_module[fc](%x)\n  %relu = call_module[relu](%fc)\n  return %relu\n}\n";
  TestContext context;
  InputBatch batch;
  batch.tensors.emplace_back("x", Tensor::of<float>(DType::Float32, {1, 2}, {1.0f, -1.0f}));
  context.context.calibrationData = {batch, batch};
  const std::string phases[] = {"fuse", "prepare", "calibrate", "convert-to-reference", "lower"};
  GraphModule model = parseModel(text);
  for (const std::string &phase : phases) {
    PassManager manager;
    manager.add(require(parsePipeline(phase)));
    INFO(phase);
    int asked = 0;
    context.context.isCancelled = [&] { return ++asked > 1; }; // the manager asks first, then the pass itself
    GraphModule copy = model.clone();
    CHECK(describe(manager.run(copy, context.context)) == "'" + phase + "' was cancelled [cancelled]");
    CHECK(asked == 2);
    context.context.isCancelled = [] { return true; };
    GraphModule untouched = model.clone();
    CHECK(describe(manager.run(untouched, context.context)) == "'" + phase + "' was cancelled [cancelled]");
    CHECK(isIdentical(untouched, model));
    context.context.isCancelled = nullptr;
    REQUIRE(describe(manager.run(model, context.context)).empty());
  }
}
