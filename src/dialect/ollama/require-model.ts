import { isObject } from '../../base/json.ts'
import { AppError } from '../../contract/errors.ts'

/** Throws in Ollama's words for a body without a model; elsewhere it would mean the default one. */
export function requireModel(body: unknown): void {
  if (!isObject(body)) return
  const model: unknown = Reflect.get(body, 'model')
  if (model === undefined || model === null || model === '') throw noModel()
}

/** The model of a body, from `model` or `name`. Throws if it names none. */
export function namedModel({
  model,
  name,
}: {
  readonly model?: string | null | undefined
  readonly name?: string | null | undefined
}): string {
  const wanted = model || name
  if (!wanted) throw noModel()
  return wanted
}

function noModel(): AppError {
  return new AppError('invalid-request', 'model is required', { param: 'model' })
}
