// Every quantized operator is within half a step of the float operator it stands for: a code is the float result rounded
// once, where it is not clipped.
#include "OperatorSamples.h"
#include "QuantizedCases.h"

#include "Catch.h"
#include "backends/runtime/BindContext.h"
#include "ir/text/QfxText.h"

#include <cmath>
#include <set>

using namespace qfx;
using namespace qfx::test;

namespace {

/// A quantized call and the float call it stands for.
struct Bound {
  const char *target, *arguments; ///< below torch.ops.quantized
  const char *real;
};

const Bound kBounds[] = {
    {"linear", "%q2, %pl, 0.5, 120", "call_function[torch.nn.functional.linear](%x2, %wl, %b)"},
    {"linear_relu", "%q2, %pl, 0.25, 3", "call_function[torch.relu](%lin)"},
    {"linear_leaky_relu", "%q2, %pl, 0.5, 120, 0.3", "call_function[torch.nn.functional.leaky_relu](%lin, 0.3)"},
    {"linear_tanh", "%q2, %pl, 0.0078125, 128", "call_function[torch.tanh](%lin)"},
    {"conv1d", "%q3, %p1, 0.5, 120", "call_function[torch.nn.functional.conv1d](%x3, %w1, %b, 1, 1)"},
    {"conv2d", "%qx, %p2, 1.0, 120", "call_function[torch.nn.functional.conv2d](%x, %w2, %b, 1, 1)"},
    {"conv3d", "%q5, %p3, 1.0, 120", "call_function[torch.nn.functional.conv3d](%x5, %w3, %b, 1, 1)"},
    {"conv1d_relu", "%q3, %p1, 0.3, 2", "call_function[torch.relu](%c1)"},
    {"conv2d_relu", "%qx, %p2, 0.5, 2", "call_function[torch.relu](%c2)"},
    {"conv3d_relu", "%q5, %p3, 0.5, 2", "call_function[torch.relu](%c3)"},
    {"conv_transpose1d", "%q3, %t1, 0.5, 120", "call_function[torch.nn.functional.conv_transpose1d](%x3, %v1, %b)"},
    {"conv_transpose2d", "%qx, %t2, 1.0, 120", "call_function[torch.nn.functional.conv_transpose2d](%x, %v2, %b)"},
    {"conv_transpose3d", "%q5, %t3, 1.0, 120", "call_function[torch.nn.functional.conv_transpose3d](%x5, %v3, %b)"},
    {"conv2d_add", "%qx, %q9, %p2, 1.0, 120", "call_function[torch.add](%c2, %x9)"},
    {"conv2d_add_relu", "%qx, %q9, %p2, 0.5, 2", "call_function[torch.relu](%c2x9)"},
    {"add", "%qx, %qo, 0.2, 120", "call_function[torch.add](%x, %o)"},
    {"add_relu", "%qx, %qo, 0.15, 2", "call_function[torch.relu](%added)"},
    {"mul", "%qx, %qo, 0.5, 120", "call_function[torch.mul](%x, %o)"},
    {"mul_relu", "%qx, %qo, 0.4, 2", "call_function[torch.relu](%product)"},
    {"matmul", "%qx, %qt, 5.0, 60", "call_function[torch.matmul](%x, %t)"},
    {"cat", "[%qx, %qo], 1, 0.11, 60", "call_function[torch.cat]([%x, %o], 1)"},
    {"cat_relu", "[%qx, %qo], 1, 0.09, 2", "call_function[torch.relu](%joined)"},
    {"hardswish", "%qx, 0.05, 20", "call_function[torch.nn.functional.hardswish](%x)"},
    {"elu", "%qx, 0.05, 40", "call_function[torch.nn.functional.elu](%x)"},
    {"celu", "%qx, 0.05, 40, 2.0", "call_function[torch.nn.functional.celu](%x, 2.0)"},
    {"leaky_relu", "%qx, 0.2, False, 0.06, 20", "call_function[torch.nn.functional.leaky_relu](%x, 0.2)"},
    {"prelu", "%qx, %qs, 0.06, 90", "call_function[torch.prelu](%x, %s)"},
    {"sigmoid", "%qx, 0.00390625, 0", "call_function[torch.sigmoid](%x)"},
    {"softmax", "%qx, 1, 0.00390625, 0", "call_function[torch.nn.functional.softmax](%x, dim=1)"},
    {"threshold", "%qx, 1.01, -0.5", "call_function[torch.nn.functional.threshold](%x, 1.01, -0.5)"},
    {"relu6", "%qx", "call_function[torch.nn.functional.relu6](%x)"},
    {"clamp", "%qx, -1.5, 2.0", "call_function[torch.clamp](%x, -1.5, 2.0)"},
    {"dropout", "%qx, 0.05, 100, 0.5, False", "call_function[torch.clone](%x)"},
    {"batch_norm2d", "%qx, %f6, %f6, %f6, %f6, 1e-05, 0.07, 100", "call_function[torch.nn.functional.batch_norm](%x, %f6, %f6, %f6, %f6)"},
    {"batch_norm2d_relu", "%qx, %f6, %f6, %f6, %f6, 1e-05, 0.05, 2", "call_function[torch.relu](%bn)"},
    {"layer_norm", "%qx, [5, 7], None, None, 1e-05, 0.03, 128", "call_function[torch.nn.functional.layer_norm](%x, [5, 7])"},
    {"group_norm", "%qx, 2, %f6, %f6, 1e-05, 0.04, 128", "call_function[torch.nn.functional.group_norm](%x, 2, %f6, %f6)"},
    {"instance_norm", "%qx, %f6, %f6, 1e-05, 0.04, 128", "call_function[torch.nn.functional.instance_norm](%x, weight=%f6, bias=%f6)"},
};

const char *const kHead = R"(qfx 1
buffer X : quint8[2, 6, 5, 7]{scale=0.05, zero_point=100} = 0
buffer O : quint8[2, 6, 5, 7]{scale=0.08, zero_point=31} = 0
buffer N : quint8[2, 9, 5, 7]{scale=0.08, zero_point=31} = 0
buffer L : qint8[9, 7]{scale=0.02, zero_point=0} = 0
buffer A : qint8[9, 6, 3]{scale=0.02, zero_point=0} = 0
buffer C : qint8[9, 6, 3, 3]{scale=0.02, zero_point=0} = 0
buffer D : qint8[9, 6, 3, 3, 3]{scale=0.02, zero_point=0} = 0
buffer E : qint8[6, 9, 3]{scale=0.02, zero_point=0} = 0
buffer F : qint8[6, 9, 3, 3]{scale=0.02, zero_point=0} = 0
buffer G : qint8[6, 9, 1, 3, 3]{scale=0.02, zero_point=0} = 0
buffer S : quint8[6]{scale=0.0125, zero_point=30} = 0
buffer B : f32[9] = random(seed=9)
buffer W6 : f32[6] = random(seed=5, low=0.2, high=1.4)
graph() {
  %qx = get_attr[X]()
  %qo = get_attr[O]()
  %q9 = get_attr[N]()
  %ql = get_attr[L]()
  %qa = get_attr[A]()
  %qc = get_attr[C]()
  %qd = get_attr[D]()
  %qe = get_attr[E]()
  %qf = get_attr[F]()
  %qg = get_attr[G]()
  %qs = get_attr[S]()
  %b = get_attr[B]()
  %f6 = get_attr[W6]()
  %q2 = call_method[reshape](%qx, 60, 7)
  %q3 = call_method[reshape](%qx, 2, 6, 35)
  %q5 = call_method[reshape](%qx, 2, 6, 1, 5, 7)
  %qt = call_method[transpose](%qo, 2, 3)
  %x = call_method[dequantize](%qx)
  %o = call_method[dequantize](%qo)
  %x9 = call_method[dequantize](%q9)
  %wl = call_method[dequantize](%ql)
  %w1 = call_method[dequantize](%qa)
  %w2 = call_method[dequantize](%qc)
  %w3 = call_method[dequantize](%qd)
  %v1 = call_method[dequantize](%qe)
  %v2 = call_method[dequantize](%qf)
  %v3 = call_method[dequantize](%qg)
  %s = call_method[dequantize](%qs)
  %x2 = call_method[dequantize](%q2)
  %x3 = call_method[dequantize](%q3)
  %x5 = call_method[dequantize](%q5)
  %t = call_method[dequantize](%qt)
  %pl = call_function[torch.ops.quantized.linear_prepack](%ql, %b)
  %p1 = call_function[torch.ops.quantized.conv1d_prepack](%qa, %b, [1], [1], [1], 1)
  %p2 = call_function[torch.ops.quantized.conv2d_prepack](%qc, %b, [1, 1], [1, 1], [1, 1], 1)
  %p3 = call_function[torch.ops.quantized.conv3d_prepack](%qd, %b, [1, 1, 1], [1, 1, 1], [1, 1, 1], 1)
  %t1 = call_function[torch.ops.quantized.conv_transpose1d_prepack](%qe, %b, [1], [0], [0], [1], 1)
  %t2 = call_function[torch.ops.quantized.conv_transpose2d_prepack](%qf, %b, [1, 1], [0, 0], [0, 0], [1, 1], 1)
  %t3 = call_function[torch.ops.quantized.conv_transpose3d_prepack](%qg, %b, [1, 1, 1], [0, 0, 0], [0, 0, 0], [1, 1, 1], 1)
  %lin = call_function[torch.nn.functional.linear](%x2, %wl, %b)
  %c1 = call_function[torch.nn.functional.conv1d](%x3, %w1, %b, 1, 1)
  %c2 = call_function[torch.nn.functional.conv2d](%x, %w2, %b, 1, 1)
  %c3 = call_function[torch.nn.functional.conv3d](%x5, %w3, %b, 1, 1)
  %c2x9 = call_function[torch.add](%c2, %x9)
  %added = call_function[torch.add](%x, %o)
  %product = call_function[torch.mul](%x, %o)
  %joined = call_function[torch.cat]([%x, %o], 1)
  %bn = call_function[torch.nn.functional.batch_norm](%x, %f6, %f6, %f6, %f6)
)";

/// Checks codes against real values.
void compare(const Tensor &codes, const Tensor &reals, double share) {
  REQUIRE(codes.getNumElements() == reals.getNumElements());
  const DTypeInfo &info = getDTypeInfo(codes.getDType());
  double worst = 0;
  int64_t inside = 0;
  for (int64_t i = 0; i < codes.getNumElements(); ++i) {
    const double steps = reals.getElementAsDouble(i) / codes.getQuantizer()->getScale() +
                         static_cast<double>(codes.getQuantizer()->getZeroPoint());
    if (steps < static_cast<double>(info.codeMin) || steps > static_cast<double>(info.codeMax))
      continue;
    ++inside;
    worst = std::max(worst, std::abs(codes.getElementAsDouble(i) - steps));
  }
  CHECK(static_cast<double>(inside) >= share * static_cast<double>(codes.getNumElements()));
  CHECK(worst <= 0.5 + 1e-3); // float32 arithmetic on up to 255 steps
}

std::vector<Tensor> run(const std::string &text) {
  std::vector<Tensor> tensors;
  auto model = parseQfx(std::make_shared<SourceText>(SourceText{"bound", text}));
  if (!model) {
    FAIL_CHECK(toText(model.takeError()));
    return tensors;
  }
  uint64_t seed = 11;
  for (const char *name : {"X", "O", "N", "L", "A", "C", "D", "E", "F", "G", "S"})
    if (model->getRoot().findTensorAt(name))
      model->getRoot().setBuffer(name, makeValues(model->getRoot().findTensorAt(name)->getType(), seed++));
  auto program = Program::compile(*model);
  if (!program) {
    FAIL_CHECK(toText(program.takeError()));
    return tensors;
  }
  auto values = (*program)->run(llvm::ArrayRef<Tensor>());
  if (!values) {
    FAIL_CHECK(toText(values.takeError()));
    return tensors;
  }
  for (NamedValue &value : *values)
    tensors.push_back(value.value.tensor);
  return tensors;
}

} // namespace

