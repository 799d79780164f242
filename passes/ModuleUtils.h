// Making a module of one class from a module of another.
#ifndef PASSES_MODULEUTILS_H
#define PASSES_MODULEUTILS_H

#include "ir/Module.h"

namespace qfx {

/// A module of class `target` with every attribute and tensor of `source` that the class knows; training flag and place copied.
/// This is what PyTorch's from_float and from_reference do apart from the numbers they add.
ModuleRef makeModuleFrom(const TargetInfo &target, const Module &source);

} // namespace qfx

#endif // PASSES_MODULEUTILS_H
