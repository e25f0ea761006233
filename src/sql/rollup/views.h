#pragma once

#include <functional>
#include <memory>
#include <string>

namespace duckdb {
class BaseTableRef;
class ClientContext;
class SelectNode;
class SelectStatement;
class SubqueryRef;
class ViewCatalogEntry;
}  // namespace duckdb

namespace timelake::sql {

class LakeTable;

// The lake's table that a name means; null: it means something else.
using FindTable = std::function<const LakeTable*(
    const std::string& catalog, const std::string& schema, const std::string& name)>;

// The view that a table's name means; null: it is none. `context` within a transaction.
const duckdb::ViewCatalogEntry* FindView(duckdb::ClientContext& context,
                                         const duckdb::BaseTableRef& ref);

// The sub-query that stands for a view, all of whose tables are the lake's and have their full
// names; null: other things are in it.
std::unique_ptr<duckdb::SubqueryRef> ExpandView(duckdb::ClientContext& context,
                                                const duckdb::ViewCatalogEntry& view,
                                                const duckdb::BaseTableRef& ref,
                                                const FindTable& find);

// A query of a view that is SELECT * FROM table [WHERE ...], as one of that table; null: it is
// none.
std::unique_ptr<duckdb::SelectNode> ThroughView(duckdb::ClientContext& context,
                                                const duckdb::ViewCatalogEntry& view,
                                                const duckdb::SelectNode& query,
                                                const FindTable& find);

}  // namespace timelake::sql
