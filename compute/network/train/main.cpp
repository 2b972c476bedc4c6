// The trainer as a program of its own; never part of `all`, never loaded by the window.

#include <cstdlib>
#include <iostream>

#include "compute/error.h"
#include "compute/sources/modules.h"

int main(int argc, char** argv) {
    // Read when the BLAS is loaded, that is with the module.
    setenv("OMP_NUM_THREADS", "1", 0);
    setenv("OPENBLAS_NUM_THREADS", "1", 0);
    try {
        return counterpoint::compute::network().train(argc, argv);
    } catch (const counterpoint::compute::Error& e) {
        std::cerr << "counterpoint_train: " << e.sentence() << std::endl;
        return 1;
    }
}
