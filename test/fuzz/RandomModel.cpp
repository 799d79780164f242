// One function per kind of step; a step that has no fitting value leaves the graph as it is.
#include "test/fuzz/RandomModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

namespace qfx::fuzz {

namespace {

using Shape = std::vector<int64_t>;

struct Value {
  std::string name;
  Shape shape;
};

std::string formatShape(const Shape &shape) { return llvm::formatv("{0:$[, ]}", llvm::make_range(shape.begin(), shape.end())).str(); }

class Builder {
public:
  explicit Builder(Random &random) : random(random) {}

  RandomModel run(unsigned maxSteps) {
    int64_t numInputs = random.oneIn(4) ? 2 : 1;
    for (int64_t i = 0; i < numInputs; ++i)
      addInput(i);
    auto numSteps = static_cast<unsigned>(random.between(1, maxSteps));
    using Step = void (Builder::*)();
    static constexpr Step kSteps[] = {
        &Builder::addConv,      &Builder::addConv,       &Builder::addConv,        &Builder::addLinear,     &Builder::addLinear,
        &Builder::addTransposedConv, &Builder::addFunctionalLinear, &Builder::addFunctionalConv, &Builder::addBatchNorm, &Builder::addBinary,
        &Builder::addBinary,    &Builder::addScalar,     &Builder::addCat,         &Builder::addCat,        &Builder::addChunk,
        &Builder::addPool,      &Builder::addPool,       &Builder::addActivation,  &Builder::addActivation, &Builder::addRelu,
        &Builder::addReshape,   &Builder::addMovement,   &Builder::addMean,        &Builder::addNorm,       &Builder::addInterpolate,
        &Builder::addMatmul,    &Builder::addSlice,      &Builder::addStack,       &Builder::reuseModule};
    for (unsigned i = 0; i < numSteps; ++i)
      (this->*random.pick(kSteps))();
    return finish();
  }

private:
  void addInput(int64_t index) {
    Shape shape;
    switch (random.below(4)) {
    case 0:
      shape = {random.between(1, 3), random.between(1, 8)};
      break;
    case 1:
      shape = {random.between(1, 2), random.between(1, 5), random.between(1, 8)};
      break;
    default:
      shape = {random.between(1, 2), random.between(1, 4), random.between(3, 8), random.between(3, 8)};
    }
    std::string name = index ? "y" : "x";
    model.inputs.emplace_back(name, shape);
    values.push_back({name, shape});
  }

  // --- text

  std::string freshName(const std::string &stem) { return stem + "_" + std::to_string(nextName++); }

  void emit(const std::string &name, const std::string &call, Shape shape) {
    body += llvm::formatv("  %{0} = {1}\n", name, call).str();
    values.push_back({name, std::move(shape)});
  }

  std::string call(const std::string &stem, const std::string &text, Shape shape) {
    std::string name = freshName(stem);
    emit(name, text, std::move(shape));
    return name;
  }

  std::string addModule(const std::string &stem, const std::string &construction) {
    std::string path = freshName(stem);
    declarations += llvm::formatv("module {0} : torch.nn.{1}\n", path, construction).str();
    model.modulePaths.push_back(path);
    return path;
  }

  void addTensor(const char *kind, const std::string &path, const Shape &shape, double low, double high) {
    declarations += llvm::formatv("{0} {1} : f32[{2}] = random(seed={3}, low={4}, high={5})\n", kind, path, formatShape(shape), nextSeed++, low, high)
                        .str();
  }

  void addWeight(const std::string &path, const Shape &shape, bool hasBias, int64_t outputs) {
    addTensor("parameter", path + ".weight", shape, -0.7, 0.7);
    if (hasBias)
      addTensor("parameter", path + ".bias", {outputs}, -0.2, 0.2);
  }

  std::string callModule(const std::string &path, const std::string &operand, Shape shape) {
    modules.push_back({path, {}});
    return call(path, llvm::formatv("call_module[{0}](%{1})", path, operand).str(), std::move(shape));
  }

  // --- choosing operands

