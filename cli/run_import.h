#pragma once

#include <functional>
#include <string>

#include "context.h"
#include "input_files.h"

namespace timelake::cli {

// ImportFiles or CreateAndImport with all but these arguments bound.
using ImportCall =
    std::function<Result<ImportResult>(const ImportOptions&, ImportResult* committed)>;

// Runs one import with a progress bar, stops it on Ctrl-C, and reports what it did; after an error,
// what is in the table all the same.
Status RunImport(Context* context, const std::string& table, bool json, const InputFiles& files,
                 ImportOptions options, const ImportCall& call);

}  // namespace timelake::cli
