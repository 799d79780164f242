// Eager mode's steps one by one: qconfigs, observers, swaps, fusing, wrapping.
#include "../PassTest.h"
#include "backends/observe/Observer.h"
#include "ir/Ops.h"
#include "passes/calibrate/Calibrate.h"
#include "passes/eager/DropMarkers.h"
#include "passes/eager/Eager.h"

using namespace qfx;

static const char *const kNet = R"(
module quant : torch.ao.quantization.stubs.QuantStub()
module block : my.Block()
module block.fc : torch.nn.Linear(in_features=2, out_features=2)
module block.relu : torch.nn.ReLU()
module sum : torch.ao.nn.quantized.FloatFunctional()
module sum.activation_post_process : torch.nn.Identity()
module dequant : torch.ao.quantization.stubs.DeQuantStub()
parameter block.fc.weight : f32[2, 2] = [[1, 0.5], [-0.25, 2]]
parameter block.fc.bias : f32[2] = [0, 1]
graph(%x : f32[N, 2]) {
  %quant = call_module[quant](%x)
  %block_fc = call_module[block.fc](%quant)
  %block_relu = call_module[block.relu](%block_fc)
  %add = call_function[torch.add](%block_relu, %quant) meta {"functional": "sum"}
  %sum_activation_post_process = call_module[sum.activation_post_process](%add)
  %dequant = call_module[dequant](%sum_activation_post_process)
  return %dequant
}
)";

static QConfig getQConfig(const char *alias) { return *findQConfigAlias(alias); }

static std::vector<InputBatch> makeData() {
  InputBatch batch;
  batch.tensors.emplace_back("x", Tensor::of<float>(DType::Float32, {2, 2}, {1, -1, 0.5, 2}));
  return {batch};
}

static GraphModule prepareNet(TestContext &context) {
  GraphModule model = parseModel(kNet);
  REQUIRE(describe(setQConfig(model, "", getQConfig("default_qconfig"))) == "");
  return require(prepareEager(std::move(model), {}, context.context));
}

TEST_CASE("propagate_qconfig_: own, then name, then class, then parent", "[passes][eager]") {
  GraphModule model = parseModel(kNet);
  REQUIRE(describe(setQConfig(model, "block.relu", std::nullopt)) == "");
  QConfigMapping spec;
  spec.setGlobal(getQConfig("default_qconfig"))
      .setObjectType(OperatorName::resolve("torch.nn.Linear"), getQConfig("default_per_channel_qconfig"))
      .setModuleName("sum", getQConfig("float16_dynamic_qconfig"));
  REQUIRE(describe(propagateQConfig(model, spec)) == "");
  ModuleQConfigs qconfigs = require(ModuleQConfigs::load(model));
  auto aliasOf = [&](const char *path) {
    const QConfig *qconfig = qconfigs.getActive(*model.getRoot().findModule(path));
    return qconfig ? qconfig->getAliasName() : "none";
  };
  CHECK(aliasOf("quant") == "default_qconfig");
  CHECK(aliasOf("block") == "default_qconfig");
  CHECK(aliasOf("block.fc") == "default_per_channel_qconfig");
  CHECK(aliasOf("block.relu") == "none");
  CHECK(aliasOf("sum") == "float16_dynamic_qconfig");
  CHECK(aliasOf("sum.activation_post_process") == "float16_dynamic_qconfig");
}

TEST_CASE("propagate_qconfig_ leaves named children of the root alone", "[passes][eager]") {
  GraphModule model = parseModel(kNet);
  QConfigMapping spec;
  spec.setGlobal(getQConfig("default_qconfig"));
  REQUIRE(describe(propagateQConfig(model, spec, {{"block"}, {}})) == "");
  ModuleQConfigs qconfigs = require(ModuleQConfigs::load(model));
  CHECK(qconfigs.find(*model.getRoot().findModule("block.fc")) == nullptr);
  CHECK(qconfigs.find(*model.getRoot().findModule("quant")) != nullptr);
  QConfigMapping regex;
  regex.setModuleNameRegex("block.*", std::nullopt);
  CHECK(describe(propagateQConfig(model, regex)).find("[eager_spec]") != std::string::npos);
  CHECK(describe(setQConfig(model, "blok", std::nullopt)) == "the model has no module 'blok'; did you mean 'block'? [eager_module]");
}

