// Which rule of a mapping a node gets, and rules that meet nothing.
#include "passes/config/QConfigResolver.h"
#include "PassTest.h"
#include "passes/config/UnmatchedRules.h"
#include "passes/fuse/Fuse.h"
#include "passes/prepare/Prepare.h"

using namespace qfx;

static const char *kModel = "module sub.fc : torch.nn.Linear(in_features=1, out_features=1, bias=False)\nparameter "
                            "sub.fc.weight : f32[1, 1] = [[1.0]]\n"
                            "module sub2.fc : torch.nn.Linear(in_features=1, out_features=1, bias=False)\nparameter "
                            "sub2.fc.weight : f32[1, 1] = [[1.0]]\n"
                            "parameter sub.w : f32[1] = [1.0]\n"
                            "graph(%x : f32[1, 1]) {\n"
                            "  %fc = call_module[sub.fc](%x) scope(\"sub.fc\", \"torch.nn.Linear\")\n"
                            "  %w = get_attr[sub.w]() scope(\"sub\", \"user.Sub\")\n"
                            "  %add = call_function[operator.add](%fc, %w) scope(\"sub\", \"user.Sub\")\n"
                            "  %add_1 = call_function[operator.add](%add, 1) scope(\"sub\", \"user.Sub\")\n"
                            "  %view = call_method[reshape](%add_1, 1, 1) scope(\"sub\", \"user.Sub\")\n"
                            "  %fc_1 = call_module[sub2.fc](%view) scope(\"sub2.fc\", \"torch.nn.Linear\")\n"
                            "  return %fc_1\n}\n";

static QConfig makeQConfig(const std::string &alias) {
  std::optional<QConfig> qconfig = findQConfigAlias(alias);
  REQUIRE(qconfig);
  return *qconfig;
}

static std::map<std::string, ResolvedQConfig> resolveAll(const GraphModule &model, const QConfigMapping &mapping) {
  QConfigResolver resolver = require(QConfigResolver::create(mapping));
  std::map<std::string, ResolvedQConfig> result;
  for (const Node &node : model.getGraph().nodes())
    if (std::optional<ResolvedQConfig> resolved = resolver.resolve(node, model))
      result[node.getName()] = *resolved;
  return result;
}

TEST_CASE("precedence of qconfig rules", "[qconfig]") {
  GraphModule model = parseModel(kModel);
  QConfig q = makeQConfig("default_qconfig");
  QConfigMapping mapping;
  mapping.setGlobal(q);
  auto all = resolveAll(model, mapping);
  CHECK(all["fc"].rule == "the global entry");
  CHECK_FALSE(all["x"].qconfig);
  CHECK_FALSE(all["output"].qconfig);

  mapping.setObjectType(OperatorName::resolve("torch.nn.Linear"), std::nullopt);
  all = resolveAll(model, mapping);
  CHECK(all["fc"].rule == "the object_type entry 'torch.nn.Linear'");
  CHECK_FALSE(all["fc"].qconfig);
  CHECK(all["add"].qconfig);

  // A class entry of an inlined class reaches functions, methods and attributes inside it, not its leaf children; it
  // beats functions.
  mapping.setObjectType(OperatorName::resolve("operator.add"), q);
  mapping.setObjectType(OperatorName::resolve("user.Sub"), std::nullopt);
  all = resolveAll(model, mapping);
  CHECK(all["add"].rule == "the object_type entry 'user.Sub'");
  CHECK(all["view"].rule == "the object_type entry 'user.Sub'");
  CHECK(all["fc"].rule == "the object_type entry 'torch.nn.Linear'");

  mapping.setModuleNameRegex("sub.*", q); // anchored at the start only: sub2 as well
  all = resolveAll(model, mapping);
  CHECK(all["fc_1"].rule == "the module_name_regex entry 'sub.*'");
  CHECK(all["add"].rule == "the module_name_regex entry 'sub.*'");

  mapping.setModuleName("sub", std::nullopt); // covers what is below
  all = resolveAll(model, mapping);
  CHECK(all["fc"].rule == "the module_name entry 'sub'");
  CHECK(all["add"].rule == "the module_name entry 'sub'");
  CHECK(all["fc_1"].rule == "the module_name_regex entry 'sub.*'");

  mapping.setModuleNameObjectTypeOrder({"sub", OperatorName::resolve("operator.add"), 1}, q);
  mapping.setModuleNameObjectTypeOrder({"sub2", OperatorName::resolve("torch.nn.Linear"), 0}, q);
  all = resolveAll(model, mapping);
  CHECK_FALSE(all["add"].qconfig);
  CHECK(all["add_1"].rule == "the module_name_object_type_order entry ('sub', 'operator.add', 1)");
  CHECK(all["fc_1"].rule == "the module_name_object_type_order entry ('sub2', 'torch.nn.Linear', 0)");
}

