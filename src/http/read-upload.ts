import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy, type BusboyHeaders } from '@fastify/busboy'
import { AppError } from '../contract/errors.ts'

/** A file that arrives. */
export type Upload = {
  readonly filename: string
  readonly mediaType: string
  readonly bytes: Readable
  /** All fields, when the form has ended. Rejects where it is not valid. */
  allFields(): Promise<ReadonlyMap<string, string>>
}

const limits = { files: 1, fields: 16, fieldNameSize: 100, fieldSize: 1024, headerPairs: 50 }

/**
 * Reads a body of `multipart/form-data` with one file, in the field `file`, which `take` gets while it arrives. Fields may come before and
 * after it. Aborting the signal ends both.
 */
export async function readUpload<T>(
  { headers, body, signal }: { readonly headers: IncomingHttpHeaders; readonly body: Readable; readonly signal: AbortSignal },
  take: (upload: Upload) => Promise<T>,
): Promise<T> {
  const parser = createParser(headers)
  const fields = new Map<string, string>()
  let problem: AppError | undefined
  let taking: Promise<T> | undefined
  let file: Readable | undefined
  const isParsed = new Promise<void>((resolve) => {
    const stop = (error?: unknown) => {
      if (error !== undefined) problem ??= AppError.from(error)
      resolve()
    }
    const refuse = (message: string) => stop(new AppError('invalid-request', message))
    parser.on('field', (name, value, isNameCut, isCut) => {
      if (isNameCut || isCut) refuse(`the field '${name.slice(0, 40)}' is too long`)
      fields.set(name, value)
    })
    parser.on('file', (name, bytes, filename, _, mediaType) => {
      bytes.on('error', () => undefined)
      if (name !== 'file') {
        bytes.resume()
        return refuse(`the file is in the field '${name.slice(0, 40)}': send it as 'file'`)
      }
      file = bytes
      taking = take({ filename: filename ?? 'file', mediaType, bytes, allFields })
      taking.catch(stop)
    })
    parser.on('filesLimit', () => refuse('the body has more than one file: upload one at a time'))
    parser.on('fieldsLimit', () => refuse(`the body has more than ${limits.fields} fields`))
    parser.on('error', (error) => refuse(`the body is not multipart/form-data: ${String(error)}`))
    parser.on('finish', () => resolve())
    body.on('error', stop)
    signal.addEventListener('abort', () => stop(signal.reason), { once: true })
  })
  async function allFields(): Promise<ReadonlyMap<string, string>> {
    await isParsed
    if (problem !== undefined) throw problem
    return fields
  }
  body.pipe(parser)
  await isParsed
  body.unpipe(parser)
  body.resume()
  if (problem !== undefined) {
    parser.destroy()
    file?.destroy(problem)
    await taking?.catch(() => undefined)
    throw problem
  }
  if (taking === undefined)
    throw new AppError('invalid-request', "the body has no file: send it in the field 'file'", { param: 'file' })
  return taking
}

function createParser(headers: IncomingHttpHeaders) {
  try {
    return new Busboy({ headers: headers as BusboyHeaders, limits })
  } catch (error) {
    throw new AppError('invalid-request', 'the content type names no boundary: send multipart/form-data', { cause: error })
  }
}
