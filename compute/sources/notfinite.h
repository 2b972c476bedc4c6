#pragma once
// A layer's output is no finite number, so that nothing behind it means anything (HAZARDS A26). Source::forward throws
// it; who knows the source's files adds why. Thread: any.

#include "compute/error.h"

namespace counterpoint::compute {

class COUNTERPOINT_API NotFinite : public Error {
  public:
    using Error::Error;
    ~NotFinite() override;
};

}  // namespace counterpoint::compute