  /// A value that `fits`, recent ones more often; null if there is none.
  const Value *find(llvm::function_ref<bool(const Value &)> fits) {
    std::vector<const Value *> candidates;
    for (const Value &value : values)
      if (fits(value))
        candidates.push_back(&value);
    if (candidates.empty())
      return nullptr;
    return random.oneIn(2) ? candidates.back() : random.pick(candidates);
  }
  const Value *findRank(size_t rank) {
    return find([&](const Value &value) { return value.shape.size() == rank; });
  }
  const Value *findAny() {
    return find([](const Value &) { return true; });
  }

  // --- layers

  void addConv() {
    const Value *found = findRank(4);
    if (!found || found->shape[2] < 1 || found->shape[3] < 1)
      return;
    Value x = *found;
    int64_t channels = x.shape[1], kernel = random.oneIn(2) ? 1 : 3;
    bool fits = x.shape[2] >= kernel && x.shape[3] >= kernel;
    int64_t padding = kernel == 3 && (!fits || random.oneIn(2)) ? 1 : 0, stride = random.oneIn(3) ? 2 : 1;
    bool isDepthwise = random.oneIn(4), hasBias = !random.oneIn(3);
    int64_t groups = isDepthwise ? channels : 1, outputs = isDepthwise ? channels : random.between(1, 6);
    std::string path =
        addModule("conv", llvm::formatv("Conv2d(in_channels={0}, out_channels={1}, kernel_size=({2}, {2}), stride=({3}, {3}), padding=({4}, "
                                        "{4}), groups={5}, bias={6})",
                                        channels, outputs, kernel, stride, padding, groups, hasBias ? "True" : "False")
                            .str());
    addWeight(path, {outputs, channels / groups, kernel, kernel}, hasBias, outputs);
    Shape shape = {x.shape[0], outputs, (x.shape[2] + 2 * padding - kernel) / stride + 1, (x.shape[3] + 2 * padding - kernel) / stride + 1};
    std::string result = callModule(path, x.name, shape);
    modules.back().inputShape = x.shape;
    modules.back().outputShape = shape;
    if (random.oneIn(3))
      result = batchNorm(result, shape);
    if (random.oneIn(2))
      relu(result, shape);
  }

  void addTransposedConv() {
    const Value *found = findRank(4);
    if (!found || found->shape[2] > 8 || found->shape[3] > 8)
      return;
    Value x = *found;
    int64_t channels = x.shape[1], outputs = random.between(1, 4);
    std::string path = addModule(
        "up", llvm::formatv("ConvTranspose2d(in_channels={0}, out_channels={1}, kernel_size=(2, 2), stride=(2, 2))", channels, outputs).str());
    addWeight(path, {channels, outputs, 2, 2}, true, outputs);
    callModule(path, x.name, {x.shape[0], outputs, x.shape[2] * 2, x.shape[3] * 2});
  }

  void addLinear() {
    const Value *found = findAny();
    if (found->shape.size() < 2)
      return;
    Value x = *found;
    int64_t features = x.shape.back(), outputs = random.between(1, 6);
    bool hasBias = !random.oneIn(3);
    std::string path = addModule("fc", llvm::formatv("Linear(in_features={0}, out_features={1}, bias={2})", features, outputs,
                                                     hasBias ? "True" : "False")
                                           .str());
    addWeight(path, {outputs, features}, hasBias, outputs);
    Shape shape = x.shape;
    shape.back() = outputs;
    std::string result = callModule(path, x.name, shape);
    modules.back().inputShape = x.shape;
    modules.back().outputShape = shape;
    if (random.oneIn(2))
      relu(result, shape);
  }

  /// The very same module on another value of the shape it was made for.
  void reuseModule() {
    std::vector<const ModuleUse *> candidates;
    for (const ModuleUse &use : modules)
      if (!use.inputShape.empty())
        candidates.push_back(&use);
    if (candidates.empty())
      return;
    ModuleUse use = *random.pick(candidates);
    const Value *x = find([&](const Value &value) { return value.shape == use.inputShape; });
    if (x)
      call(use.path, llvm::formatv("call_module[{0}](%{1})", use.path, x->name).str(), use.outputShape);
  }

  std::string getAttr(const std::string &path, const Shape &shape, double low, double high) {
    addTensor("parameter", path, shape, low, high);
    std::string name = freshName("attr");
    body += llvm::formatv("  %{0} = get_attr[{1}]()\n", name, path).str(); // weights are operands of their function only
    return name;
  }

