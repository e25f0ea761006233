// Prints docs/settings.md from the registry: make docs.
#include <cstdio>

#include "table/settings.h"

int main() {
  std::fputs(timelake::table::SettingsMarkdown().c_str(), stdout);
  return 0;
}