TEST_CASE("a quantized result is within half a step of the float one", "[quantized][bound]") {
  std::set<OpKind> covered;
  for (const Bound &bound : kBounds) {
    INFO(bound.target << "(" << bound.arguments << ")");
    const std::string target = std::string("torch.ops.quantized.") + bound.target;
    covered.insert(requireFunction(target).op);
    std::vector<Tensor> results = run(std::string(kHead) + "  %q = call_function[" + target + "](" + bound.arguments + ")\n  %f = " +
                                      bound.real + "\n  return (%q, %f)\n}\n");
    if (results.size() == 2)
      compare(results[0], results[1], 0.25);
  }
  for (const OpInfo &op : getAllOps()) {
    INFO(op.name.str());
    const bool isOwn = op.has(Traits::Quantized) && runtime::findKernel(op.kind, runtime::KernelForm::Quantized);
    CHECK((!isOwn || covered.count(op.kind)));
  }
}

// Operators that take floats and codes alike, with the samples of test/ir/ops.
TEST_CASE("an operator on codes is within half a step of itself on floats", "[quantized][bound]") {
  int64_t checked = 0;
  for (const OpInfo &op : getAllOps()) {
    if (!runtime::findKernel(op.kind, runtime::KernelForm::Quantized) ||
        !runtime::findKernel(op.kind, runtime::KernelForm::Float))
      continue;
    for (Sample sample : getSamples(op)) {
      bool hasCodes = false;
      Sample real = sample;
      std::vector<std::string> lines;
      for (auto &[name, type] : sample.inputs)
        if (type.dtype == "f32") {
          type = {"quint8", type.sizes, "{scale=0.0625, zero_point=100}"}; // exact reals: threshold jumps at one
          hasCodes = true;
          lines.push_back("  %" + name + "_f = call_method[dequantize](%" + name + ")");
          for (std::string &line : real.lines)
            for (size_t at = 0; (at = line.find("%" + name, at)) != std::string::npos; at += name.size() + 3) {
              const char next = at + name.size() + 1 < line.size() ? line[at + name.size() + 1] : ' ';
              if (!std::isalnum(static_cast<unsigned char>(next)) && next != '_')
                line.replace(at, name.size() + 1, "%" + name + "_f");
            }
        }
      if (!hasCodes)
        continue;
      INFO(sample.getText());
      auto program = compileSample(sample);
      real.inputs = sample.inputs;
      real.lines.insert(real.lines.begin(), lines.begin(), lines.end());
      auto reference = compileSample(real);
      if (!program || !reference) { // this spelling takes floats only
        llvm::consumeError(program.takeError());
        llvm::consumeError(reference.takeError());
        continue;
      }
      auto codes = runSample(**program, sample), reals = runSample(**reference, real);
      const bool ran = codes && reals;
      REQUIRE(ran);
      REQUIRE(codes->size() == reals->size());
      for (size_t i = 0; i < codes->size(); ++i) {
        if (isQuantized((*codes)[i].getDType()))
          compare((*codes)[i], (*reals)[i], 0);
        else if (!isFloat((*codes)[i].getDType()))
          CHECK((*codes)[i].equals((*reals)[i]));
      }
      ++checked;
    }
  }
  CHECK(checked > 80);
}