  void addFunctionalLinear() {
    const Value *found = findAny();
    if (found->shape.size() < 2)
      return;
    Value x = *found;
    int64_t outputs = random.between(1, 6);
    std::string weight = getAttr(freshName("w"), {outputs, x.shape.back()}, -0.7, 0.7);
    std::string bias = random.oneIn(2) ? "%" + getAttr(freshName("b"), {outputs}, -0.2, 0.2) : std::string("None");
    Shape shape = x.shape;
    shape.back() = outputs;
    std::string result = call("linear", llvm::formatv(random.oneIn(3) ? "call_function[torch._C._nn.linear](%{0}, weight=%{1}, bias={2})"
                                                                      : "call_function[torch._C._nn.linear](%{0}, %{1}, {2})",
                                                      x.name, weight, bias)
                                            .str(),
                              shape);
    if (random.oneIn(2))
      relu(result, shape);
  }

  void addFunctionalConv() {
    const Value *found = findRank(4);
    if (!found)
      return;
    Value x = *found;
    int64_t outputs = random.between(1, 5);
    std::string weight = getAttr(freshName("w"), {outputs, x.shape[1], 1, 1}, -0.7, 0.7);
    std::string result = call("conv2d", llvm::formatv(random.oneIn(2) ? "call_function[torch.conv2d](%{0}, %{1})"
                                                                      : "call_function[torch.conv2d](%{0}, %{1}, None, (1, 1), (0, 0), (1, 1), 1)",
                                                      x.name, weight)
                                            .str(),
                              {x.shape[0], outputs, x.shape[2], x.shape[3]});
    if (random.oneIn(2))
      relu(result, values.back().shape);
  }

  std::string batchNorm(const std::string &operand, const Shape &shape) {
    std::string path = addModule("bn", llvm::formatv("BatchNorm2d(num_features={0})", shape[1]).str());
    addTensor("parameter", path + ".weight", {shape[1]}, 0.5, 1.5);
    addTensor("parameter", path + ".bias", {shape[1]}, -0.3, 0.3);
    addTensor("buffer", path + ".running_mean", {shape[1]}, -0.3, 0.3);
    addTensor("buffer", path + ".running_var", {shape[1]}, 0.5, 1.5);
    declarations += llvm::formatv("buffer {0}.num_batches_tracked : i64[] = 0\n", path).str();
    return callModule(path, operand, shape);
  }

  void addBatchNorm() {
    if (const Value *found = findRank(4)) {
      Value x = *found;
      std::string result = batchNorm(x.name, x.shape);
      if (random.oneIn(2))
        relu(result, x.shape);
    }
  }

  void relu(const std::string &operand, const Shape &shape) {
    switch (random.below(5)) {
    case 0:
      call("relu", "call_function[torch.relu](%" + operand + ")", shape);
      return;
    case 1:
      call("relu", "call_method[relu](%" + operand + ")", shape);
      return;
    case 2:
      call("relu", "call_function[torch.nn.functional.relu](%" + operand + ", inplace=False)", shape);
      return;
    default:
      callModule(addModule("act", "ReLU()"), operand, shape);
    }
  }

  void addRelu() {
    Value x = *findAny();
    relu(x.name, x.shape);
  }

  // --- functions

  void addBinary() {
    Value a = *findAny();
    const Value *found = find([&](const Value &value) { return value.shape == a.shape; });
    static const char *const kFunctions[] = {"operator.add", "operator.add", "torch.add", "operator.mul", "torch.mul", "operator.sub"};
    std::string b = random.oneIn(8) ? a.name : found->name;
    std::string result = call("binary", llvm::formatv("call_function[{0}](%{1}, %{2})", random.pick(kFunctions), a.name, b).str(), a.shape);
    if (random.oneIn(2))
      relu(result, a.shape);
  }

  void addScalar() {
    Value x = *findAny();
    static const char *const kNumbers[] = {"2", "0.5", "-1.5", "3.0", "0.001"};
    static const char *const kForms[] = {"call_function[operator.add](%{0}, {1})", "call_function[operator.add]({1}, %{0})",
                                         "call_function[operator.mul](%{0}, {1})", "call_function[operator.mul]({1}, %{0})",
                                         "call_function[operator.sub](%{0}, {1})", "call_function[operator.sub]({1}, %{0})",
                                         "call_function[torch.add](%{0}, {1})",    "call_function[operator.truediv](%{0}, {1})"};
    call("scalar", llvm::formatv(random.pick(kForms), x.name, random.pick(kNumbers)).str(), x.shape);
  }