TEST_CASE("prepare watches quantizable leaves and FloatFunctional", "[passes][eager]") {
  TestContext context("native");
  GraphModule model = prepareNet(context);
  CHECK(getCalls(model) == "quant=quant quant_activation_post_process=quant.activation_post_process block_fc=block.fc "
                           "block_fc_activation_post_process=block.fc.activation_post_process block_relu=block.relu add=torch.add "
                           "sum_activation_post_process=sum.activation_post_process dequant=dequant");
  CHECK(isObserver(*model.getRoot().findModule("sum.activation_post_process")));
  CHECK(getError(prepareEager(std::move(model), {}, context.context)) == "the model is prepared already [prepare_twice]");
}

TEST_CASE("prepare warns when nothing has a qconfig", "[passes][eager]") {
  TestContext context("native");
  require(prepareEager(parseModel(kNet), {}, context.context));
  REQUIRE(context.warnings.size() == 1);
  CHECK(context.warnings[0].code == "eager_no_qconfig");
}

TEST_CASE("allow_list and observer_non_leaf_module_list", "[passes][eager]") {
  TestContext context("native");
  GraphModule model = parseModel(kNet);
  REQUIRE(describe(setQConfig(model, "", getQConfig("default_qconfig"))) == "");
  EagerPrepareOptions options;
  options.allowList = ModuleClassList{"torch.nn.ReLU"};
  options.observerNonLeafModuleList = {"my.Block"};
  GraphModule prepared = require(prepareEager(std::move(model), options, context.context));
  // The block is a container: its one result is watched behind its last node.
  CHECK(getCalls(prepared) == "quant=quant block_fc=block.fc block_relu=block.relu "
                              "block_activation_post_process=block.activation_post_process add=torch.add "
                              "sum_activation_post_process=sum.activation_post_process dequant=dequant");
}

TEST_CASE("convert swaps what was observed and drops the observers", "[passes][eager]") {
  TestContext context("native");
  GraphModule model = prepareNet(context);
  REQUIRE(describe(calibrate(model, makeData(), context.context)) == "");
  GraphModule converted = require(convertEager(std::move(model), {}, context.context));
  CHECK(getCalls(converted) == "quant=quant block_fc=block.fc block_relu=block.relu add_1=torch.ops.quantized.add "
                               "sum_activation_post_process=sum.activation_post_process dequant=dequant");
  const Module &root = converted.getRoot();
  CHECK(root.findModule("quant")->getClassName() == "torch.ao.nn.quantized.Quantize");
  CHECK(root.findModule("block.fc")->getClassName() == "torch.ao.nn.quantized.Linear");
  CHECK(root.findModule("block.relu")->getClassName() == "torch.nn.ReLU");
  CHECK(root.findModule("sum")->getClassName() == "torch.ao.nn.quantized.QFunctional");
  CHECK(root.findModule("dequant")->getClassName() == "torch.ao.nn.quantized.DeQuantize");
  // MinMax on [-1, 2], reduce_range of default_qconfig: 3 / 127, zero point round(1 / (3 / 127)) = 42.
  CHECK(root.findModule("quant")->getTensor("scale").getData<float>()[0] == 3.0f / 127);
  CHECK(root.findModule("quant")->getTensor("zero_point").getData<int64_t>()[0] == 42);
  CHECK(root.findModule("block.fc")->getTensor("weight").getDType() == DType::QInt8);
  CHECK(converted.findMeta("eager_qconfigs") == nullptr);
}

TEST_CASE("convert refuses observers without data, or warns", "[passes][eager]") {
  TestContext context("native");
  CHECK(getError(convertEager(prepareNet(context), {}, context.context)) ==
        "no calibration data reached the observers of 'quant', 'block.fc', 'sum' [convert_uncalibrated]");
  context.context.allowUncalibrated = true;
  GraphModule converted = require(convertEager(prepareNet(context), {}, context.context));
  CHECK(converted.getRoot().findModule("quant")->getTensor("scale").getData<float>()[0] == 1);
}

