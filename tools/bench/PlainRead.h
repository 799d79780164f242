// Reading memory and doing nothing with it: the measure of loops that are bound by memory.
#ifndef TOOLS_BENCH_PLAINREAD_H
#define TOOLS_BENCH_PLAINREAD_H

#include <cstdint>

namespace qfx::bench {

/// Loads n floats with the widest loads that this processor runs at full speed, into registers.
void readPlain(const float *src, int64_t n);
/// The AVX2 form: 32 bytes a load, four in flight.
void readPlainAvx2(const float *src, int64_t n);

} // namespace qfx::bench

#endif // TOOLS_BENCH_PLAINREAD_H
