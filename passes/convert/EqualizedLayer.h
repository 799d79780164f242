// A layer that convert equalizes: where its weight and bias lie, its scale, and what the scale changes.
#ifndef PASSES_CONVERT_EQUALIZEDLAYER_H
#define PASSES_CONVERT_EQUALIZEDLAYER_H

#include "passes/equalize/EqualizableCalls.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace qfx {

/// Weight and bias of one equalizable call.
struct LayerWeights {
  std::string problem; ///< why they cannot be changed for this call alone; empty if they can
  ModuleRef owner;     ///< module whose tensors `weight` and `bias` are; the functions' tensors lie under root paths instead
  std::string weightPath, biasPath; ///< of a function; no bias: empty
  ModuleRef weightObserver;         ///< of a function: forgets what it saw when the weight changes; may be null
  bool hasEqualization = true;      ///< of a function: its weight has an equalization observer, without which the scale is 1
  int64_t groups = 1;

  const Tensor *findWeight(const GraphModule &model) const;
  const Tensor *findBias(const GraphModule &model) const;
};

struct EqualizedLayer {
  LayerWeights weights;
  std::vector<float> scale;         ///< per input channel; empty: 1, nothing was observed
  std::vector<int64_t> shape;       ///< in which the scale meets the input: [1, .., channels, .., 1]
  int64_t axis = 1;                 ///< where the channels stand in it
  std::vector<float> mins, maxs;    ///< of the input, per channel
};

LayerWeights findLayerWeights(const GraphModule &model, const Node &call);

/// The scale of `call` from its input's equalization observer and its weight.  Errors: other columns than the weight has
/// (`equalization_columns`).
llvm::Expected<EqualizedLayer> measureLayer(const Module &inputObserver, const Node &call, LayerWeights weights, const GraphModule &model);

/// The equalizable call whose result `source` is, or the relu of: scaling its rows scales `source`.  Null if there is none or others read it.
Node *findScalableProducer(const GraphModule &model, Node &source);

/// Are the producer's output channels the layer's input channels?
bool takesScale(const LayerWeights &producer, const Node &producerCall, const EqualizedLayer &layer, const GraphModule &model);

/// Columns divided by the scale; rows and bias multiplied by it.  A functional weight's observer forgets what it saw.
llvm::Error divideWeight(GraphModule &model, const EqualizedLayer &layer);
llvm::Error multiplyOutput(GraphModule &model, const LayerWeights &producer, llvm::ArrayRef<float> scale);

/// The range of an observer becomes that of the scaled values, whatever class it has: min_val and max_val are replaced as PyTorch replaces
/// them (a histogram's counts stay).  Observers without a range stay.  Error: `equalization_observer`.
llvm::Error scaleObservedRange(Module &observer, const EqualizedLayer &layer, const Location &loc);

} // namespace qfx

#endif // PASSES_CONVERT_EQUALIZEDLAYER_H
