import type { Readable } from 'node:stream'
import { AppError } from '../../contract/errors.ts'
import { type FormBody, parseForm } from './parse-form.ts'

/** An arriving file. */
export type Upload = {
  readonly filename: string
  readonly mediaType: string
  readonly bytes: Readable
  /** All fields, once the form has ended. Rejects for an invalid form. */
  allFields(): Promise<ReadonlyMap<string, string>>
}

const limits = { files: 1, fields: 16, fieldNameSize: 100, fieldSize: 1024, headerPairs: 50 }

/**
 * Reads a body of `multipart/form-data` with one file, in the field `file`, which `take` receives while it arrives. Fields may come before
 * and after it. Aborting the signal ends both.
 */
export async function readUpload<T>(
  form: FormBody & { readonly signal: AbortSignal },
  take: (upload: Upload) => Promise<T>,
): Promise<T> {
  const fields = new Map<string, string>()
  let taking: Promise<T> | undefined
  let file: Readable | undefined
  const parsed = parseForm({ ...form, limits }, (parser, fail) => {
    parser.on('field', (name, value) => fields.set(name, value))
    parser.on('file', (name, bytes, filename, _, mediaType) => {
      bytes.on('error', () => undefined)
      if (name !== 'file') {
        bytes.resume()
        fail(
          new AppError('invalid-request', `the file is in the field '${name.slice(0, 40)}': send it in the field 'file'`, {
            param: 'file',
          }),
        )
        return
      }
      file = bytes
      taking = take({ filename: filename ?? 'file', mediaType, bytes, allFields: () => parsed.then(() => fields) })
      taking.catch(fail)
    })
  })
  try {
    await parsed
  } catch (error) {
    file?.destroy(AppError.from(error))
    await taking?.catch(() => undefined)
    throw error
  }
  if (taking !== undefined) return taking
  throw new AppError('invalid-request', "the form has no file: send it in the field 'file'", { param: 'file' })
}
