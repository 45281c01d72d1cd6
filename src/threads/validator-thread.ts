import { parentPort } from 'node:worker_threads'
import { createSchemaValidator, type SchemaValidator } from './schema-validator.ts'

/** Validates `text`; without one, only reports whether the schema is supported. */
export type ValidationRequest = { readonly schema: string; readonly text?: string }
export type ValidationReply =
  | { readonly isSupported: false }
  | { readonly isSupported: true; readonly problem: string | undefined }

const maxValidators = 256
/** Least recently used first. */
const validators = new Map<string, SchemaValidator | undefined>()

parentPort?.on('message', (request: ValidationRequest) => parentPort?.postMessage(reply(request)))
parentPort?.postMessage('ready')

function reply({ schema, text }: ValidationRequest): ValidationReply {
  const validate = validators.has(schema) ? validators.get(schema) : createSchemaValidator(schema)
  validators.delete(schema)
  validators.set(schema, validate)
  if (validators.size > maxValidators) for (const oldest of [...validators.keys()].slice(0, 1)) validators.delete(oldest)
  if (validate === undefined) return { isSupported: false }
  return { isSupported: true, problem: text === undefined ? undefined : validate(text) }
}
