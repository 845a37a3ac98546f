// The OpenAPI document of all addresses, from the table of routes; its schemas from the table of /api/v1's
// records (schemas.h), and from that of Slurm's documents (view/document/schema.h). Any thread.
#pragma once

#include <string>

namespace minke::portal {

// `version`: of Slurm's pages, v0.0.N.
std::string openapi_document(int version);

}  // namespace minke::portal