TEST_CASE("convert to reference modules", "[passes][eager]") {
  TestContext context("native");
  GraphModule model = prepareNet(context);
  REQUIRE(describe(calibrate(model, makeData(), context.context)) == "");
  EagerConvertOptions options;
  options.isReference = true;
  GraphModule converted = require(convertEager(std::move(model), options, context.context));
  ModuleRef fc = converted.getRoot().findModule("block.fc");
  CHECK(fc->getClassName() == "torch.ao.nn.quantized.reference.Linear");
  CHECK(fc->getTensor("weight").getDType() == DType::Float32);
  CHECK(fc->getTensor("weight_scale").getData<float>()[0] == 2.0f / 127.5f); // symmetric: max |w| / 127.5
  CHECK(converted.getRoot().findModule("sum")->getClassName() == "torch.ao.nn.quantized.FloatFunctional");
}

TEST_CASE("swap_module leaves alone what has no qconfig or no twin", "[passes][eager]") {
  GraphModule model = parseModel(kNet);
  ModuleRef fc = model.getRoot().findModule("block.fc"), relu = model.getRoot().findModule("block.relu");
  ModuleQConfigs qconfigs;
  ModuleMapping dynamic = getDefaultDynamicQuantModuleMappings(), none;
  SwapOptions options{dynamic, none};
  CHECK(require(swapModule(fc, qconfigs, options)) == fc);
  qconfigs.set(fc, getQConfig("default_dynamic_qconfig"));
  qconfigs.set(relu, getQConfig("default_dynamic_qconfig"));
  CHECK(require(swapModule(relu, qconfigs, options)) == relu);
  CHECK(require(swapModule(fc, qconfigs, options))->getClassName() == "torch.ao.nn.quantized.dynamic.Linear");
  ModuleMapping wrong;
  wrong.set("torch.nn.Linear", "torch.ao.nn.quantized.Conv2d");
  CHECK(getError(swapModule(fc, qconfigs, {wrong, none})) ==
        "'torch.ao.nn.quantized.Conv2d' cannot be made from 'torch.nn.Linear': it has no 'in_channels' [eager_swap]");
}

/// What swap_module says of the module `m` of a text: `from` becomes `to` with these observers.
static std::string swapError(const std::string &declarations, const char *to, const char *activation, ObserverSpec weight) {
  GraphModule model = parseModel(declarations + "graph(%x : f32[2, 2]) {\n  return %x\n}\n");
  ModuleRef module = model.getRoot().findModule("m");
  ModuleQConfigs qconfigs;
  QConfig qconfig = getQConfig("default_qconfig");
  qconfig.activation = ObserverSpec{&requireModuleClass(std::string("torch.ao.quantization.observer.") + activation), false, {}, nullptr};
  qconfig.weight = std::move(weight);
  qconfigs.set(module, qconfig);
  ModuleMapping mapping, none;
  mapping.set(module->getClassName(), to);
  return getError(swapModule(module, qconfigs, {mapping, none}));
}

