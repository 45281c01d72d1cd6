import { parentPort } from 'node:worker_threads'
import { LruMap } from '../base/lru-map.ts'
import { createSchemaValidator, type SchemaValidator } from './schema-validator.ts'

/** Validates `text`; without one, only reports whether the schema is supported. */
export type ValidationRequest = { readonly schema: string; readonly text?: string }
export type ValidationReply =
  | { readonly isSupported: false }
  | { readonly isSupported: true; readonly problem: string | undefined }

const maxValidators = 256
const validators = new LruMap<string, { readonly validate: SchemaValidator | undefined }>({ max: maxValidators })

parentPort?.on('message', (request: ValidationRequest) => parentPort?.postMessage(reply(request)))
parentPort?.postMessage('ready')

function reply({ schema, text }: ValidationRequest): ValidationReply {
  const { validate } = validators.find(schema, () => ({ validate: createSchemaValidator(schema) }))
  if (validate === undefined) return { isSupported: false }
  return { isSupported: true, problem: text === undefined ? undefined : validate(text) }
}