  void addCat() {
    const Value *found = findAny();
    if (found->shape.size() < 2)
      return;
    Value first = *found;
    std::string list = "%" + first.name;
    Shape shape = first.shape;
    for (int64_t i = random.between(1, 2); i > 0; --i) {
      const Value *other = find([&](const Value &value) {
        if (value.shape.size() != shape.size())
          return false;
        for (size_t axis = 0; axis < shape.size(); ++axis)
          if (axis != 1 && value.shape[axis] != shape[axis])
            return false;
        return true;
      });
      if (!other || shape[1] + other->shape[1] > 24)
        continue;
      list += ", %" + other->name;
      shape[1] += other->shape[1];
    }
    bool isTuple = llvm::StringRef(list).contains(',') && random.oneIn(3);
    std::string tensors = isTuple ? "(" + list + ")" : "[" + list + "]";
    call("cat", "call_function[torch.cat](" + tensors + (random.oneIn(2) ? ", dim=1)" : ", 1)"), shape);
  }

  void addStack() {
    Value a = *findAny();
    const Value *b = find([&](const Value &value) { return value.shape == a.shape; });
    if (a.shape.size() > 3)
      return;
    Shape shape = a.shape;
    shape.insert(shape.begin() + 1, 2);
    call("stack", llvm::formatv("call_function[torch.stack]([%{0}, %{1}], 1)", a.name, b->name).str(), shape);
  }

  void addChunk() {
    const Value *found = find([](const Value &value) { return value.shape.size() >= 2 && value.shape[1] % 2 == 0; });
    if (!found)
      return;
    Value x = *found;
    std::string name = freshName("pieces");
    body += llvm::formatv(random.oneIn(2) ? "  %{0} = call_method[chunk](%{1}, 2, 1)\n" : "  %{0} = call_function[torch.chunk](%{1}, 2, dim=1)\n",
                          name, x.name)
                .str();
    Shape shape = x.shape;
    shape[1] /= 2;
    for (int i = 0; i < 2; ++i)
      if (i == 0 || !random.oneIn(5)) // a piece may stay unused
        call("piece", llvm::formatv("call_function[operator.getitem](%{0}, {1})", name, i).str(), shape);
  }

  void addPool() {
    const Value *found = find([](const Value &value) { return value.shape.size() == 4 && value.shape[2] >= 3 && value.shape[3] >= 3; });
    if (!found)
      return;
    Value x = *found;
    Shape halved = {x.shape[0], x.shape[1], x.shape[2] / 2, x.shape[3] / 2}, one = {x.shape[0], x.shape[1], 1, 1};
    int64_t kernel = random.between(2, 3);
    Shape averaged = {x.shape[0], x.shape[1], x.shape[2] - kernel + 1, x.shape[3] - kernel + 1};
    switch (random.below(6)) {
    case 0:
      callModule(addModule("pool", "MaxPool2d(kernel_size=2)"), x.name, halved);
      return;
    case 1:
      callModule(addModule("pool", llvm::formatv("AvgPool2d(kernel_size={0}, stride=1)", kernel).str()), x.name, averaged);
      return;
    case 2:
      call("pool", "call_function[torch.nn.functional.max_pool2d](%" + x.name + ", 2)", halved);
      return;
    case 3:
      call("pool", llvm::formatv("call_function[torch._C._nn.avg_pool2d](%{0}, {1}, 1)", x.name, kernel).str(), averaged);
      return;
    case 4:
      callModule(addModule("pool", "AdaptiveAvgPool2d(output_size=1)"), x.name, one);
      return;
    default:
      call("pool", "call_function[torch.nn.functional.adaptive_avg_pool2d](%" + x.name + ", (1, 1))", one);
    }
  }

