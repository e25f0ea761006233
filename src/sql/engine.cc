#include "sql/engine.h"

#include <atomic>
#include <mutex>
#include <utility>

#include <duckdb/main/client_config.hpp>
#include <duckdb/main/client_context.hpp>
#include <duckdb/main/extension_callback_manager.hpp>
#include <duckdb/main/pending_query_result.hpp>
#include <duckdb/main/query_result.hpp>
#include <duckdb/parser/parser.hpp>
#include <duckdb/parser/sql_statement.hpp>
#include <duckdb/parser/statement/insert_statement.hpp>

#include "base/text.h"
#include "sql/database.h"
#include "sql/error.h"
#include "sql/functions/grid_maker.h"
#include "sql/mentioned_tables.h"
#include "sql/params.h"
#include "sql/result_collector.h"
#include "sql/result_reader.h"
#include "sql/rollup/extension.h"
#include "sql/rollup/route.h"

namespace timelake::sql {

namespace {

using Statements = duckdb::vector<duckdb::unique_ptr<duckdb::SQLStatement>>;

// The texts of a script's statements. Throws on a syntax error.
std::vector<std::string> Texts(const std::string& script, const duckdb::ParserOptions& options) {
  duckdb::Parser parser(options);
  parser.ParseQuery(script);
  std::vector<std::string> texts;
  for (const auto& statement : parser.statements) {
    // The last one comes with everything behind it.
    std::string_view text = Trim(statement->query);
    while (!text.empty() && text.back() == ';') text = Trim(text.substr(0, text.size() - 1));
    texts.emplace_back(text);
  }
  return texts;
}

bool HasOnConflict(const duckdb::SQLStatement& statement) {
  return statement.type == duckdb::StatementType::INSERT_STATEMENT &&
         statement.Cast<duckdb::InsertStatement>().on_conflict_info != nullptr;
}

// DuckDB looks for the key of the table before it asks us.
Status ExplainNoKey(const Status& status) {
  if (status.message().find("UNIQUE/PRIMARY KEY") == std::string::npos) return status;
  return Unsupported(
      "INSERT ... ON CONFLICT needs a key, which tables of the lake do not have: in a table with "
      "dedup a row replaces that of the same series and time ({})",
      MessageOf(status));
}

// Times that a DELETE is run whose files are replaced by other writers meanwhile.
constexpr int kMostRounds = 10;

Status ReadToEnd(arrow::RecordBatchReader& reader) {
  std::shared_ptr<arrow::RecordBatch> batch;
  do {
    TL_RETURN_NOT_OK(reader.ReadNext(&batch));
  } while (batch);
  return Status::OK();
}

}  // namespace

class Engine::Impl : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(EngineOptions options)
      : options_(std::move(options.session)), files_(options.files) {
    if (options.lake) {
      lake_ = std::make_shared<LakeContext>(std::move(options.lake), options_.name_space,
                                            std::move(options.append), std::move(options.erase),
                                            std::move(options.rollups));
      lake_->Pin(std::move(options.pinned), std::move(options.refreshed));
    }
  }

  Status Open() {
    return Guard([&] {
      database_ = Database::Open(options_, lake_, files_);
      return Status::OK();
    });
  }

  Result<std::shared_ptr<arrow::RecordBatchReader>> Query(std::string_view text,
                                                          const Params& params) {
    std::lock_guard lock(mutex_);
    if (open_result_) {
      return InvalidArgument(
          "the result of the previous statement is still open: read it to the end "
          "or close it first");
    }
    stop_ = false;
    if (broken_.exchange(false)) database_.reset();
    if (!database_) TL_RETURN_NOT_OK(Open());
    bool fatal = false;
    auto result = Guard([&] { return Start(text, params, &fatal); }, &fatal);
    // After a failed check of its own DuckDB refuses everything: the next statement gets a new
    // instance. Temporary tables and settings of the session are gone then.
    if (fatal) database_.reset();
    return result;
  }

