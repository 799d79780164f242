// Graph mode does not know eager mode's markers: what FX's tracer would not have recorded is taken out.
#ifndef PASSES_EAGER_DROPMARKERS_H
#define PASSES_EAGER_DROPMARKERS_H

namespace qfx {

class GraphModule;

/// Removes the calls of QuantStub and DeQuantStub (whose forward FX's tracer follows: it returns its input) and of FloatFunctional's Identity
/// (prepare_fx swaps FloatFunctional for FXFloatFunctional first, workflow 4.1).  Names of other nodes stay.  \returns whether any was there.
bool dropEagerMarkers(GraphModule &model);

} // namespace qfx

#endif // PASSES_EAGER_DROPMARKERS_H
