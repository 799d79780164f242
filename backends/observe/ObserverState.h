// The state of all observers of a model as one dictionary under PyTorch's keys.
#ifndef BACKENDS_OBSERVE_OBSERVERSTATE_H
#define BACKENDS_OBSERVE_OBSERVERSTATE_H

#include "backends/observe/Observer.h"

#include <string>
#include <utility>
#include <vector>

namespace qfx {

/// get_observer_state_dict (numerics 3.12): every entry of the model's state dict whose key contains "activation_post_process", in the order
/// of the module tree ("activation_post_process_0.min_val", "conv.weight_fake_quant.activation_post_process.eps").
std::vector<std::pair<std::string, Tensor>> getObserverStateDict(const Module &root);

struct LoadObserverOptions {
  /// PyTorch's function forgets the version of what it loads and so sets every eps to 2^-23; we keep the stored one.
  bool resetsEps = false;
};

/// load_observer_state_dict: writes the entries of each observer and fake-quantizer of the model into its buffers.  Shapes are taken as
/// stored where a class has buffers of no fixed length (per channel, scale, zero_point); per-channel entries under the old names `min_vals` and
/// `max_vals` are read too.  Keys of other modules are ignored; observers without entries keep their state.
/// Errors, before anything is changed (`observer_state`): an entry of an observer whose key, dtype or shape the class does not have, an eps that is
/// not above 0, counts that are negative or not finite.
llvm::Error loadObserverStateDict(Module &root, llvm::ArrayRef<std::pair<std::string, Tensor>> entries, LoadObserverOptions options = {});

/// Is the state of every observer and fake-quantizer below `root` one that its class can have: the class's buffers with their dtypes and shapes,
/// and values that data can leave?  To be asked of models from outside before state is read.  Errors: all that is wrong (`observer_state`).
llvm::Error checkObserverStates(const Module &root);

} // namespace qfx

#endif // BACKENDS_OBSERVE_OBSERVERSTATE_H
