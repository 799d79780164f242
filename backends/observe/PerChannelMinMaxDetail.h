// Smallest and largest value of each channel of a tensor; private to observe/.
#ifndef BACKENDS_OBSERVE_PERCHANNELMINMAXDETAIL_H
#define BACKENDS_OBSERVE_PERCHANNELMINMAXDETAIL_H

#include "backends/observe/Observer.h"

namespace qfx {

struct ChannelMinMax {
  std::vector<float> mins, maxs;
};

/// A dense tensor as memory sees it: [outer, channels, inner].  Dense data in any order of dimensions has this form.
struct ChannelLayout {
  int64_t outer, channels, inner;
};
/// \param input  not empty, dense in some order of its dimensions.
/// \param axis   within the rank, not negative.
ChannelLayout getChannelLayout(const ObservedTensor &input, int64_t axis);

/// \param input  not empty, dense in some order of its dimensions.
/// \param axis   may be negative; outside the rank is an error.
llvm::Expected<ChannelMinMax> findChannelMinMax(const Module &observer, const ObservedTensor &input, int64_t axis);

} // namespace qfx

#endif // BACKENDS_OBSERVE_PERCHANNELMINMAXDETAIL_H
