// The histogram tables that each instruction set's file fills.
#ifndef KERNELS_HISTOGRAM_HISTOGRAMDETAIL_H
#define KERNELS_HISTOGRAM_HISTOGRAMDETAIL_H

#include "kernels/histogram/Histogram.h"

namespace qfx::kernels {

#define QFX_HISTOGRAM_TABLE(IsaName, Table) extern const HistogramKernels Table;
#include "kernels/histogram/HistogramKernels.def"

} // namespace qfx::kernels

#endif // KERNELS_HISTOGRAM_HISTOGRAMDETAIL_H
