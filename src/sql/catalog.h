#pragma once

#include <memory>

namespace duckdb {
struct DBConfig;
}

namespace timelake::sql {

class LakeContext;

// Makes `ATTACH '' AS lake (TYPE timelake)` attach this lake. Call before the database is opened.
void RegisterCatalog(duckdb::DBConfig& config, std::shared_ptr<LakeContext> lake);

}  // namespace timelake::sql