  void addActivation() {
    Value x = *findAny();
    static const char *const kModules[] = {"Hardswish()", "Hardsigmoid()", "Sigmoid()", "Tanh()", "LeakyReLU(negative_slope=0.1)", "ELU()",
                                           "Hardtanh()",  "ReLU6()",       "Dropout()", "Identity()", "Softmax(dim=-1)"};
    static const char *const kFunctions[] = {"torch.sigmoid(%{0})", "torch.tanh(%{0})", "torch.nn.functional.hardswish(%{0})",
                                             "torch.nn.functional.leaky_relu(%{0}, 0.2)", "torch.nn.functional.hardsigmoid(%{0})",
                                             "torch.nn.functional.relu6(%{0})", "torch.clamp(%{0}, -0.5, 1.5)",
                                             "torch.nn.functional.elu(%{0})", "torch.sin(%{0})", "torch.abs(%{0})"};
    static const char *const kMethods[] = {"sigmoid", "tanh", "contiguous", "detach", "neg"};
    switch (random.below(4)) {
    case 0:
      call("f", "call_method[" + std::string(random.pick(kMethods)) + "](%" + x.name + ")", x.shape);
      return;
    case 1: {
      llvm::StringRef form = random.pick(kFunctions);
      auto [function, rest] = form.split('(');
      call("f", "call_function[" + function.str() + "](" + llvm::formatv(rest.str().c_str(), x.name).str(), x.shape);
      return;
    }
    case 2: {
      std::string path = addModule("prelu", "PReLU(num_parameters=1)");
      addTensor("parameter", path + ".weight", {1}, 0.05, 1.5);
      callModule(path, x.name, x.shape);
      return;
    }
    default:
      callModule(addModule("act", random.pick(kModules)), x.name, x.shape);
    }
  }

  void addNorm() {
    Value x = *findAny();
    if (random.oneIn(2)) {
      int64_t size = x.shape.back();
      std::string path = addModule("ln", llvm::formatv("LayerNorm(normalized_shape=({0},))", size).str());
      addTensor("parameter", path + ".weight", {size}, 0.5, 1.5);
      addTensor("parameter", path + ".bias", {size}, -0.3, 0.3);
      callModule(path, x.name, x.shape);
    } else if (x.shape.size() == 4 && x.shape[2] * x.shape[3] >= 9) {
      callModule(addModule("norm", llvm::formatv("InstanceNorm2d(num_features={0})", x.shape[1]).str()), x.name, x.shape);
    }
  }

  void addReshape() {
    const Value *found = find([](const Value &value) { return value.shape.size() >= 3; });
    if (!found)
      return;
    Value x = *found;
    int64_t rest = 1;
    for (size_t i = 1; i < x.shape.size(); ++i)
      rest *= x.shape[i];
    Shape shape = {x.shape[0], rest};
    if (rest > 4096)
      return;
    switch (random.below(4)) {
    case 0:
      call("flat", "call_function[torch.flatten](%" + x.name + ", 1)", shape);
      return;
    case 1: {
      std::string size = freshName("size");
      body += llvm::formatv("  %{0} = call_method[size](%{1}, 0)\n", size, x.name).str();
      call("flat", llvm::formatv("call_method[reshape](%{0}, %{1}, -1)", x.name, size).str(), shape);
      return;
    }
    case 2: {
      std::string size = freshName("shape"), first = freshName("first");
      body += llvm::formatv("  %{0} = call_function[builtins.getattr](%{1}, \"shape\")\n", size, x.name).str();
      body += llvm::formatv("  %{0} = call_function[operator.getitem](%{1}, 0)\n", first, size).str();
      call("flat", llvm::formatv("call_method[reshape](%{0}, %{1}, -1)", x.name, first).str(), shape);
      return;
    }
    default:
      call("flat", llvm::formatv("call_method[reshape](%{0}, {1}, {2})", x.name, shape[0], shape[1]).str(), shape);
    }
  }

  void addMovement() {
    Value x = *findAny();
    size_t rank = x.shape.size();
    switch (random.below(4)) {
    case 0: {
      Shape shape = x.shape;
      shape.push_back(1);
      if (rank < 4)
        call("move", "call_method[unsqueeze](%" + x.name + ", -1)", shape);
      return;
    }
    case 1:
      if (x.shape.back() == 1 && rank > 2)
        call("move", "call_method[squeeze](%" + x.name + ", -1)", Shape(x.shape.begin(), x.shape.end() - 1));
      return;
    case 2: {
      Shape shape = x.shape;
      std::swap(shape[rank - 1], shape[rank - 2]);
      call("move", random.oneIn(2) ? "call_method[transpose](%" + x.name + ", -1, -2)" : "call_function[torch.transpose](%" + x.name + ", -2, -1)",
           shape);
      return;
    }
    default:
      if (rank == 4)
        call("move", "call_method[permute](%" + x.name + ", 0, 2, 3, 1)", {x.shape[0], x.shape[2], x.shape[3], x.shape[1]});
    }
  }