TEST_CASE("from_float refuses weight observers that the class has no codes for", "[passes][eager]") {
  const char *const kFc = "module m : torch.nn.Linear(in_features=2, out_features=2)\nparameter m.weight : f32[2, 2] = 1\n"
                          "parameter m.bias : f32[2] = 0\n";
  const char *const kTable = "module m : torch.nn.Embedding(num_embeddings=2, embedding_dim=2)\nparameter m.weight : f32[2, 2] = 1\n";
  auto observer = [](const char *name, DType dtype, QScheme scheme) {
    return ObserverSpec{&requireModuleClass(std::string("torch.ao.quantization.observer.") + name), true,
                        {{"dtype", Argument(dtype)}, {"qscheme", Argument(scheme)}}, nullptr};
  };
  const ObserverSpec codes = observer("MinMaxObserver", DType::QUInt8, QScheme::PerTensorAffine);
  CHECK(swapError(kFc, "torch.ao.nn.quantized.Linear", "MinMaxObserver", codes) ==
        "'torch.ao.nn.quantized.Linear' cannot be made from 'torch.nn.Linear': its weight observer must have the dtype torch.qint8, got "
        "torch.quint8 [eager_swap]");
  CHECK(swapError(kFc, "torch.ao.nn.quantized.dynamic.Linear", "MinMaxObserver", codes) ==
        "'torch.ao.nn.quantized.dynamic.Linear' cannot be made from 'torch.nn.Linear': its weight observer must have the dtype torch.qint8 or "
        "torch.float16, got torch.quint8 [eager_swap]");
  CHECK(swapError(kTable, "torch.ao.nn.quantized.Embedding", "PlaceholderObserver",
                  observer("PerChannelMinMaxObserver", DType::QUInt8, QScheme::PerChannelAffine)) ==
        "'torch.ao.nn.quantized.Embedding' cannot be made from 'torch.nn.Embedding': its weight observer must have the scheme "
        "torch.per_channel_affine_float_qparams, got torch.per_channel_affine [eager_swap]");
  CHECK(swapError(kTable, "torch.ao.nn.quantized.Embedding", "PlaceholderObserver",
                  observer("PerChannelMinMaxObserver", DType::QInt8, QScheme::PerChannelAffineFloatQParams)) ==
        "'torch.ao.nn.quantized.Embedding' cannot be made from 'torch.nn.Embedding': its weight observer must have the dtype torch.quint8 or "
        "torch.quint4x2, got torch.qint8 [eager_swap]");
  const std::string remembers = swapError(kFc, "torch.ao.nn.qat.dynamic.Linear", "MinMaxObserver",
                                          observer("MinMaxObserver", DType::QInt8, QScheme::PerTensorSymmetric));
  INFO(remembers);
  CHECK(remembers.find("dynamic training wants a memoryless activation observer, a moving average with averaging_constant 1 [qat_qconfig]") !=
        std::string::npos);
  const std::string scheme = swapError(kTable, "torch.ao.nn.qat.Embedding", "PlaceholderObserver",
                                       observer("MinMaxObserver", DType::QInt8, QScheme::PerTensorSymmetric));
  INFO(scheme);
  CHECK(scheme.find("the weights of an embedding want the scheme torch.per_channel_affine_float_qparams [qat_qconfig]") != std::string::npos);
}

TEST_CASE("a module under two paths is swapped once", "[passes][eager]") {
  TestContext context("native");
  GraphModule model = parseModel("module a : torch.nn.Linear(in_features=2, out_features=2)\nmodule b = a\n"
                                 "parameter a.weight : f32[2, 2] = 1\nparameter a.bias : f32[2] = 0\n"
                                 "graph(%x : f32[N, 2]) {\n  %a = call_module[a](%x)\n  %b = call_module[b](%a)\n  return %b\n}\n");
  GraphModule converted = require(quantizeDynamicEager(std::move(model), require(getDefaultDynamicSpec(DType::QInt8)), std::nullopt, context.context));
  CHECK(converted.getRoot().findModule("a") == converted.getRoot().findModule("b"));
  CHECK(converted.getRoot().findModule("a")->getClassName() == "torch.ao.nn.quantized.dynamic.Linear");
}

TEST_CASE("quantize runs the caller's calibration", "[passes][eager]") {
  TestContext context("native");
  GraphModule model = parseModel(kNet);
  REQUIRE(describe(setQConfig(model, "", getQConfig("default_qconfig"))) == "");
  auto run = [&](GraphModule &prepared) { return calibrate(prepared, makeData(), context.context); };
  GraphModule converted = require(quantizeEager(std::move(model), run, std::nullopt, context.context));
  CHECK(converted.getRoot().findModule("block.fc")->getClassName() == "torch.ao.nn.quantized.Linear");
  CHECK(describe(defaultEvalFn(converted, makeData())) == "");
}

