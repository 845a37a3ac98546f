// The schemas of all documents in one version, as components of an OpenAPI document: from the table that the
// documents themselves are made with (shape_tables.h). Pure; any thread.
#pragma once

#include "view/document/document.h"

namespace minke::view {

// Writes the members of "components": "schemas": {"v0.0.45_job_info": …}. The document must have no shape.
void describe_schemas(Document& document, int version);

}  // namespace minke::view
