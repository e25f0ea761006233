#include "report.h"

#include "output_stream.h"

namespace timelake::cli {

Status PrintJson(const Json& json) {
  // File and column names may be any bytes.
  return PrintOut(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Status PrintReport(bool as_json, const Json& json, std::string_view text) {
  if (as_json) return PrintJson(json);
  return PrintOut(std::string(text) + "\n");
}

}  // namespace timelake::cli