TEST_CASE("quantize_dynamic: dtypes, sets of classes and names", "[passes][eager]") {
  TestContext context("native");
  QConfigMapping byName = require(makeDynamicSpec({"block.fc"}, DType::Float16));
  GraphModule converted = require(quantizeDynamicEager(parseModel(kNet), byName, std::nullopt, context.context));
  ModuleRef fc = converted.getRoot().findModule("block.fc");
  CHECK(fc->getClassName() == "torch.ao.nn.quantized.dynamic.Linear");
  CHECK(fc->getTensor("weight").getDType() == DType::Float16);
  CHECK(require(getDefaultDynamicSpec(DType::QUInt4x2)).getObjectTypes().size() == 1);
  CHECK(getError(getDefaultDynamicSpec(DType::QInt32)).find("[eager_dtype]") != std::string::npos);
}

static const char *const kChain = R"(
module conv : torch.nn.Conv2d(in_channels=1, out_channels=1, kernel_size=(1, 1))
module bn : torch.nn.BatchNorm2d(num_features=1)
module relu : torch.nn.ReLU()
parameter conv.weight : f32[1, 1, 1, 1] = 2
parameter conv.bias : f32[1] = 1
parameter bn.weight : f32[1] = 1
parameter bn.bias : f32[1] = 0.5
buffer bn.running_mean : f32[1] = 0
buffer bn.running_var : f32[1] = 1
graph(%x : f32[N, 1, 2, 2]) {
  %conv = call_module[conv](%x)
  %bn = call_module[bn](%conv)
  %relu = call_module[relu](%bn)
  return %relu
}
)";

TEST_CASE("fuse_modules puts the fused module first and identities behind", "[passes][eager]") {
  GraphModule fused = require(fuseModules(parseModel(kChain), {{"conv", "bn", "relu"}}));
  CHECK(fused.getRoot().findModule("conv")->getClassName() == "torch.ao.nn.intrinsic.ConvReLU2d");
  CHECK(fused.getRoot().findModule("bn")->getClassName() == "torch.nn.Identity");
  CHECK(fused.getRoot().findModule("relu")->getClassName() == "torch.nn.Identity");
  CHECK(getCalls(fused) == "conv=conv bn=bn relu=relu");
  GraphModule qat = require(fuseModules(parseModel(kChain), {{"conv", "bn"}}, /*isQat=*/true));
  CHECK(qat.getRoot().findModule("conv")->getClassName() == "torch.ao.nn.intrinsic.ConvBn2d");
}

TEST_CASE("fuse_modules takes another backend's fusers before the default ones", "[passes][eager]") {
  const char *text = R"(module fc : torch.nn.Linear(in_features=1, out_features=1, bias=False)
module act : torch.nn.LeakyReLU(negative_slope=0.1)
module fc2 : torch.nn.Linear(in_features=1, out_features=1, bias=False)
module relu : torch.nn.ReLU()
parameter fc.weight : f32[1, 1] = [[2.0]]
parameter fc2.weight : f32[1, 1] = [[2.0]]
graph(%x : f32[2, 1]) {
  %fc = call_module[fc](%x)
  %act = call_module[act](%fc)
  %fc2 = call_module[fc2](%act)
  %relu = call_module[relu](%fc2)
  return %relu
}
)";
  CHECK(getError(fuseModules(parseModel(text), {{"fc", "act"}})).find("[eager_fuse]") != std::string::npos);
  const BackendConfig onednn = *getBuiltinBackendConfig("onednn");
  GraphModule fused = require(fuseModules(parseModel(text), {{"fc", "act"}, {"fc2", "relu"}}, /*isQat=*/false, &onednn));
  CHECK(fused.getRoot().findModule("fc")->getClassName() == "torch.ao.nn.intrinsic.LinearLeakyReLU");
  CHECK(fused.getRoot().findModule("act")->getClassName() == "torch.nn.Identity");
  CHECK(fused.getRoot().findModule("fc2")->getClassName() == "torch.ao.nn.intrinsic.LinearReLU");
}

TEST_CASE("fuse_modules refuses what has no fuser", "[passes][eager]") {
  CHECK(getError(fuseModules(parseModel(kChain), {{"bn", "conv"}})) ==
        "there is no fuser for (torch.nn.BatchNorm2d, torch.nn.Conv2d), the modules at bn, conv [eager_fuse]");
  CHECK(getError(fuseModules(parseModel(kChain), {{"conv", "bm"}})) ==
        "the model has no module 'bm' to fuse; did you mean 'bn'? [eager_module]");
  CHECK(getError(fuseModules(parseModel(kChain), {{"conv"}})).find("[eager_fuse]") != std::string::npos);
}