TEST_CASE("a regular expression that is none is an error", "[qconfig]") {
  QConfigMapping mapping;
  mapping.setModuleNameRegex("conv(", std::nullopt);
  CHECK_THAT(getError(QConfigResolver::create(mapping)),
             Catch::Contains("'conv('") && Catch::Contains("[qconfig_regex]"));
}

// known_traps B18
TEST_CASE("unmatched rules are listed together", "[qconfig]") {
  GraphModule model = parseModel(kModel);
  QConfigMapping mapping;
  mapping.setModuleName("sub.fd", std::nullopt);
  mapping.setModuleNameRegex("conv[0-9]", std::nullopt);
  mapping.setObjectType(OperatorName::resolve("torch.nn.Liner"), std::nullopt);
  mapping.setModuleNameObjectTypeOrder({"sub", OperatorName::resolve("operator.add"), 2}, std::nullopt);
  TestContext context;
  CHECK(describe(checkMappingRules(mapping, model, context.context)) ==
        "object_type entry 'torch.nn.Liner' names no known operator; did you mean 'torch.nn.Linear'? [unmatched_rule]\n"
        "module_name_regex entry 'conv[0-9]' matches no module [unmatched_rule]\n"
        "module_name entry 'sub.fd' matches no module; did you mean 'sub.fc'? [unmatched_rule]\n"
        "module_name_object_type_order entry ('sub', 'operator.add', 2) matches no call: 'sub' has 2 of that type "
        "[unmatched_rule]");
  context.context.allowUnmatched = true;
  CHECK(describe(checkMappingRules(mapping, model, context.context)).empty());
  CHECK(context.warnings.size() == 4);
}

TEST_CASE("default mappings and user classes are never unmatched", "[qconfig]") {
  GraphModule model = parseModel(kModel);
  TestContext context;
  QConfigMapping mapping = require(getDefaultQConfigMapping("x86"));
  mapping.setObjectType(OperatorName::resolve("user.Sub"), std::nullopt);
  CHECK(describe(checkMappingRules(mapping, model, context.context)).empty());
}

TEST_CASE("rules on absorbed members are matched, with a remark", "[qconfig]") {
  GraphModule model =
      parseModel("module fc : torch.nn.Linear(in_features=1, out_features=1, bias=False)\n"
                 "parameter fc.weight : f32[1, 1] = [[1.0]]\nmodule act : torch.nn.ReLU()\n"
                 "graph(%x : f32[1, 1]) {\n  %fc = call_module[fc](%x)\n  %act = call_module[act](%fc)\n"
                 "  return %act\n}\n");
  TestContext context;
  require(fuse(model, FuseOptions(), context.context));
  QConfigMapping mapping;
  mapping.setModuleName("act", std::nullopt);
  mapping.setModuleNameObjectTypeOrder({"", OperatorName::resolve("torch.nn.ReLU"), 0}, std::nullopt);
  CHECK(describe(checkMappingRules(mapping, model, context.context)).empty());
  CHECK(context.findRemark("absorbed_rule", "fc"));
}

TEST_CASE("members of a fused module must agree", "[qconfig]") {
  std::string text = "module fc : torch.nn.Linear(in_features=1, out_features=1, bias=False)\n"
                     "parameter fc.weight : f32[1, 1] = [[1.0]]\nmodule act : torch.nn.ReLU()\n"
                     "graph(%x : f32[1, 1]) {\n  %fc = call_module[fc](%x)\n  %act = call_module[act](%fc)\n"
                     "  return %act\n}\n";
  GraphModule model = parseModel(text);
  TestContext context;
  require(fuse(model, FuseOptions(), context.context));
  QConfigMapping mapping;
  QConfig q = makeQConfig("default_qconfig");
  mapping.setObjectType(OperatorName::resolve("torch.nn.Linear"), q);
  CHECK_THAT(describe(updateMappingForFusion(mapping, model)),
             Catch::Contains("'torch.ao.nn.intrinsic.LinearReLU' differ: 'torch.nn.Linear' and 'torch.nn.ReLU'"));
  mapping.setObjectType(OperatorName::resolve("torch.nn.ReLU"), q);
  CHECK(describe(updateMappingForFusion(mapping, model)).empty());
  const OptionalQConfig *fused = mapping.findObjectType(OperatorName::resolve("torch.ao.nn.intrinsic.LinearReLU"));
  REQUIRE(fused);
  CHECK(qconfigEquals(*fused, q));
}
