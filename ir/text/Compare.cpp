// Structural equality of models, with the first difference in words.
#include "ir/Ops.h"
#include "ir/text/PrinterDetail.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <map>

namespace qfx {

namespace {

class Comparison {
public:
  Comparison(const GraphModule &a, const GraphModule &b) : a(a), b(b) {}

  bool run() { return compareModules("", a.getRoot(), b.getRoot()) && compareMeta() && compareGraphs(); }
  std::string takeReason() { return std::move(reason); }

private:
  template <class... Args> bool differ(const char *format, Args &&...args) {
    reason = llvm::formatv(format, std::forward<Args>(args)...).str();
    return false;
  }

  /// Names nodes instead of pointing at them, so that arguments of two graphs compare.
  static std::string describe(const Argument &argument) { return toString(argument, ArgumentStyle::Qfx); }
  static bool equal(const Argument &x, const Argument &y) {
    auto nameNodes = [](Node *node) { return Argument("%" + node->getName()); };
    return x.mapNodes(nameNodes) == y.mapNodes(nameNodes);
  }

  static bool equal(const Tensor &x, const Tensor &y) {
    if (x.equals(y))
      return true;
    if (!x || !y || !(x.getType() == y.getType()) || !isFloat(x.getDType()) || getDTypeInfo(x.getDType()).bits < 16)
      return false;
    for (int64_t i = 0, n = x.getNumElements(); i < n; ++i) {
      double p = x.getElementAsDouble(i), q = y.getElementAsDouble(i);
      bool same = std::isnan(p) ? std::isnan(q) : p == q && std::signbit(p) == std::signbit(q);
      if (!same)
        return false;
    }
    return true;
  }

  bool compareTensors(const std::string &path, const Module &x, const Module &y, bool isParameter) {
    const auto &xs = isParameter ? x.getParameters() : x.getBuffers();
    const auto &ys = isParameter ? y.getParameters() : y.getBuffers();
    llvm::StringRef what = isParameter ? "parameters" : "buffers";
    if (xs.size() != ys.size())
      return differ("'{0}' has {1} {2} in one and {3} in the other", path, xs.size(), what, ys.size());
    for (const auto &[name, tensor] : xs) {
      auto it = llvm::find_if(ys, [&, &key = name](const auto &entry) { return entry.first == key; });
      std::string tensorPath = joinPath(path, name);
      if (it == ys.end())
        return differ("only one has '{0}' among the {1}", tensorPath, what);
      if (!equal(tensor, it->second))
        return differ("'{0}' has other data: {1} and {2}", tensorPath, toString(tensor.getType()),
                      toString(it->second.getType()));
      if (!isTiable(tensor, isParameter))
        continue;
      std::string xFirst = xTensors.try_emplace(getIdentity(tensor), tensorPath).first->second;
      std::string yFirst = yTensors.try_emplace(getIdentity(it->second), tensorPath).first->second;
      if (xFirst != yFirst)
        return differ("'{0}' is tied to '{1}' in one and to '{2}' in the other", tensorPath, xFirst, yFirst);
    }
    return true;
  }

  using Identity = std::tuple<Tensor::Place, DType, std::vector<int64_t>>;
  static Identity getIdentity(const Tensor &tensor) {
    return {tensor.getPlace(), tensor.getDType(), {tensor.getSizes().begin(), tensor.getSizes().end()}};
  }