TEST_CASE("prepare_qat makes QAT modules and wants training mode", "[passes][eager]") {
  TestContext context("native");
  GraphModule model = require(fuseModules(parseModel(kChain), {{"conv", "bn", "relu"}}, /*isQat=*/true));
  REQUIRE(describe(setQConfig(model, "", require(getDefaultQatQConfig("x86")))) == "");
  CHECK(getError(prepareQatEager(model.clone(), std::nullopt, context.context)).find("[eager_training]") != std::string::npos);
  setTraining(model, true);
  GraphModule prepared = require(prepareQatEager(std::move(model), std::nullopt, context.context));
  ModuleRef conv = prepared.getRoot().findModule("conv");
  CHECK(conv->getClassName() == "torch.ao.nn.intrinsic.qat.ConvBnReLU2d");
  CHECK(conv->findChild("bn")->getClassName() == "torch.nn.BatchNorm2d");
  CHECK(conv->findChild("weight_fake_quant")->getClassName() == "torch.ao.quantization.fake_quantize.FusedMovingAvgObsFakeQuantize");
  CHECK(getCalls(prepared) == "conv=conv conv_activation_post_process=conv.activation_post_process bn=bn relu=relu");
}

TEST_CASE("Sigmoid is watched over its fixed range in training only", "[passes][eager]") {
  const char *text = "module s : torch.nn.Sigmoid() training\ngraph(%x : f32[N, 2]) {\n  %s = call_module[s](%x)\n  return %s\n}\n";
  TestContext context("native");
  GraphModule model = parseModel(text);
  REQUIRE(describe(setQConfig(model, "", getQConfig("default_qconfig"))) == "");
  GraphModule eval = model.clone();
  setTraining(eval, false);
  CHECK(getCalls(require(prepareEager(std::move(eval), {}, context.context))) == "s=s");
  GraphModule training = require(prepareEager(std::move(model), {}, context.context));
  CHECK(training.getRoot().findModule("s.activation_post_process")->getClassName() ==
        "torch.ao.quantization.fake_quantize.FixedQParamsFakeQuantize");
}

TEST_CASE("add_quant_dequant wraps leaves, QuantWrapper a model", "[passes][eager]") {
  GraphModule model = parseModel(kChain);
  QConfigMapping spec;
  spec.setModuleName("conv", getQConfig("default_qconfig"));
  REQUIRE(describe(propagateQConfig(model, spec)) == "");
  GraphModule wrapped = require(addQuantDequant(model.clone()));
  CHECK(getCalls(wrapped) == "conv_quant=conv.quant conv_module=conv.module conv_dequant=conv.dequant bn=bn relu=relu");
  CHECK(wrapped.getRoot().findModule("conv")->getClassName() == "torch.ao.quantization.stubs.QuantWrapper");
  ModuleQConfigs qconfigs = require(ModuleQConfigs::load(wrapped));
  CHECK(qconfigs.getActive(*wrapped.getRoot().findModule("conv.quant")) != nullptr);
  GraphModule whole = require(wrapInQuantWrapper(std::move(model)));
  CHECK(getCalls(whole) == "quant=quant conv=module.conv bn=module.bn relu=module.relu dequant=dequant");
  CHECK(whole.getRoot().findModule("module.conv")->getClassName() == "torch.nn.Conv2d");
}

TEST_CASE("graph mode does not see eager markers", "[passes][eager]") {
  GraphModule model = parseModel(kNet);
  CHECK(dropEagerMarkers(model));
  CHECK(getCalls(model) == "block_fc=block.fc block_relu=block.relu add=torch.add");
  CHECK_FALSE(dropEagerMarkers(model));
}

