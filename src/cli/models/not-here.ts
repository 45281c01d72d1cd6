import { AppError } from '../../contract/errors.ts'
import { formatSource, type Source } from '../../registry/names/sources.ts'
import { commandName } from '../terminal/command-name.ts'

/** That a model, named like that, has no file here; one of this disk cannot be fetched. */
export function notHere({ source }: { readonly source: readonly Source[] }, name: string): AppError {
  const sources = source.map(formatSource).join(', or ')
  const message = source.every(({ type }) => type === 'path')
    ? `${sources}: there is no such file`
    : `${sources} is not on this disk; \`${commandName} pull ${name}\` fetches it`
  return new AppError('model-unavailable', message)
}