  bool Reuse(EngineOptions options) {
    std::lock_guard lock(mutex_);
    if (!lake_ || !database_ || open_result_ || broken_ || files_) return false;
    lake_->Reuse(std::move(options.lake), std::move(options.append), std::move(options.erase),
                 std::move(options.rollups));
    lake_->Pin(std::move(options.pinned), std::move(options.refreshed));
    return true;
  }

  Result<std::shared_ptr<ZoneClock>> ClockOf(const std::string& zone) {
    std::lock_guard lock(mutex_);
    return Guard([&]() -> Result<std::shared_ptr<ZoneClock>> {
      std::shared_ptr<ZoneClock> clock;
      auto& context = *database_->connection->context;
      context.RunFunctionInTransaction([&] { clock = MakeZoneClock(context, zone); });
      return clock;
    });
  }

  void Interrupt() {
    stop_ = true;
    std::lock_guard lock(interrupt_mutex_);
    if (const auto running = running_.lock()) running->connection->Interrupt();
  }

 private:
  Result<std::shared_ptr<arrow::RecordBatchReader>> Start(std::string_view text,
                                                          const Params& params, bool* fatal) {
    SetRunning(database_);
    TL_ASSIGN_OR_RAISE(auto values, BindParams(params));
    if (lake_) lake_->NoteText(text);
    duckdb::Connection& connection = *database_->connection;
    Statements statements = connection.ExtractStatements(std::string(text));
    if (statements.empty()) return InvalidArgument("no statement: the text is empty");
    if (statements.size() > 1) {
      // DuckDB turns some single statements (PIVOT without a list of values) into several.
      const auto texts = Texts(std::string(text), connection.context->GetParserOptions());
      if (texts.size() > 1) {
        return InvalidArgument("{} statements where one is expected", texts.size());
      }
    }
    if (lake_ && statements.size() == 1) {
      if (auto show = ParseShowRollups(std::string(text), lake_)) statements[0] = std::move(show);
    }
    std::shared_ptr<arrow::RecordBatchReader> reader;
    for (auto& statement : statements) {
      if (reader) TL_RETURN_NOT_OK(ReadToEnd(*reader));  // one before the last: just an effect
      const bool deletes = statement->type == duckdb::StatementType::DELETE_STATEMENT;
      TL_ASSIGN_OR_RAISE(reader, deletes ? Delete(*statement, &values, fatal)
                                         : Execute(std::move(statement), &values, fatal));
    }
    return reader;
  }

  Result<std::shared_ptr<arrow::RecordBatchReader>> Execute(
      duckdb::unique_ptr<duckdb::SQLStatement> statement,
      duckdb::case_insensitive_map_t<duckdb::BoundParameterData>* values, bool* fatal) {
    auto output = std::make_shared<ResultOutput>();
    output->dictionaries = options_.dictionaries;
    TL_ASSIGN_OR_RAISE(auto planned, Plan(std::move(statement), values, output, fatal));
    open_result_ = true;
    return MakeResultReader(database_, std::move(planned), std::move(output),
                            [self = shared_from_this()](bool broken) { self->Finished(broken); });
  }

  // Its rows are looked for again where the files that have them are replaced meanwhile.
  Result<std::shared_ptr<arrow::RecordBatchReader>> Delete(
      const duckdb::SQLStatement& statement,
      duckdb::case_insensitive_map_t<duckdb::BoundParameterData>* values, bool* fatal) {
    for (int round = 1;; ++round) {
      if (lake_) lake_->TakeStale();
      auto reader = Execute(statement.Copy(), values, fatal);
      const bool stale = lake_ && lake_->TakeStale();
      if (reader.ok() || !stale || stop_ || round == kMostRounds) return reader;
    }
  }

