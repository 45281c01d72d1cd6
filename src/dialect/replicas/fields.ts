import type { Field } from '../wire/field-table.ts'

/** The request fields of `POST /api/inference/replicas/drain` and `undrain`. */
export const drainFields: readonly Field[] = [
  { name: 'model', treatment: 'used', note: 'required: the id or an alias of a remote model' },
  {
    name: 'url',
    treatment: 'used',
    note: 'required: the URL of the server, or its host and port as `GET /v1/models/{id}` shows them',
  },
]
