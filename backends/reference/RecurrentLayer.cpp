// Layers over sequences: the loop over layers, directions and time steps.
#include "backends/reference/RecurrentLayer.h"

#include "backends/reference/RecurrentDetail.h"
#include "backends/runtime/BindHelpers.h"

#include <algorithm>
#include <cstring>

namespace qfx::runtime {

namespace {

/// The products of one layer in one direction.
struct Direction {
  ProductRef input, hidden, projection; ///< projection: null unless the layer has one
};

struct LayerPlan {
  kernels::CellKind kind;
  kernels::CellFn cell;
  int64_t steps, batch, hidden, state; ///< T, N, H, and the size of h: H, or that of the projection
  int64_t rowOfStep, rowOfItem;        ///< row of (t, n) in input and output
  View lengths;                        ///< i64 [N], steps of each row; empty: all have T
  std::vector<std::vector<Direction>> layers;

  int64_t getGates() const { return kernels::getNumGates(kind) * hidden; }
  int64_t getRows() const { return steps * batch; }
  int64_t getDirections() const { return static_cast<int64_t>(layers[0].size()); }
  int64_t getWidth() const { return getDirections() * state; }
  /// Has row n a step t?  \param counts  the lengths' elements, null if all rows are full.
  static bool isInside(const int64_t *counts, int64_t t, int64_t n) { return !counts || t < counts[n]; }
  bool hasProjection() const { return layers[0][0].projection != nullptr; }
};

/// Where the parts of the workspace begin, in bytes.
struct Workspace {
  int64_t inputGates, hiddenGates, unprojected, present, between[2], shared, size;