  Result<duckdb::unique_ptr<duckdb::PendingQueryResult>> Plan(
      duckdb::unique_ptr<duckdb::SQLStatement> statement,
      duckdb::case_insensitive_map_t<duckdb::BoundParameterData>* values,
      const std::shared_ptr<ResultOutput>& output, bool* fatal) {
    if (lake_) {
      auto tables = MentionedTables(*statement, lake_->default_namespace());
      if (tables.size() < 2) tables.clear();  // the lookup alone does as well
      lake_->SetMentioned(std::move(tables));
      lake_->SetReading(statement->type == duckdb::StatementType::SELECT_STATEMENT ||
                        statement->type == duckdb::StatementType::EXPLAIN_STATEMENT);
    }
    duckdb::Connection& connection = *database_->connection;
    if (lake_) {
      lake_->SetLoaded({});
      RouteToRollups(*database_, *lake_, &statement, values);
    }
    const bool on_conflict = HasOnConflict(*statement);
    auto& config = duckdb::ClientConfig::GetConfig(*connection.context);
    config.get_result_collector = CollectInto(output);
    auto pending = connection.PendingQuery(std::move(statement), *values,
                                           duckdb::QueryResultOutputType::FORCE_MATERIALIZED);
    config.get_result_collector = nullptr;
    if (lake_) lake_->SetLoaded({});
    if (pending->HasError()) {
      const Status status = FromDuckDb(pending->GetErrorObject(), fatal);
      return on_conflict ? ExplainNoKey(status) : status;
    }
    // An interrupt that came before the statement had begun was forgotten when it did.
    if (stop_) connection.Interrupt();
    return pending;
  }

  void Finished(bool broken) {
    // Not under mutex_: a reader that cannot be made ends inside of Query.
    open_result_ = false;
    if (broken) broken_ = true;
  }

  void SetRunning(const std::shared_ptr<Database>& database) {
    std::lock_guard lock(interrupt_mutex_);
    running_ = database;
  }

  const SessionOptions options_;
  const bool files_;
  std::shared_ptr<LakeContext> lake_;
  std::mutex mutex_;  // one statement at a time
  std::shared_ptr<Database> database_;
  std::atomic<bool> open_result_{false};
  std::atomic<bool> broken_{false};
  std::atomic<bool> stop_{false};
  std::mutex interrupt_mutex_;
  std::weak_ptr<Database> running_;
};

Engine::Engine(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Result<std::shared_ptr<Engine>> Engine::Make(EngineOptions options) {
  auto impl = std::make_shared<Impl>(std::move(options));
  TL_RETURN_NOT_OK(impl->Open());
  return std::shared_ptr<Engine>(new Engine(std::move(impl)));
}

Result<std::shared_ptr<arrow::RecordBatchReader>> Engine::Query(std::string_view text,
                                                                const Params& params) {
  return impl_->Query(text, params);
}

Status Engine::Run(std::string_view text, const Params& params) {
  TL_ASSIGN_OR_RAISE(const auto reader, Query(text, params));
  return ReadToEnd(*reader);
}

void Engine::Interrupt() { impl_->Interrupt(); }

bool Engine::Reuse(EngineOptions options) { return impl_->Reuse(std::move(options)); }
bool Engine::Release() { return impl_->Reuse({}); }

Result<std::shared_ptr<ZoneClock>> Engine::ClockOf(const std::string& zone) {
  return impl_->ClockOf(zone);
}

Result<std::vector<std::string>> Engine::Split(std::string_view text) {
  return Guard([&]() -> Result<std::vector<std::string>> {
    const std::string script(text);
    duckdb::ExtensionCallbackManager extensions;
    RegisterRollupSyntax(extensions);
    duckdb::ParserOptions options;
    options.extensions = &extensions;
    try {
      return Texts(script, options);
    } catch (const std::exception& e) {
      duckdb::ErrorData error(e);
      error.AddErrorLocation(script);
      return FromDuckDb(error);
    }
  });
}

}  // namespace timelake::sql
