import { type Field, used } from '../wire/field-table.ts'

/** The request fields of `POST /api/inference/replicas/drain` and `undrain`. */
export const drainFields: readonly Field[] = [
  used('model', 'required: the id or an alias of a remote model'),
  used('url', 'required: the URL of the server, or its host and port as `GET /v1/models/{id}` shows them'),
]
