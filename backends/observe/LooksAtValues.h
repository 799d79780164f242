// Which observers look at values at all.
#ifndef BACKENDS_OBSERVE_LOOKSATVALUES_H
#define BACKENDS_OBSERVE_LOOKSATVALUES_H

namespace qfx {

class Module;

/// False for placeholders, fixed parameters and their like: any tensor may pass them.  Asserts isObserver.
bool looksAtValues(const Module &observer);

} // namespace qfx

#endif // BACKENDS_OBSERVE_LOOKSATVALUES_H
