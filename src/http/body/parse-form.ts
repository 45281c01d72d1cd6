import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { Busboy, type BusboyConfig, type BusboyHeaders, type BusboyInstance } from '@fastify/busboy'
import type { FastifyRequest } from 'fastify'
import { AppError, messageOf } from '../../contract/errors.ts'
import { asCutBody, cutBody } from './cut-body.ts'

type Limits = NonNullable<BusboyConfig['limits']>

export type FormBody = {
  readonly headers: IncomingHttpHeaders
  readonly body: Readable
}

type FormParsing = FormBody & {
  readonly limits: Limits & { readonly files: number; readonly fields: number; readonly fieldNameSize: number }
  /** Aborts the parsing. */
  readonly signal?: AbortSignal
  /** Called with each piece of the body; may throw to refuse the body. */
  onPiece?(piece: Buffer): void
}

/** Takes the form of a request, which then no longer holds it. Throws `unsupported-media-type` for another body. */
export function takeForm(request: FastifyRequest): FormBody {
  const { body, headers } = request
  if (!(body instanceof Readable)) {
    const sent = headers['content-type']
    const problem = sent === undefined ? 'the request has no content type' : `the content type is '${sent}'`
    throw new AppError('unsupported-media-type', `${problem}: send multipart/form-data, with the file in the field 'file'`)
  }
  request.body = undefined
  return { headers, body }
}

/**
 * Parses a body of `multipart/form-data` to its end; `listen` adds listeners for its fields and files, and may end it with an error.
 * Rejects for an invalid, overlong or incomplete body, whose rest is then discarded.
 */
export async function parseForm(
  { headers, body, limits, signal, onPiece }: FormParsing,
  listen: (parser: BusboyInstance, fail: (error: unknown) => void) => void,
): Promise<void> {
  const parser = createParser(headers, limits)
  let stop: () => void = () => undefined
  try {
    await new Promise<void>((resolve, reject) => {
      const refuse = (message: string) => reject(new AppError('invalid-request', message))
      const abort = () => reject(signal?.reason)
      const take = (piece: Buffer) => {
        try {
          onPiece?.(piece)
        } catch (error) {
          // In this turn: the next piece must not be counted.
          stop()
          reject(error)
        }
      }
      stop = () => {
        body.off('data', take)
        body.unpipe(parser)
        signal?.removeEventListener('abort', abort)
      }
      parser.on('field', (name, _, isNameCut, isCut) => {
        // The parser truncates names only in other kinds of forms.
        if (isNameCut || isCut || name.length > limits.fieldNameSize) refuse(`the field '${name.slice(0, 40)}' is too long`)
      })
      parser.on('filesLimit', () => refuse(`the form has more than ${count(limits.files, 'file')}`))
      parser.on('fieldsLimit', () => refuse(`the form has more than ${count(limits.fields, 'field')}`))
      parser.on('error', (error) => refuse(`the body is not valid multipart/form-data: ${messageOf(error)}`))
      parser.on('finish', resolve)
      listen(parser, reject)
      // These events have already fired.
      if (signal?.aborted === true) return abort()
      if (body.destroyed) return reject(cutBody())
      signal?.addEventListener('abort', abort, { once: true })
      body.on('error', (error) => reject(asCutBody(error) ?? error))
      body.on('data', take)
      body.pipe(parser)
    })
  } catch (error) {
    parser.destroy()
    throw error
  } finally {
    stop()
    body.resume()
  }
}

function createParser(headers: IncomingHttpHeaders, limits: FormParsing['limits']): BusboyInstance {
  try {
    return new Busboy({ headers: headers as BusboyHeaders, limits })
  } catch (error) {
    throw new AppError('invalid-request', 'the content type has no boundary: send multipart/form-data; boundary=…', {
      cause: error,
    })
  }
}

function count(number: number, what: string): string {
  return number === 1 ? `one ${what}` : `${number} ${what}s`
}