  explicit Workspace(const LayerPlan &plan) {
    int64_t end = 0;
    auto take = [&](int64_t bytes) {
      int64_t begin = end;
      end += (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
      return begin;
    };
    auto floats = [](int64_t count) { return count * static_cast<int64_t>(sizeof(float)); };
    inputGates = take(floats(plan.getRows() * plan.getGates()));
    hiddenGates = take(floats(plan.batch * plan.getGates()));
    present = take(plan.lengths ? floats(plan.batch * plan.state) : 0);
    unprojected = take(plan.hasProjection() ? floats(plan.batch * plan.hidden) : 0);
    for (size_t i = 0; i < 2; ++i)
      between[i] = take(plan.layers.size() > i + 1 ? floats(plan.getRows() * plan.getWidth()) : 0);
    int64_t most = 0;
    for (const auto &layer : plan.layers)
      for (const Direction &direction : layer) {
        most = std::max(
            {most, direction.input->getSharedBytes(plan.getRows()), direction.hidden->getSharedBytes(plan.batch)});
        if (direction.projection)
          most = std::max(most, direction.projection->getSharedBytes(plan.batch));
      }
    shared = take(most);
    size = end;
  }
};

/// States of one layer and direction, each row-major [N, H or P].
struct States {
  float *hidden, *cell; ///< cell: null unless LSTM
};

} // namespace

static int64_t getScratchBytes(const LayerPlan &plan, int threads) {
  int64_t most = 0;
  for (const auto &layer : plan.layers)
    for (const Direction &direction : layer) {
      most = std::max({most, direction.input->getScratchBytes(plan.getRows(), threads),
                       direction.hidden->getScratchBytes(plan.batch, threads)});
      if (direction.projection)
        most = std::max(most, direction.projection->getScratchBytes(plan.batch, threads));
    }
  return most;
}

/// All time steps of one layer in one direction.  \param dst  f32 [rows, directions * P]: column 0 of this direction.
static void runDirection(RunContext &run, const LayerPlan &plan, const Workspace &space, const Direction &direction,
                         bool isReverse, std::byte *work, const float *src, float *dst, States states) {
  auto *inputGates = reinterpret_cast<float *>(work + space.inputGates);
  auto *hiddenGates = reinterpret_cast<float *>(work + space.hiddenGates);
  std::byte *shared = work + space.shared;
  const int64_t gates = plan.getGates();
  float *fresh = direction.projection ? reinterpret_cast<float *>(work + space.unprojected) : states.hidden;
  const int64_t *counts = plan.lengths ? plan.lengths.getData<int64_t>() : nullptr;
  auto *present = counts ? reinterpret_cast<float *>(work + space.present) : states.hidden;
  direction.input->multiply(run, src, plan.getRows(), inputGates, shared);
  for (int64_t step = 0; step < plan.steps; ++step) {
    const int64_t t = isReverse ? plan.steps - 1 - step : step;
    if (counts) // rows without this step do not take part in a product: it may measure the range of what goes in
      for (int64_t n = 0; n < plan.batch; ++n)
        for (int64_t i = 0; i < plan.state; ++i)
          present[n * plan.state + i] = plan.isInside(counts, t, n) ? states.hidden[n * plan.state + i] : 0.0f;
    direction.hidden->multiply(run, present, plan.batch, hiddenGates, shared);
    run.parallelFor(plan.batch, getCellGrain(plan.hidden), [&](int64_t begin, int64_t end, void *) {
      for (int64_t n = begin; n < end; ++n) {
        if (!plan.isInside(counts, t, n)) {
          if (direction.projection)
            std::fill_n(fresh + n * plan.hidden, plan.hidden, 0.0f);
          continue;
        }
        kernels::CellArgs args;
        args.input = inputGates + (t * plan.rowOfStep + n * plan.rowOfItem) * gates;
        args.hidden = hiddenGates + n * gates;
        args.cell = states.cell ? states.cell + n * plan.hidden : nullptr;
        args.dst = fresh + n * plan.hidden;
        args.state = states.cell ? args.cell : args.dst;
        plan.cell(plan.hidden, args);
      }
    });
    if (direction.projection) {
      direction.projection->multiply(run, fresh, plan.batch, present, shared);
      for (int64_t n = 0; counts && n < plan.batch; ++n)
        if (plan.isInside(counts, t, n))
          std::copy_n(present + n * plan.state, plan.state, states.hidden + n * plan.state);
    }
    for (int64_t n = 0; n < plan.batch; ++n) {
      float *to = dst + (t * plan.rowOfStep + n * plan.rowOfItem) * plan.getWidth();
      if (plan.isInside(counts, t, n))
        std::copy_n(states.hidden + n * plan.state, plan.state, to);
      else
        std::fill_n(to, plan.state, 0.0f);
    }
  }
}

/// Reads sizes and products; the input is [T, N, F], [N, T, F] or [T, F], or [T, N, F] with the lengths of its rows.
static llvm::Expected<LayerPlan> planLayer(BindContext &context, kernels::CellKind kind, const View &input,
                                           const View &lengths, TensorLookup find, ProductMaker make) {
  auto layers = context.attrs().getInt("num_layers");
  auto isBatchFirst = context.attrs().getBool("batch_first");
  auto isBidirectional = context.attrs().getBool("bidirectional");
  if (!layers)
    return llvm::joinErrors(layers.takeError(),
                            llvm::joinErrors(isBatchFirst.takeError(), isBidirectional.takeError()));
  if (!isBatchFirst)
    return llvm::joinErrors(isBatchFirst.takeError(), isBidirectional.takeError());
  if (!isBidirectional)
    return isBidirectional.takeError();
  LayerPlan plan = {};
  plan.lengths = lengths;
  plan.kind = kind;
  plan.cell = kernels::selectCell(kind);
  bool isBatched = input.getRank() == 3, itemsFirst = isBatched && *isBatchFirst && !lengths;
  plan.steps = input.sizes[itemsFirst ? 1 : 0];
  plan.batch = isBatched ? input.sizes[itemsFirst ? 0 : 1] : 1;
  plan.rowOfStep = itemsFirst ? 1 : plan.batch;
  plan.rowOfItem = itemsFirst ? plan.steps : 1;
  for (int64_t layer = 0; layer < *layers; ++layer) {
    plan.layers.emplace_back();
    for (bool isReverse : {false, true}) {
      if (isReverse && !*isBidirectional)
        break;
      std::string suffix = "_l" + std::to_string(layer) + (isReverse ? "_reverse" : "");
      Direction direction;
      for (auto [name, product] : {std::pair("ih", &direction.input), std::pair("hh", &direction.hidden),
                                   std::pair("hr", &direction.projection)}) {
        std::string weightName = std::string("weight_") + name + suffix;
        Tensor weight = find(weightName);
        if (!weight && product == &direction.projection)
          break;
        if (!weight)
          return context.fail("its weight '{0}' is missing", weightName);
        auto made = make(weightName, weight, find(std::string("bias_") + name + suffix));
        if (!made)
          return made.takeError();
        *product = std::move(*made);
      }
      plan.layers.back().push_back(std::move(direction));
    }
  }
  if (plan.layers.empty())
    return context.fail("needs at least one layer, got {0}", *layers);
  const int64_t gates = kernels::getNumGates(kind);
  plan.hidden = plan.layers[0][0].hidden->getOutputs() / gates;
  plan.state = plan.layers[0][0].hidden->getInputs();
  for (size_t layer = 0; layer < plan.layers.size(); ++layer)
    for (const Direction &direction : plan.layers[layer]) {
      int64_t features = layer ? plan.getWidth() : input.sizes.back();
      const Product *projection = direction.projection.get();
      if (!(direction.input->getInputs() == features && direction.input->getOutputs() == gates * plan.hidden &&
            direction.hidden->getInputs() == plan.state && direction.hidden->getOutputs() == gates * plan.hidden &&
            (projection ? projection->getInputs() == plan.hidden && projection->getOutputs() == plan.state
                        : plan.state == plan.hidden)))
        return context.fail("the weights of layer {0} do not fit {1} features and {2} hidden units", layer, features,
                            plan.hidden);
    }
  return plan;
}

llvm::Expected<RuntimeValue> emitRecurrentLayer(BindContext &context, kernels::CellKind kind, TensorLookup find,
                                                ProductMaker make) {
  View src, lengths;
  if (RuntimeValue given = context.getValue("input"); given.kind == RuntimeValue::Kind::Dict) {
    src = context.toOrder(given.elements[0].view, StorageOrder::RowMajor);
    lengths = context.toOrder(given.elements[1].view, StorageOrder::RowMajor);
  } else {
    llvm::Expected<View> input = getFloatTensor(context, "input");
    if (!input)
      return input.takeError();
    src = context.toOrder(*input, StorageOrder::RowMajor);
  }
  llvm::Expected<LayerPlan> plan = planLayer(context, kind, src, lengths, find, make);
  if (!plan)
    return plan.takeError();
  bool hasCell = kind == kernels::CellKind::Lstm;
  llvm::Expected<RecurrentResult> result = allocateResult(context, hasCell);
  if (!result)
    return result.takeError();
  result->lengths = lengths;
  llvm::Expected<InitialStates> initial = getInitialStates(context, hasCell);
  if (!initial)
    return initial.takeError();
  Workspace space(*plan);
  View work = allocateBytes(context, space.size);
  llvm::SmallVector<const View *, 4> reads = {&src}, writes = {&result->output, &result->hidden, &work};
  initial->appendTo(reads);
  if (lengths)
    reads.push_back(&lengths);
  if (hasCell)
    writes.push_back(&result->cell);
  StepTraits traits;
  traits.scratchBytes = getScratchBytes(*plan, context.getThreads());
  context.emit(
      reads, writes,
      [src, result = *result, initial = *initial, work, space, plan = *plan](RunContext &run) {
        initial.copyTo(result.hidden, result.cell);
        const int64_t stateSize = plan.batch * plan.state, cellSize = plan.batch * plan.hidden;
        const float *from = src.getData<float>();
        for (size_t layer = 0; layer < plan.layers.size(); ++layer) {
          bool isLast = layer + 1 == plan.layers.size();
          float *to = isLast ? result.output.getData<float>()
                             : reinterpret_cast<float *>(work.getBytes() + space.between[layer % 2]);
          for (size_t d = 0; d < plan.layers[layer].size(); ++d) {
            auto index = static_cast<int64_t>(layer * plan.layers[layer].size() + d);
            States states = {result.hidden.getData<float>() + index * stateSize,
                             result.cell ? result.cell.getData<float>() + index * cellSize : nullptr};
            runDirection(run, plan, space, plan.layers[layer][d], d == 1, work.getBytes(), from,
                         to + static_cast<int64_t>(d) * plan.state, states);
          }
          from = to;
        }
      },
      traits);
  return result->toValue();
}

} // namespace qfx::runtime
