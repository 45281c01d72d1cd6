import { AppError } from '../../contract/errors.ts'
import { type Field, used } from '../wire/field-table.ts'
import { looseObject } from '../wire/first-fault.ts'
import { bodyReader } from '../wire/validate.ts'
import { nonEmptyText } from '../wire/wire-types.ts'

export const modelNameSchema = looseObject({ model: nonEmptyText })

/** The fields of llama-server's `POST /models/load` and `/models/unload`. */
export const modelNameFields: readonly Field[] = [used('model', 'an id or an alias, or the source of a model')]
const readModel = bodyReader(modelNameSchema, modelNameFields)

/** The field of llama-server's `POST /models`. */
export const repositoryFields: readonly Field[] = [used('model', '`OWNER/REPO`, or `OWNER/REPO:QUANTIZATION`')]
const readRepositoryBody = bodyReader(modelNameSchema, repositoryFields)

/** The repository to fetch. Throws `invalid-request` for another form of name. */
export function readRepository(body: unknown) {
  const { wire, ignored } = readRepositoryBody(body)
  const name = wire.model.trim()
  const [, repository, variant] = /^(\w[\w.-]*\/\w[\w.-]*)(?::([\w.-]+))?$/.exec(name) ?? []
  if (repository === undefined) {
    const message = `model: expected OWNER/REPO, or OWNER/REPO:QUANTIZATION, got '${name.slice(0, 100)}'`
    throw new AppError('invalid-request', message, { param: 'model' })
  }
  const source = { name: repository, ...(variant !== undefined && { variant }) }
  return { name, source, ignored }
}

/** The model to load or unload. */
export function readModelName(body: unknown): { readonly name: string; readonly ignored: readonly string[] } {
  const { wire, ignored } = readModel(body)
  return { name: wire.model, ignored }
}
