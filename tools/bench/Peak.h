// The most multiply-add operations an instruction set's dot product sequence does, with nothing else to wait for.
#ifndef TOOLS_BENCH_PEAK_H
#define TOOLS_BENCH_PEAK_H

#include "kernels/isa/Isa.h"

#include <cstdint>

namespace qfx::bench {

/// Runs `rounds` rounds of the sequence on registers; \returns the int8 operations done (2 per multiply-add).
double spinAvx2(int64_t rounds);
double spinAvxVnni(int64_t rounds);
double spinAvx512Vnni(int64_t rounds);
double spinNeonDot(int64_t rounds);

/// The sequence's name for the report: vpmaddubsw+vpmaddwd+vpaddd, vpdpbusd ymm, ...; empty without one.
const char *getPeakSequence(kernels::Isa isa);

/// Best of several short runs on one core, in 1e9 operations per second; 0 without a sequence for `isa`.
double measurePeakGops(kernels::Isa isa);

} // namespace qfx::bench

#endif // TOOLS_BENCH_PEAK_H
