#pragma once

#include "context.h"

namespace CLI {
class App;
}

namespace timelake::cli {

// Each adds one command, from the file of that name; when it is on the command line, it becomes
// `context->action`. The context must outlive the parser.
void AddCreate(CLI::App* app, Context* context);
void AddAppend(CLI::App* app, Context* context);
void AddImport(CLI::App* app, Context* context);
void AddSql(CLI::App* app, Context* context);
void AddLatest(CLI::App* app, Context* context);
void AddInfo(CLI::App* app, Context* context);
void AddLs(CLI::App* app, Context* context);
void AddSnapshots(CLI::App* app, Context* context);
void AddFiles(CLI::App* app, Context* context);
void AddAlter(CLI::App* app, Context* context);
void AddSettings(CLI::App* app, Context* context);
void AddDelete(CLI::App* app, Context* context);
void AddRollback(CLI::App* app, Context* context);
void AddRollup(CLI::App* app, Context* context);
void AddMaintain(CLI::App* app, Context* context);
void AddPublish(CLI::App* app, Context* context);
void AddRelocate(CLI::App* app, Context* context);
void AddVerify(CLI::App* app, Context* context);
void AddDrop(CLI::App* app, Context* context);
void AddDuckdb(CLI::App* app, Context* context);

}  // namespace timelake::cli