  void addSlice() {
    const Value *found = find([](const Value &value) { return value.shape.size() >= 2 && value.shape[1] >= 2; });
    if (!found)
      return;
    Shape shape = found->shape;
    int64_t count = random.between(1, shape[1] - 1);
    shape[1] = count;
    call("slice",
         llvm::formatv("call_function[operator.getitem](%{0}, (slice(None, None, None), slice(None, {1}, None)))", found->name, count).str(),
         shape);
  }

  void addMean() {
    const Value *found = find([](const Value &value) { return value.shape.size() == 4; });
    if (!found)
      return;
    bool keeps = random.oneIn(2);
    Shape shape = keeps ? Shape{found->shape[0], found->shape[1], 1, 1} : Shape{found->shape[0], found->shape[1]};
    call("mean", llvm::formatv(random.oneIn(2) ? "call_method[mean](%{0}, [2, 3], keepdim={1})" : "call_function[torch.mean](%{0}, (2, 3), {1})",
                               found->name, keeps ? "True" : "False")
                     .str(),
         shape);
  }

  void addInterpolate() {
    const Value *found = find([](const Value &value) { return value.shape.size() == 4 && value.shape[2] <= 8 && value.shape[3] <= 8; });
    if (!found)
      return;
    Shape shape = {found->shape[0], found->shape[1], found->shape[2] * 2, found->shape[3] * 2};
    call("resize", llvm::formatv("call_function[torch.nn.functional.interpolate](%{0}, size=None, scale_factor=2.0, mode=\"nearest\", "
                                 "align_corners=None, recompute_scale_factor=None, antialias=False)",
                                 found->name)
                       .str(),
         shape);
  }

  void addMatmul() {
    const Value *found = find([](const Value &value) { return value.shape.size() == 2 || value.shape.size() == 3; });
    if (!found)
      return;
    Value x = *found;
    Shape shape = x.shape;
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    std::string other = call("turned", "call_method[transpose](%" + x.name + ", -2, -1)", shape);
    shape = x.shape;
    shape.back() = shape[shape.size() - 2];
    call("matmul", llvm::formatv("call_function[torch.matmul](%{0}, %{1})", x.name, other).str(), shape);
  }

  // --- the end

  RandomModel finish() {
    std::vector<std::string> results = {values.back().name};
    while (random.oneIn(3))
      results.push_back(random.pick(values).name);
    std::string returned = "%" + results[0];
    if (results.size() > 1 || random.oneIn(6)) {
      std::string list;
      bool isDict = random.oneIn(4);
      for (const std::string &result : results)
        list += (list.empty() ? "" : ", ") + (isDict ? "\"r" + std::to_string(list.size()) + "\": %" : std::string("%")) + result;
      returned = isDict ? "{" + list + "}" : random.oneIn(2) ? "[" + list + "]" : results.size() == 1 ? "(" + list + ",)" : "(" + list + ")";
    }
    std::string header;
    for (const auto &[name, shape] : model.inputs)
      header += (header.empty() ? "%" : ", %") + name + " : f32[" + formatShape(shape) + "]";
    model.text = "qfx 1\n" + declarations + "\ngraph(" + header + ") {\n" + body + "  return " + returned + "\n}\n";
    return std::move(model);
  }

  struct ModuleUse {
    std::string path;
    Shape inputShape, outputShape = {}; ///< empty: not to be called again
  };

  Random &random;
  RandomModel model;
  std::string declarations, body;
  std::vector<Value> values;
  std::vector<ModuleUse> modules;
  unsigned nextName = 0, nextSeed = 1;
};

} // namespace

RandomModel makeRandomModel(Random &random, unsigned maxSteps) { return Builder(random).run(maxSteps); }

} // namespace qfx::fuzz
