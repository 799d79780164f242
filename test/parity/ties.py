"""Why a run leaves PyTorch's codes: the first quantized values that differ, and whether each lies at a tie (spec/operators.md 1.1, level T1).

Everything behind a differing code may differ; a difference whose operands all equal PyTorch's is an origin. An image is tied when it has
origins and all of them are proven: one step apart, and the unrounded value within 1e-4 of a step from the tie."""
import numpy

import exact


def _from_tie(value):
    """Distance of values in steps from the nearest half step."""
    return abs(value - numpy.floor(value) - 0.5)


def differing(statements, recorded, found):
    """[(statement, mask of the codes that differ)] of origins. `recorded` and `found` map node names to tensors (recordings.read_tensors)."""
    tainted, origins = set(), []
    for statement in statements:
        name = statement.name
        if any(use in tainted for use in statement.uses()):
            tainted.add(name)
            continue
        theirs, ours = recorded.get(name), found.get(name)
        if theirs is None or theirs.scale is None or ours is None:
            continue
        differs = theirs.codes != ours.codes if theirs.codes.shape == ours.codes.shape else numpy.ones(theirs.codes.shape, bool)
        if differs.any():
            tainted.add(name)
            origins.append((statement, differs))
    return origins


def is_tie(statement, target, recorded, found, differs):
    """Do the codes of one origin differ at ties only? `target` is what it calls (replay.get_targets)."""
    theirs, ours = recorded[statement.name], found[statement.name]
    if theirs.codes.shape != ours.codes.shape or abs(theirs.codes.astype(numpy.int64) - ours.codes.astype(numpy.int64)).max() > 1:
        return False
    if statement.target.endswith("quantize_per_tensor"):
        source = statement.uses()[0]  # floats behind equal codes: both sides must stand at the tie
        values = [side[source].codes.astype(numpy.float64)[differs] / theirs.scale for side in (recorded, found) if source in side]
        return len(values) == 2 and all((_from_tie(value) <= exact.TIE).all() for value in values)
    return exact.differs_at_ties(statement, target, recorded, differs)


def explain(statements, targets, recorded, found):
    """(names of proven origins, names of the others) of one image."""
    origins = differing(statements, recorded, found)
    proven = [s.name for s, differs in origins if is_tie(s, targets[s.name], recorded, found, differs)]
    return proven, [s.name for s, _ in origins if s.name not in proven]