TEST_CASE("a quantized bag of another mode than sum is refused", "[passes][eager]") {
  TestContext context("native");
  GraphModule model = parseModel("module bag : torch.nn.EmbeddingBag(num_embeddings=2, embedding_dim=4)\nparameter bag.weight : f32[2, 4] = 1\n"
                                 "graph(%i : i64[2, 2]) {\n  %bag = call_module[bag](%i)\n  return %bag\n}\n");
  CHECK(getError(quantizeDynamicEager(std::move(model), require(getDefaultDynamicSpec(DType::QUInt8)), std::nullopt, context.context)) ==
        "'torch.ao.nn.quantized.EmbeddingBag' cannot be made from 'torch.nn.EmbeddingBag': its mode is 'mean', a quantized bag always sums "
        "[eager_swap]");
}

TEST_CASE("custom modules are observed and quantized by the caller's classes", "[passes][eager]") {
  TestContext context("native");
  GraphModule model = parseModel("module a : torch.nn.Identity()\ngraph(%x : f32[2, 2]) {\n  %a = call_module[a](%x)\n  return %a\n}\n");
  REQUIRE(describe(setQConfig(model, "", getQConfig("default_qconfig"))) == "");
  EagerPrepareOptions prepareOptions;
  prepareOptions.floatToObserved = ModuleMapping().set("torch.nn.Identity", "torch.nn.Dropout2d");
  GraphModule prepared = require(prepareEager(std::move(model), prepareOptions, context.context));
  CHECK(getCalls(prepared) == "a=a a_activation_post_process=a.activation_post_process");
  CHECK(prepared.getRoot().findModule("a")->getClassName() == "torch.nn.Dropout2d");
  EagerConvertOptions convertOptions;
  convertOptions.observedToQuantized = ModuleMapping().set("torch.nn.Dropout2d", "torch.nn.Identity");
  GraphModule converted = require(convertEager(std::move(prepared), convertOptions, context.context));
  CHECK(getCalls(converted) == "a=a");
  CHECK(converted.getRoot().findModule("a")->getClassName() == "torch.nn.Identity");
}

TEST_CASE("an LSTM with a static qconfig is observed and quantized piece by piece", "[passes][eager]") {
  TestContext context("native");
  GraphModule model = parseModel("module q : torch.ao.quantization.stubs.QuantStub()\n"
                                 "module l : torch.nn.LSTM(input_size=1, hidden_size=1)\n"
                                 "parameter l.weight_ih_l0 : f32[4, 1] = 1\nparameter l.weight_hh_l0 : f32[4, 1] = 1\n"
                                 "parameter l.bias_ih_l0 : f32[4] = 1\nparameter l.bias_hh_l0 : f32[4] = 1\n"
                                 "graph(%x : f32[2, 1, 1]) {\n  %q = call_module[q](%x)\n  %l = call_module[l](%q)\n"
                                 "  %y = call_function[operator.getitem](%l, 0)\n  return %y\n}\n");
  REQUIRE(describe(setQConfig(model, "", getQConfig("default_qconfig"))) == "");
  GraphModule prepared = require(prepareEager(std::move(model), {}, context.context));
  const Module &observed = prepared.getRoot();
  CHECK(observed.findModule("l")->getClassName() == "torch.ao.nn.quantizable.LSTM");
  CHECK(isObserver(*observed.findModule("l.layers.0.layer_fw.cell.igates.activation_post_process")));
  CHECK(isObserver(*observed.findModule("l.layers.0.layer_fw.cell.fgate_cx.activation_post_process")));
  CHECK(observed.findModule("l.activation_post_process") == nullptr);
  InputBatch batch;
  batch.tensors.emplace_back("x", Tensor::of<float>(DType::Float32, {2, 1, 1}, {0.5, -1}));
  REQUIRE(describe(calibrate(prepared, std::vector<InputBatch>{batch}, context.context)) == "");
  GraphModule converted = require(convertEager(std::move(prepared), {}, context.context));
  const Module &root = converted.getRoot();
  CHECK(root.findModule("l")->getClassName() == "torch.ao.nn.quantized.LSTM");
  CHECK(root.findModule("l.layers.0.layer_fw.cell.igates")->getClassName() == "torch.ao.nn.quantized.Linear");
  CHECK(root.findModule("l.layers.0.layer_fw.cell.gates")->getClassName() == "torch.ao.nn.quantized.QFunctional");
  CHECK(root.findModule("l.layers.0.layer_fw.cell.igates.activation_post_process") == nullptr);
}
