#include "ingest/file_schema.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "iceberg/arrow_schema.h"
#include "ingest/csv_infer.h"
#include "ingest/csv_reader.h"
#include "ingest/file_format.h"
#include "ingest/parquet_file.h"

namespace timelake::ingest {
namespace {

Result<CsvSource> OpenText(const std::string& path, const FileKind& kind,
                           const ReadFilesOptions& options) {
  ReadFilesOptions read = options;
  read.delimiter = DelimiterOf(read, kind.format);
  return OpenCsv(path, kind.gzip, read);
}

// Of a text file its header is enough.
Result<std::vector<std::string>> NamesOfFile(const std::string& path,
                                             const ReadFilesOptions& options) {
  TL_ASSIGN_OR_RAISE(const FileKind kind, KindOfFile(path, options.format));
  if (kind.format == FileFormat::kParquet) {
    TL_ASSIGN_OR_RAISE(const auto reader, ReadParquet(path));
    return reader->schema()->field_names();
  }
  TL_ASSIGN_OR_RAISE(const CsvSource source, OpenText(path, kind, options));
  return source.names;
}

bool IsNumber(const iceberg::Type& type) {
  using iceberg::TypeId;
  return type.id == TypeId::kInt || type.id == TypeId::kLong || type.id == TypeId::kFloat ||
         type.id == TypeId::kDouble;
}

// A type for the values of both; each value is checked when it is converted.
std::optional<iceberg::Type> Common(const iceberg::Type& a, const iceberg::Type& b) {
  if (a == b) return a;
  if (!a.is_primitive() || !b.is_primitive()) return std::nullopt;
  if (iceberg::CanPromote(a, b)) return b;
  if (iceberg::CanPromote(b, a)) return a;
  if (!IsNumber(a) || !IsNumber(b)) return std::nullopt;
  iceberg::Type type;
  type.id = iceberg::TypeId::kDouble;
  return type;
}

struct Found {
  std::string path;  // of the first file that has it
  size_t place = 0;
};

Status Add(const iceberg::Field& field, const std::string& path, iceberg::Schema* columns,
           std::map<std::string, Found>* found) {
  const auto [known, fresh] = found->try_emplace(field.name, Found{path, columns->fields.size()});
  if (fresh) {
    columns->fields.push_back(field);
    return Status::OK();
  }
  iceberg::Type& type = columns->fields[known->second.place].type;
  const auto common = Common(type, field.type);
  if (!common) {
    return InvalidArgument(
        "new column {} is {} by file {} and {} by file {}: add it to the table with the type that "
        "it shall have, or import the files one by one",
        Quote(field.name), iceberg::TypeName(type), known->second.path,
        iceberg::TypeName(field.type), path);
  }
  type = *common;
  return Status::OK();
}

}  // namespace

std::string DelimiterOf(const ReadFilesOptions& options, FileFormat format) {
  if (!options.delimiter.empty()) return options.delimiter;
  return format == FileFormat::kTsv ? "\t" : ",";
}

Result<iceberg::Schema> SchemaOfFile(const std::string& path, const ReadFilesOptions& options) {
  TL_ASSIGN_OR_RAISE(const FileKind kind, KindOfFile(path, options.format));
  if (kind.format == FileFormat::kParquet) {
    TL_ASSIGN_OR_RAISE(auto reader, ReadParquet(path));
    auto schema = iceberg::FromArrow(*reader->schema());
    if (!schema.ok()) return WithContext(schema.status(), "file " + path);
    return schema;
  }
  TL_ASSIGN_OR_RAISE(const CsvSource source, OpenText(path, kind, options));
  TL_ASSIGN_OR_RAISE(auto engine, sql::Engine::Make({}));
  return InferCsv(*engine, source, options);
}

Result<iceberg::Schema> NewColumnsOfFiles(const std::vector<std::string>& paths,
                                          const iceberg::Schema& table,
                                          const ReadFilesOptions& options) {
  iceberg::Schema columns;
  std::map<std::string, Found> found;
  const auto lacks = [&](const std::string& name) {
    return iceberg::FindField(table, name) == nullptr;
  };
  for (const std::string& path : paths) {
    TL_ASSIGN_OR_RAISE(const auto names, NamesOfFile(path, options));
    if (std::none_of(names.begin(), names.end(), lacks)) continue;
    TL_ASSIGN_OR_RAISE(const iceberg::Schema schema, SchemaOfFile(path, options));
    for (const iceberg::Field& field : schema.fields) {
      if (lacks(field.name)) TL_RETURN_NOT_OK(Add(field, path, &columns, &found));
    }
  }
  return columns;
}

}  // namespace timelake::ingest
