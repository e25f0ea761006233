#include <csignal>

#include "command_line.h"
#include "interrupt.h"

int main(int argc, char** argv) {
  timelake::cli::CatchSignals();
  return timelake::cli::RunCommandLine(argc, argv);
}