  bool compareModules(const std::string &path, const Module &x, const Module &y) {
    auto [xIt, xIsNew] = xModules.try_emplace(&x, path);
    auto [yIt, yIsNew] = yModules.try_emplace(&y, path);
    if (xIt->second != yIt->second)
      return differ("'{0}' is the module '{1}' in one and '{2}' in the other", path, xIt->second, yIt->second);
    if (!xIsNew)
      return true;
    if (x.getClassName() != y.getClassName() || x.getClass() != y.getClass())
      return differ("'{0}' is a {1} in one and a {2} in the other", path, x.getClassName(), y.getClassName());
    if (x.isTraining() != y.isTraining())
      return differ("'{0}' is training in one only", path);
    if (x.getAttributes().size() != y.getAttributes().size())
      return differ("'{0}' has {1} attributes in one and {2} in the other", path, x.getAttributes().size(),
                    y.getAttributes().size());
    for (const auto &[p, q] : llvm::zip(x.getAttributes(), y.getAttributes()))
      if (p.first != q.first || !equal(p.second, q.second))
        return differ("'{0}' has {1}={2} in one and {3}={4} in the other", path, p.first, describe(p.second), q.first,
                      describe(q.second));
    if (!compareTensors(path, x, y, /*isParameter=*/true) || !compareTensors(path, x, y, /*isParameter=*/false))
      return false;
    if (x.getChildren().size() != y.getChildren().size())
      return differ("'{0}' has {1} children in one and {2} in the other", path, x.getChildren().size(),
                    y.getChildren().size());
    for (const auto &[p, q] : llvm::zip(x.getChildren(), y.getChildren())) {
      if (p.first != q.first)
        return differ("'{0}' has the child '{1}' in one where the other has '{2}'", path, p.first, q.first);
      if (!compareModules(joinPath(path, p.first), *p.second, *q.second))
        return false;
    }
    return true;
  }

  bool compareMeta() {
    const auto &xs = a.getMeta(), &ys = b.getMeta();
    if (xs.size() != ys.size())
      return differ("{0} meta entries in one and {1} in the other", xs.size(), ys.size());
    for (const auto &[p, q] : llvm::zip(xs, ys))
      if (p.first != q.first || !equal(p.second, q.second))
        return differ("meta '{0}' is not meta '{1}', or has another value", p.first, q.first);
    return true;
  }

  bool compareNodes(const Node &x, const Node &y) {
    const std::string &name = x.getName();
    if (x.getOpcode() != y.getOpcode() || name != y.getName() || x.getTarget() != y.getTarget() ||
        x.getTargetText() != y.getTargetText())
      return differ("node '{0}' = {1}[{2}] in one, '{3}' = {4}[{5}] in the other", name, getOpcodeName(x.getOpcode()),
                    x.getTargetText(), y.getName(), getOpcodeName(y.getOpcode()), y.getTargetText());
    if (x.getArgs().size() != y.getArgs().size() || x.getKwargs().size() != y.getKwargs().size())
      return differ("node '{0}' has another number of arguments", name);
    for (const auto &[p, q] : llvm::zip(x.getArgs(), y.getArgs()))
      if (!equal(p, q))
        return differ("node '{0}' has the argument {1} in one and {2} in the other", name, describe(p), describe(q));
    for (const auto &[p, q] : llvm::zip(x.getKwargs(), y.getKwargs()))
      if (p.first != q.first || !equal(p.second, q.second))
        return differ("node '{0}' has {1}={2} in one and {3}={4} in the other", name, p.first, describe(p.second), q.first,
                      describe(q.second));
    if (!(x.getScope() == y.getScope()))
      return differ("node '{0}' has another scope", name);
    if (!(x.getType() == y.getType()))
      return differ("node '{0}' has another type", name);
    if (x.getMeta() != y.getMeta())
      return differ("node '{0}' has other meta", name);
    return true;
  }

  bool compareGraphs() {
    const Graph &x = a.getGraph(), &y = b.getGraph();
    if (x.getNumNodes() != y.getNumNodes())
      return differ("{0} nodes in one and {1} in the other", x.getNumNodes(), y.getNumNodes());
    for (auto it = x.nodes().begin(), other = y.nodes().begin(); it != x.nodes().end(); ++it, ++other)
      if (!compareNodes(*it, *other))
        return false;
    return true;
  }

  const GraphModule &a, &b;
  std::string reason;
  llvm::DenseMap<const Module *, std::string> xModules, yModules;
  std::map<Identity, std::string> xTensors, yTensors;
};

} // namespace

bool isIdentical(const GraphModule &a, const GraphModule &b, std::string *why) {
  Comparison comparison(a, b);
  bool same = comparison.run();
  if (why)
    *why = comparison.takeReason();
  return same;
}

} // namespace qfx
