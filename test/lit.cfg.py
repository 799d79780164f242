# Text tests: RUN lines over qfx-opt and qfx-run, checked by FileCheck.
import os

import lit.formats

config.name = "qfx"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".qfx", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.excludes = ["models", "golden", "Inputs", "parity", "fuzz"]
config.environment["PATH"] = os.pathsep.join([config.qfx_bin, config.llvm_bin, os.environ["PATH"]])
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --allow-unused-prefixes=false"
config.substitutions.append(("%models", os.path.join(config.test_source_root, "models")))
config.substitutions.append(("%golden", os.path.join(config.test_source_root, "golden")))
config.substitutions.append(("%source", config.qfx_source))
config.substitutions.append(("%python", config.qfx_python))
if config.qfx_sanitize:
    config.available_features.add("sanitizer")
for variable in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "QFX_ISA"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
