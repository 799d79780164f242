// Which instruction sets this processor has, and which one the kernels use.
#ifndef KERNELS_ISA_ISA_H
#define KERNELS_ISA_ISA_H

#include <cstdint>
#include <string_view>

namespace qfx::kernels {

/// Instruction sets, oldest first within an architecture; a kernel table's last supported row wins.
enum class Isa : uint8_t { Scalar, Avx2, AvxVnni, Avx512Vnni, NeonDot };

/// The spelling used by QFX_ISA and --isa: scalar, avx2, avxvnni, avx512vnni, neondot.
std::string_view getIsaName(Isa isa);

/// \returns true and sets `isa` if `name` is one of the spellings above.
bool parseIsa(std::string_view name, Isa &isa);

/// Whether this processor (and its operating system) can run `isa`.
bool isIsaSupported(Isa isa);

/// The instruction set in force: the best supported one, unless QFX_ISA (read once) or a live ScopedIsa names another.
/// A QFX_ISA that this processor lacks or that has no meaning is ignored; the tools report it.
Isa getCurrentIsa();

/// Whether a kernel written for `kernelIsa` may run when `current` is in force (Avx2 kernels run under Avx512Vnni, ...).
bool isIsaUsable(Isa kernelIsa, Isa current);

/// Forces an instruction set for this object's lifetime; not thread safe, meant for tests and `--isa`.
class ScopedIsa {
public:
  explicit ScopedIsa(Isa isa);
  ~ScopedIsa();
  ScopedIsa(const ScopedIsa &) = delete;
  ScopedIsa &operator=(const ScopedIsa &) = delete;

private:
  int previous;
};

} // namespace qfx::kernels

#endif // KERNELS_ISA_ISA_H
