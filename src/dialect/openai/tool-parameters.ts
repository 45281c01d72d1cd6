import { jsonSchema } from '../wire/json-schema.ts'

/** The JSON Schema of a function's arguments: they are an object, so it must allow one. */
export const toolParameters = jsonSchema.refine(({ type }) => [type ?? 'object'].flat().includes('object'), {
  error: 'a JSON Schema of type "object"',
  path: ['type'],
})
